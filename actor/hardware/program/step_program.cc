#include "actor/hardware/program/step_program.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <tuple>

#include "common/sort_unique.h"

namespace emplace {
namespace {

bool IsResultType(const std::string& type) {
  return type == "emplace.output" || type == "emplace.gradient" || type == "emplace.buffer";
}

class Compiler {
 public:
  Compiler(const OpGraph& graph, const Placement& placement) : graph_(graph), placement_(placement) {}

  StepProgram Compile(const DeviceOrders& orders) {
    AddInstructions(orders);
    // Every instruction has its inputs before what ends it can be sent: the readers decide what is sent.
    for (std::vector<StepInstruction>& instructions : program_.devices) {
      for (StepInstruction& instruction : instructions) AddOutputs(instruction);
    }
    return std::move(program_);
  }

 private:
  const Op& At(OpIndex op) const { return graph_.op(op); }
  DeviceIndex DeviceOf(OpIndex op) const { return placement_[static_cast<size_t>(op)]; }
  StepValue& Value(int32_t value) { return program_.values[static_cast<size_t>(value)]; }

  // The value of this output on this device, which is new when it is asked for first.
  int32_t Find(OpIndex op, int32_t output, DeviceIndex device) {
    const auto [found, is_new] = index_.try_emplace({op, output, device}, static_cast<int32_t>(program_.values.size()));
    if (!is_new) return found->second;
    const int32_t value = found->second;
    program_.values.push_back({.op = op, .output = output, .device = device});
    if (device != DeviceOf(op)) {
      const int32_t source = output == OpInput::kControl ? StepValue::kNone : Find(op, output, DeviceOf(op));
      Value(value).source = source;
      if (source != StepValue::kNone) ++Value(source).readers;
    }
    return value;
  }

  void AddInstructions(const DeviceOrders& orders) {
    program_.devices.resize(orders.size());
    for (size_t device = 0; device < orders.size(); ++device) {
      for (const OpIndex op : orders[device]) {
        if (IsLeftOut(At(op))) {
          program_.left_out.push_back(op);
        } else {
          program_.devices[device].push_back(Instruction(op, static_cast<DeviceIndex>(device)));
        }
      }
    }
    std::sort(program_.left_out.begin(), program_.left_out.end());
  }

  StepInstruction Instruction(OpIndex op, DeviceIndex device) {
    StepInstruction instruction{.op = op, .given = IsGiven(At(op))};
    for (const OpInput& input : At(op).inputs) {
      const bool is_data = input.output != OpInput::kControl;
      if (IsLeftOut(At(input.producer)) || (!is_data && DeviceOf(input.producer) == device)) {
        instruction.inputs.push_back(StepValue::kNone);
        continue;
      }
      const int32_t value = Find(input.producer, input.output, device);
      instruction.inputs.push_back(is_data ? value : StepValue::kNone);
      if (is_data) instruction.reads.push_back(value);
      if (DeviceOf(input.producer) != device) AddOnce(instruction.awaits, value);
      OpIndex& first_reader = first_reader_.try_emplace(value, op).first->second;
      first_reader = std::min(first_reader, op);
    }
    SortUnique(instruction.reads);
    for (const int32_t value : instruction.reads) ++Value(value).readers;
    return instruction;
  }

  static void AddOnce(std::vector<int32_t>& values, int32_t value) {
    if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
  }

  bool IsResult(OpIndex op) const {
    if (IsGiven(At(op))) return false;
    if (IsResultType(At(op).type)) return true;
    const auto consumers = graph_.consumers().Row(op);
    return std::all_of(consumers.begin(), consumers.end(), [this](OpIndex reader) { return IsLeftOut(At(reader)); });
  }

  void AddOutputs(StepInstruction& instruction) {
    const bool stays = instruction.given || IsResult(instruction.op);
    if (stays && !instruction.given) program_.results.push_back(instruction.op);
    for (size_t output = 0; output < At(instruction.op).outputs.size(); ++output) {
      const auto key = std::tuple(instruction.op, static_cast<int32_t>(output), DeviceOf(instruction.op));
      if (!stays && !index_.contains(key)) {
        instruction.outputs.push_back(StepValue::kNone);
        continue;
      }
      instruction.outputs.push_back(Find(instruction.op, static_cast<int32_t>(output), DeviceOf(instruction.op)));
      Value(instruction.outputs.back()).stays = stays;
    }
    AddSends(instruction);
  }

  void AddSends(StepInstruction& instruction) {
    // All values of an op lie together in the index.
    for (auto at = index_.lower_bound({instruction.op, OpInput::kControl, 0});
         at != index_.end() && std::get<0>(at->first) == instruction.op; ++at) {
      if (std::get<2>(at->first) != DeviceOf(instruction.op)) instruction.sends.push_back(at->second);
    }
    std::sort(instruction.sends.begin(), instruction.sends.end(), [this](int32_t a, int32_t b) {
      return std::pair(first_reader_.at(a), a) < std::pair(first_reader_.at(b), b);
    });
  }

  const OpGraph& graph_;
  const Placement& placement_;
  StepProgram program_;
  std::map<std::tuple<OpIndex, int32_t, DeviceIndex>, int32_t> index_;  // Values by op, output and device.
  std::map<int32_t, OpIndex> first_reader_;                             // Of values, the lowest op that reads it.
};

}  // namespace

bool IsGiven(const Op& op) {
  return op.type == "emplace.parameter" || op.type == "emplace.input" || op.type == "emplace.constant";
}

bool IsLeftOut(const Op& op) {
  return (op.type == "emplace.update" || op.type == "emplace.refresh") && op.call_json.empty();
}

OpGraph WithoutCostsOfOpsNotRun(const OpGraph& graph) {
  std::vector<Op> ops = graph.ops();
  for (Op& op : ops) {
    if (IsGiven(op) || IsLeftOut(op)) op.cost = OpCost::Everywhere(0);
    if (IsLeftOut(op)) op.inputs.clear();
  }
  return OpGraph(graph.name(), std::move(ops));
}

DeviceOrders WithLeftOutLast(const OpGraph& graph, DeviceOrders orders) {
  std::vector<OpIndex> left_out;  // In topological order.
  std::ranges::copy_if(graph.topological_order(), std::back_inserter(left_out),
                       [&](OpIndex op) { return IsLeftOut(graph.op(op)); });
  for (std::vector<OpIndex>& order : orders) {
    const std::set<OpIndex> here(order.begin(), order.end());
    std::erase_if(order, [&](OpIndex op) { return IsLeftOut(graph.op(op)); });
    std::ranges::copy_if(left_out, std::back_inserter(order), [&](OpIndex op) { return here.contains(op); });
  }
  return orders;
}

StepProgram CompileStep(const OpGraph& graph, const Placement& placement, const DeviceOrders& orders) {
  StepProgram program = Compiler(graph, placement).Compile(orders);
  std::sort(program.results.begin(), program.results.end());
  return program;
}

}  // namespace emplace
