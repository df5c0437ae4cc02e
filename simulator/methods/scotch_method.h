// `scotch`: graph mapping by libscotch (Pellegrini and Roman 1996), the partitioning baseline of the placement papers:
// units as vertices weighted by their time, tensors between them as edges weighted by their bytes, mapped onto the
// devices so that loads are even and little travels far. It knows nothing of order: what it balances is work, not the
// schedule.
#pragma once

#include "simulator/methods/placement_method.h"

namespace emplace {

class ScotchMethod : public PlacementMethod {
 public:
  explicit ScotchMethod(const MethodOptions& options);
  bool draws() const override { return true; }
  // libscotch has global state: calls from several threads wait for each other.
  MethodResult Place(const PlacementTask& task) override;

 private:
  uint64_t seed_;
};

}  // namespace emplace
