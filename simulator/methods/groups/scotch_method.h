// `scotch`: graph mapping by libscotch (Pellegrini and Roman 1996), the partitioning method that placement papers
// compare with. Units are vertices weighted by their time, and tensors between them are edges weighted by their bytes.
// The mapping gives devices even loads and moves few bytes. It does not consider the order of ops: it balances work,
// not a schedule.
#pragma once

#include "simulator/methods/placement_method.h"

namespace emplace {

class ScotchMethod : public PlacementMethod {
 public:
  explicit ScotchMethod(const MethodOptions& options);
  bool draws() const override { return true; }
  // libscotch has global state, so calls from several threads wait for each other. A call that is stopped goes on in a
  // thread of its own, and its result is dropped.
  MethodResult Place(const PlacementTask& task) override;

 private:
  uint64_t seed_;
  StopSignal stop_;
};

}  // namespace emplace
