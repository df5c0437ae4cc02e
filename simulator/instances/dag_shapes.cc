#include "simulator/instances/dag_shapes.h"

namespace emplace {

std::span<const DagGenerator> DagGenerators(InstancePart part) {
  switch (part) {
    case InstancePart::kTrain:
      return TrainShapes();
    case InstancePart::kValidation:
      return ValidationShapes();
    case InstancePart::kTest:
      break;
  }
  return TestShapes();
}

}  // namespace emplace
