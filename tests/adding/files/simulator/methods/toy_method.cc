#include "simulator/methods/toy_method.h"

namespace emplace {

FieldTable<ToyOptions> ToyMethod::Options() {
  FieldTable<ToyOptions> table;
  table.Field("stride", &ToyOptions::stride).Range(1, 1000000).Help("Number of ops on a device before the next one");
  return table;
}

MethodResult ToyMethod::Place(const PlacementTask& task) {
  Placement placement;
  for (const GroupIndex unit : task.unit_of_op)
    placement.push_back(static_cast<DeviceIndex>(unit / own_.stride % task.sim.num_devices));
  return {.placement = std::move(placement)};
}

}  // namespace emplace
