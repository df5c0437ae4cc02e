#include "policy/sequence_shape.h"

#include "common/error.h"
#include "common/strings.h"

namespace emplace {

void CheckSequenceKeys(const SequenceKeys& keys) {
  if (keys.hidden % 2 != 0) throw BadInput(StrCat("policy.hidden is ", keys.hidden, ", expected an even number"));
}

std::vector<ParameterSpec> SequenceParameters(const SequenceShape& shape) {
  const int64_t width = shape.hidden;
  std::vector<ParameterSpec> specs;
  const auto linear = [&](const std::string& name, int64_t in, int64_t out) { AddLinear(name, in, out, specs); };
  const auto lstm = [&](const std::string& name, int64_t in, int64_t out) {
    linear(name + ".input", in, 4 * out);
    linear(name + ".state", out, 4 * out);
  };
  linear("input", shape.inputs, width);
  lstm("encoder.forward", width, width / 2);
  lstm("encoder.backward", width, width / 2);
  // One row for each device that the item before may have got, and one for the first item.
  specs.push_back({"device.weight", {shape.num_devices + 1, width}});
  lstm("decoder", 2 * width, width);
  linear("attention.key", width, width);
  linear("attention.query", width, width);
  specs.push_back({"attention.score.weight", {1, width}});
  linear("output", 2 * width, shape.num_devices);
  return specs;
}

}  // namespace emplace
