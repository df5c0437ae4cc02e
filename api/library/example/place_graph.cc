// Places a graph on a machine: place_graph my.graph.json devices.yaml [SECONDS]
#include <emplace/emplace.h>

#include <cstdio>
#include <cstdlib>
#include <exception>

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: place_graph GRAPH DEVICES [SECONDS]\n");
    return 2;
  }
  try {
    const auto graph = emplace::Graph::Load(argv[1]);
    const auto machine = emplace::Machine::Load(argv[2]);
    emplace::PlaceOptions options;
    if (argc > 3) options.seconds = std::atof(argv[3]);

    const emplace::Plan plan = emplace::Place(graph, machine, options);
    std::printf("%s: %.3f us a step, %.3f us on one device, found by %s\n", graph.name().c_str(), plan.makespan_us,
                plan.single_device_us, plan.found_by.c_str());

    const auto ops = graph.ops();
    const auto devices = machine.devices();
    for (int32_t op = 0; op < graph.num_ops(); ++op) {
      std::printf("  %s on %s\n", ops[op].c_str(), devices[plan.placement[op]].c_str());
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "place_graph: %s\n", error.what());
    return 1;
  }
}
