#include "simulator/families/program/lower.h"

#include <map>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "common/strings.h"
#include "simulator/families/program/aten_calls.h"
#include "simulator/families/program/cost_model.h"
#include "simulator/families/program/op_table.h"

namespace emplace {
namespace {

OpCost CostOf(const OpWork& work, const std::vector<DeviceKind>& kinds) {
  if (work.op_class == OpClass::kResident) return OpCost::Everywhere(0);
  std::map<std::string, double> cost_us;
  for (const DeviceKind& kind : kinds) cost_us[kind.name] = CostUs(kind, work);
  return OpCost::ByKind(cost_us);
}

std::string AttrsOf(const SymbolicNode& node, bool runnable) {
  nlohmann::json attrs;
  if (node.stage >= 0) attrs["stage"] = node.stage;
  if (runnable && (node.type == kParameterType || node.type == kInputType)) attrs["name"] = OpName(node);
  return attrs.is_null() ? "" : attrs.dump();
}

// The number of outputs of the op's call that come before the node's own.
int32_t OutputsLeftOut(const TensorProgram& program, const SymbolicNode& node) {
  return program.runnable() ? OutputsLeftOutByCall(node.type) : 0;
}

OpInput InputOf(const TensorProgram& program, const SymbolicTensor& tensor) {
  const SymbolicNode& producer = program.nodes()[static_cast<size_t>(tensor.node)];
  return {tensor.node, OutputsLeftOut(program, producer) + tensor.output};
}

OpOutput OutputOf(const SymbolicTensor& tensor) {
  return {.bytes = tensor.bytes(), .shape = tensor.shape, .dtype = NameOf(tensor.type)};
}

}  // namespace

OpGraph Lower(const std::string& name, const TensorProgram& program, const std::vector<DeviceKind>& kinds) {
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
    op.attrs_json = AttrsOf(node, program.runnable());
    if (program.runnable()) op.call_json = AtenCallOf(call);
    const OpWork work = WorkOf(call);
    op.flops = work.flops;
    op.cost = CostOf(work, kinds);
    if (rule.workspace) op.temp_bytes = rule.workspace(call);
    for (const TensorId input : node.inputs) op.inputs.push_back(InputOf(program, program.tensor(input)));
    for (const int32_t earlier : node.after) op.inputs.push_back({earlier, OpInput::kControl});
    if (node.output >= 0) {
      op.outputs.resize(static_cast<size_t>(OutputsLeftOut(program, node)));
      op.outputs.push_back(OutputOf(program.tensor(node.output)));
      for (const TensorId output : node.further_outputs) op.outputs.push_back(OutputOf(program.tensor(output)));
      if (node.type == kParameterType || node.type == kInputType) {
        op.outputs.back().resident = true;
        op.param_bytes = op.outputs.back().bytes;
      }
    }
    if (node.attributes.optimizer_slots > 0 && !program.runnable()) {
      const SymbolicTensor& parameter = program.tensor(node.inputs[0]);
      ops[static_cast<size_t>(parameter.node)].param_bytes += node.attributes.optimizer_slots * parameter.bytes();
    }
    ops.push_back(std::move(op));
  }
  return OpGraph(name, std::move(ops));
}

}  // namespace emplace
