// `toy`: op after op on the next device, so many ops on each before the next.
#pragma once

#include "simulator/methods/placement_method.h"

namespace emplace {

struct ToyOptions {
  int64_t stride = 1;
};

class ToyMethod : public PlacementMethod {
 public:
  static FieldTable<ToyOptions> Options();

  explicit ToyMethod(const MethodOptions& options) : own_(Options().Filled(options.own)) {}
  MethodResult Place(const PlacementTask& task) override;

 private:
  const ToyOptions own_;
};

}  // namespace emplace
