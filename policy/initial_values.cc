#include "policy/initial_values.h"

#include <cmath>

namespace emplace {

std::vector<float> GlorotValues(const std::vector<ParameterSpec>& specs,
                                const std::function<double(const std::string&)>& scale_of, Rng& rng) {
  std::vector<float> values;
  for (const ParameterSpec& spec : specs) {
    const size_t count = NumEntries(spec);
    if (!spec.name.ends_with(".weight")) {
      values.insert(values.end(), count, spec.name.ends_with(".scale") ? 1.0F : 0.0F);
      continue;
    }
    const double limit = std::sqrt(6.0 / static_cast<double>(spec.shape[0] + spec.shape[1])) * scale_of(spec.name);
    for (size_t i = 0; i < count; ++i) values.push_back(static_cast<float>(rng.Uniform(-limit, limit)));
  }
  return values;
}

std::vector<float> GlorotValues(const std::vector<ParameterSpec>& specs, double output_scale, Rng& rng) {
  return GlorotValues(
      specs, [&](const std::string& name) { return name == "output.weight" ? output_scale : 1.0; }, rng);
}

}  // namespace emplace
