#include "actor/hardware/program/aten_call.h"

#include <limits>

#include "actor/hardware/program/allowed_ops.h"
#include "common/error.h"
#include "common/files/json_text.h"
#include "common/strings.h"

namespace emplace {
namespace {

using Json = nlohmann::json;

class CallReader {
 public:
  explicit CallReader(const Op& op) : op_(op), place_("op '" + op.name + "': call") {}

  AtenCall Read() {
    if (op_.call_json.empty()) {
      throw BadInput(StrCat("op '", op_.name, "' has no call, expected a graph whose ops can be run, such as one of ",
                            "emplace.torch.capture"));
    }
    const Json json = ParseJson(op_.call_json, place_);
    CheckKeys(json, {"op", "args", "kwargs"}, place_);
    AtenCall call;
    call.op = OpName(RequiredMember(json, "op", place_), IsAllowedOp, "an operator that may be run");
    if (json.contains("args")) {
      for (const Json& arg : List(json["args"])) call.args.push_back(ReadArgument(arg));
    }
    if (json.contains("kwargs")) {
      if (!json["kwargs"].is_object()) throw Wrong(json["kwargs"], "an object with arguments by name");
      for (const auto& [name, arg] : json["kwargs"].items()) call.kwargs.emplace_back(name, ReadArgument(arg));
    }
    return call;
  }

 private:
  Error Wrong(const Json& value, const std::string& expected) const {
    return BadInput(StrCat(place_, ": ", ShownJson(value), ", expected ", expected));
  }

  const Json& List(const Json& value) const {
    if (!value.is_array()) throw Wrong(value, "a list");
    return value;
  }

  std::string OpName(const Json& value, bool (*allowed)(std::string_view), const std::string& expected) const {
    if (!value.is_string() || !allowed(value.get_ref<const std::string&>())) {
      throw BadInput(StrCat(place_, ": op is ", ShownJson(value), ", expected ", expected,
                            " (actor/hardware/program/allowed_ops.cc)"));
    }
    return value.get<std::string>();
  }

  AtenArgument ReadArgument(const Json& value) const {
    if (value.is_object() && value.contains("in")) return {ReadTensor(value)};
    if (value.is_object() && value.contains("list")) {
      CheckKeys(value, {"list"}, place_);
      AtenList list;
      for (const Json& item : List(value["list"])) list.push_back(ReadArgument(item));
      return {std::move(list)};
    }
    if (value.is_object() && value.contains("const") && value.contains("as")) {
      CheckKeys(value, {"const", "as"}, place_);
      return {ReadConstant(value)};
    }
    throw Wrong(value, "an argument with in, list, or const and as");
  }

  TensorArgument ReadTensor(const Json& value) const {
    CheckKeys(value, {"in", "views"}, place_);
    const Json& in = value["in"];
    const auto is_data = [&](uint64_t input) {
      return input < op_.inputs.size() && op_.inputs[input].output != OpInput::kControl;
    };
    if (!in.is_number_unsigned() || !is_data(in.get<uint64_t>())) {
      throw BadInput(StrCat(place_, ": in is ", ShownJson(in), ", expected the index of one of the op's ",
                            op_.inputs.size(), " inputs that carries a tensor"));
    }
    TensorArgument argument{in.get<size_t>()};
    if (!value.contains("views")) return argument;
    for (const Json& view : List(value["views"])) {
      if (!view.is_array() || view.size() != 2) throw Wrong(view, "a view [operator, [arguments after the tensor]]");
      ViewCall call{OpName(view[0], IsAllowedView, "a view operator"), {}};
      for (const Json& arg : List(view[1])) call.args.push_back(ReadPlain(arg));
      argument.views.push_back(std::move(call));
    }
    return argument;
  }

  // A constant whose type is that of the JSON value.
  AtenConstant ReadPlain(const Json& value) const {
    if (value.is_null()) return std::monostate();
    if (value.is_boolean()) return value.get<bool>();
    if (value.is_number_float()) return value.get<double>();
    if (value.is_number_integer()) return Integer(value);
    if (value.is_array()) return Integers(value);
    throw Wrong(value, "a number, true, false, null or a list of whole numbers");
  }

  int64_t Integer(const Json& value) const {
    const bool fits = value.is_number_integer() &&
                      (!value.is_number_unsigned() ||
                       value.get<uint64_t>() <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max()));
    if (!fits) throw Wrong(value, "a whole number below 2^63");
    return value.get<int64_t>();
  }

  std::vector<int64_t> Integers(const Json& value) const {
    std::vector<int64_t> numbers;
    for (const Json& item : List(value)) numbers.push_back(Integer(item));
    return numbers;
  }

  double Float(const Json& value) const {
    if (const std::optional<double> number = FloatOf(value)) return *number;
    throw Wrong(value, "a number, inf, -inf or nan");
  }

  AtenConstant ReadConstant(const Json& argument) const {
    const Json& value = argument["const"];
    const Json& as = argument["as"];
    if (as == "none") return std::monostate();
    if (as == "bool" && value.is_boolean()) return value.get<bool>();
    if (as == "int") return Integer(value);
    if (as == "float") return Float(value);
    if (as == "int[]") return Integers(value);
    if (as == "bool[]" || as == "float[]") return ReadList(value, as == "bool[]");
    if (!value.is_string()) throw Wrong(argument, "a constant of the type that it names");
    if (as == "str") return value.get<std::string>();
    if (as == "dtype") return NamedConstant{NamedConstant::Kind::kDtype, value.get<std::string>()};
    if (as == "memory_format") return NamedConstant{NamedConstant::Kind::kMemoryFormat, value.get<std::string>()};
    if (as == "layout") return NamedConstant{NamedConstant::Kind::kLayout, value.get<std::string>()};
    throw Wrong(argument, "a constant of a known type");
  }

  AtenConstant ReadList(const Json& value, bool bools) const {
    if (!bools) {
      std::vector<double> floats;
      for (const Json& item : List(value)) floats.push_back(Float(item));
      return floats;
    }
    std::vector<bool> flags;
    for (const Json& item : List(value)) {
      if (!item.is_boolean()) throw Wrong(item, "true or false");
      flags.push_back(item.get<bool>());
    }
    return flags;
  }

  const Op& op_;
  const std::string place_;
};

}  // namespace

std::optional<double> FloatOf(const Json& value) {
  const double infinity = std::numeric_limits<double>::infinity();
  if (value.is_number()) return value.get<double>();
  if (value == "inf") return infinity;
  if (value == "-inf") return -infinity;
  if (value == "nan") return std::numeric_limits<double>::quiet_NaN();
  return std::nullopt;
}

const TensorArgument* TensorAt(const AtenCall& call, size_t position) {
  return position < call.args.size() ? std::get_if<TensorArgument>(&call.args[position].value) : nullptr;
}

AtenCall ParseAtenCall(const Op& op) { return CallReader(op).Read(); }

}  // namespace emplace
