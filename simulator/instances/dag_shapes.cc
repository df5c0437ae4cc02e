#include "simulator/instances/dag_shapes.h"

namespace emplace {

std::span<const DagGenerator> DagGenerators(InstancePart part) {
  return OfPart(part, TrainShapes(), ValidationShapes(), TestShapes());
}

}  // namespace emplace
