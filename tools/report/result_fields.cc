#include "tools/report/result_fields.h"

#include "common/error.h"
#include "common/files/json_text.h"
#include "common/strings.h"

namespace emplace {

std::string TextField(const nlohmann::json& object, const char* key, const std::string& place) {
  const nlohmann::json& value = RequiredMember(object, key, place);
  if (!value.is_string()) throw BadInput(StrCat(place, ": '", key, "' is ", ShownJson(value), ", expected a name"));
  return value.get<std::string>();
}

double NumberFromZero(const nlohmann::json& object, const char* key, const std::string& place) {
  const nlohmann::json& value = RequiredMember(object, key, place);
  if (value.is_number() && value.get<double>() >= 0) return value.get<double>();
  throw BadInput(StrCat(place, ": '", key, "' is ", ShownJson(value), ", expected a number >= 0"));
}

bool TruthField(const nlohmann::json& object, const char* key, const std::string& place) {
  const nlohmann::json& value = RequiredMember(object, key, place);
  if (!value.is_boolean()) {
    throw BadInput(StrCat(place, ": '", key, "' is ", ShownJson(value), ", expected true or false"));
  }
  return value.get<bool>();
}

void CheckIsObject(const nlohmann::json& value, const std::string& place) {
  if (!value.is_object()) throw BadInput(StrCat(place, ": is ", ShownJson(value), ", expected an object"));
}

}  // namespace emplace
