#include "simulator/instances/instance_config.h"

#include "common/error.h"
#include "common/strings.h"

namespace emplace {
namespace {

constexpr int32_t kLeastOps = 16;
constexpr int32_t kMostOps = 200000;
constexpr int32_t kLeastDevices = 2;
constexpr int32_t kMostDevices = 16;

}  // namespace

std::string NameOf(InstancePart part) { return OfPart(part, "train", "validation", "test"); }

InstancePart InstancePartNamed(const std::string& name) {
  for (const InstancePart part : kInstanceParts) {
    if (name == NameOf(part)) return part;
  }
  throw BadInput(StrCat("part is '", name, "', expected train, validation or test"));
}

FieldTable<InstanceConfig> InstanceFields() {
  using C = InstanceConfig;
  FieldTable<C> t;
  t.Field("min_ops", &C::min_ops).Range(kLeastOps, kMostOps).Help("Least number of ops of an instance's graph.");
  t.Field("max_ops", &C::max_ops)
      .Range(kLeastOps, kMostOps)
      .Help("Greatest number of ops of an instance's graph. The logarithm of the number is about uniform.");
  t.Field("min_devices", &C::min_devices)
      .Range(kLeastDevices, kMostDevices)
      .Help("Least number of devices of a machine.");
  t.Field("max_devices", &C::max_devices)
      .Range(kLeastDevices, kMostDevices)
      .Help("Greatest number of devices of a machine.");
  t.Field("corpus", &C::corpus)
      .Help(
          "Folder of captured graphs, in its folders train, validation and test, from which some instances are made. "
          "Empty: all graphs are generated.");
  t.Field("corpus_share", &C::corpus_share)
      .Range(0, 1)
      .Help("Share of the instances whose graphs come from the corpus, in a part that has graphs there.");
  return t;
}

std::optional<std::string> WhyLimitsCross(const InstanceConfig& config, const std::string& section) {
  const auto why = [&section](const char* least, int32_t from, const char* most, int32_t to) {
    return StrCat(section, least, " is ", from, ", expected at most ", section, most, ", ", to);
  };
  if (config.min_ops > config.max_ops) return why("min_ops", config.min_ops, "max_ops", config.max_ops);
  if (config.min_devices > config.max_devices) {
    return why("min_devices", config.min_devices, "max_devices", config.max_devices);
  }
  return std::nullopt;
}

const InstanceConfig& Checked(const InstanceConfig& config) {
  InstanceFields().CheckAll(config);
  if (const std::optional<std::string> why = WhyLimitsCross(config)) throw BadInput(*why);
  return config;
}

}  // namespace emplace
