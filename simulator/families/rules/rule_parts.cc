#include "simulator/families/rules/rule_parts.h"

namespace emplace {

Shape SameAs0(const OpCall& call) { return call.input(0).shape; }
Shape GivenShape(const OpCall& call) { return call.node.attributes.shape; }

double NoFlops(const OpCall& /*call*/) { return 0; }
double Elements(const OpCall& call) {
  const SymbolicTensor& sized = call.node.output >= 0 ? call.output() : call.input(0);
  return static_cast<double>(NumElements(sized.shape));
}

int64_t NoBytes(const OpCall& /*call*/) { return 0; }
int64_t OutputBytes(const OpCall& call) { return call.node.output >= 0 ? call.output().bytes() : 0; }
int64_t AllBytes(const OpCall& call) {
  int64_t bytes = OutputBytes(call);
  for (size_t i = 0; i < call.node.inputs.size(); ++i) bytes += call.input(i).bytes();
  return bytes;
}

std::function<void(GradientSink&)> FromOutput(const std::string& type) {
  return [type](GradientSink& sink) {
    sink.Give(0, sink.Emit(type.substr(type.find('.') + 1), type, {sink.output_grad(), sink.node().output}));
  };
}

}  // namespace emplace
