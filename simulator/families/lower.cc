#include "simulator/families/lower.h"

#include <map>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "common/strings.h"
#include "simulator/families/aten_calls.h"
#include "simulator/families/op_table.h"

namespace emplace {
namespace {

OpCost CostOf(const OpWork& work, const std::vector<DeviceKind>& kinds) {
  if (work.op_class == OpClass::kResident) return OpCost::Everywhere(0);
  std::map<std::string, double> cost_us;
  for (const DeviceKind& kind : kinds) cost_us[kind.name] = CostUs(kind, work);
  return OpCost::ByKind(std::move(cost_us));
}

std::string AttrsOf(const SymbolicNode& node, bool calls) {
  nlohmann::json attrs;
  if (node.stage >= 0) attrs["stage"] = node.stage;
  if (calls && (node.type == kParameterType || node.type == kInputType)) attrs["name"] = OpName(node);
  return attrs.is_null() ? "" : attrs.dump();
}

}  // namespace

OpGraph Lower(const std::string& name, const TensorProgram& program, const std::vector<DeviceKind>& kinds, bool calls) {
  std::vector<Op> ops;
  ops.reserve(program.nodes().size());
  std::unordered_map<std::string, OpIndex> first_microbatch;  // Ops by the names of their nodes.
  for (const SymbolicNode& node : program.nodes()) {
    const OpRule& rule = RuleOf(node.type);
    const OpCall call{program, node};
    Op op;
    op.name = OpName(node);
    if (node.microbatch == 0) {
      first_microbatch[node.name] = static_cast<OpIndex>(ops.size());
    } else {
      op.copy_of = first_microbatch.at(node.name);
    }
    op.type = node.type;
    op.group = node.group;
    op.attrs_json = AttrsOf(node, calls);
    if (calls) op.call_json = AtenCallOf(call);
    const OpWork work = WorkOf(call);
    op.flops = work.flops;
    op.cost = CostOf(work, kinds);
    if (rule.workspace) op.temp_bytes = rule.workspace(call);
    for (const TensorId input : node.inputs) op.inputs.push_back({program.tensor(input).node, 0});
    for (const int32_t earlier : node.after) op.inputs.push_back({earlier, OpInput::kControl});
    if (node.output >= 0) {
      const SymbolicTensor& output = program.tensor(node.output);
      op.outputs.push_back({.bytes = output.bytes(), .shape = output.shape, .dtype = NameOf(output.type)});
      if (node.type == kParameterType) op.param_bytes = output.bytes();
    }
    if (node.attributes.optimizer_slots > 0) {
      const SymbolicTensor& parameter = program.tensor(node.inputs[0]);
      ops[static_cast<size_t>(parameter.node)].param_bytes += node.attributes.optimizer_slots * parameter.bytes();
    }
    ops.push_back(std::move(op));
  }
  return OpGraph(name, std::move(ops));
}

}  // namespace emplace
