#include "policy/torch/initial_values.h"

#include <cmath>

namespace emplace {

void AppendInitialValues(const ParameterSpec& spec, double scale, Rng& rng, std::vector<float>& values) {
  const size_t count = NumEntries(spec);
  if (!spec.name.ends_with(".weight")) {
    values.insert(values.end(), count, spec.name.ends_with(".scale") ? 1.0F : 0.0F);
    return;
  }
  const double limit = std::sqrt(6.0 / static_cast<double>(spec.shape[0] + spec.shape[1])) * scale;
  for (size_t i = 0; i < count; ++i) values.push_back(static_cast<float>(rng.Uniform(-limit, limit)));
}

}  // namespace emplace
