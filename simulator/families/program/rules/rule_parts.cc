#include "simulator/families/program/rules/rule_parts.h"

namespace emplace {
namespace {

int64_t NormGradientBytes(const OpCall& call) { return call.input(0).bytes() + call.input(1).bytes() + AllBytes(call); }

// The gradients of weight and bias.
std::vector<SymbolicTensor> AffineGradients(const OpCall& call) {
  const SymbolicTensor& affine = call.input(2);
  const SymbolicTensor each = {.shape = {affine.shape[1]}, .type = affine.type};
  return {each, each};
}

}  // namespace

Shape SameAs0(const OpCall& call) { return call.input(0).shape; }
Shape GivenShape(const OpCall& call) { return call.node.attributes.shape; }

double NoFlops(const OpCall& /*call*/) { return 0; }
double Elements(const OpCall& call) {
  const SymbolicTensor& sized = call.node.output >= 0 ? call.output() : call.input(0);
  return static_cast<double>(NumElements(sized.shape));
}

int64_t NoBytes(const OpCall& /*call*/) { return 0; }
int64_t OutputBytes(const OpCall& call) {
  int64_t bytes = call.node.output >= 0 ? call.output().bytes() : 0;
  for (const TensorId output : call.node.further_outputs) bytes += call.program.tensor(output).bytes();
  return bytes;
}
int64_t AllBytes(const OpCall& call) {
  int64_t bytes = OutputBytes(call);
  for (size_t i = 0; i < call.node.inputs.size(); ++i) bytes += call.input(i).bytes();
  return bytes;
}

void GiveNorm(GradientSink& sink, const std::string& type) {
  const SymbolicNode& node = sink.node();
  const TensorId mean = node.further_outputs[0];
  const TensorId scale = node.further_outputs[1];
  const TensorId of_x = sink.Emit("norm", type, {sink.output_grad(), node.inputs[0], node.inputs[1], mean, scale});
  if (sink.Needs(0)) sink.Give(0, of_x);
  const std::vector<TensorId> of_affine = sink.program().further_outputs(of_x);  // A copy: adding ops moves the list.
  if (sink.Needs(1)) sink.Give(1, sink.Emit("affine", "aten.stack", of_affine));
}

OpRule NormGradientRow(const std::string& type, std::function<double(const OpCall&)> flops) {
  return {type, OpClass::kReduction, SameAs0, std::move(flops), NormGradientBytes, {}, {}, AffineGradients};
}

std::function<void(GradientSink&)> FromOutput(const std::string& type) {
  return [type](GradientSink& sink) {
    sink.Give(0, sink.Emit(type.substr(type.find('.') + 1), type, {sink.output_grad(), sink.node().output}));
  };
}

}  // namespace emplace
