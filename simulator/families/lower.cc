#include "simulator/families/lower.h"

#include <map>

#include "simulator/families/op_table.h"

namespace emplace {
namespace {

OpCost CostOf(const OpRule& rule, double flops, int64_t bytes, const std::vector<DeviceKind>& kinds) {
  if (rule.type == kParameterType || rule.type == kInputType) return OpCost::Everywhere(0);
  std::map<std::string, double> cost_us;
  for (const DeviceKind& kind : kinds) cost_us[kind.name] = CostUs(kind, flops, bytes);
  return OpCost::ByKind(std::move(cost_us));
}

}  // namespace

OpGraph Lower(const std::string& name, const TensorProgram& program, const std::vector<DeviceKind>& kinds) {
  std::vector<Op> ops;
  ops.reserve(program.nodes().size());
  for (const SymbolicNode& node : program.nodes()) {
    const OpRule& rule = RuleOf(node.type);
    const OpCall call{program, node};
    Op op;
    op.name = node.name;
    op.type = node.type;
    op.group = node.group;
    op.flops = rule.flops(call);
    op.cost = CostOf(rule, op.flops, rule.bytes(call), kinds);
    for (const TensorId input : node.inputs) op.inputs.push_back({program.tensor(input).node, 0});
    for (const int32_t earlier : node.after) op.inputs.push_back({earlier, OpInput::kControl});
    if (node.output >= 0) {
      const SymbolicTensor& output = program.tensor(node.output);
      op.outputs.push_back({.bytes = output.bytes(),
                            .shape = output.shape,
                            .dtype = output.type == ElementType::kFloat32 ? "f32" : "i64"});
      if (node.type == kParameterType) op.param_bytes = output.bytes();
    }
    ops.push_back(std::move(op));
  }
  return OpGraph(name, std::move(ops));
}

}  // namespace emplace
