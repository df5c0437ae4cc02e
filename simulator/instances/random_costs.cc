#include "simulator/instances/random_costs.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "simulator/instances/draws.h"

namespace emplace {
namespace {

// What ops of one type have in common.
struct TypeFactors {
  double cost = 1;
  double bytes = 1;
  // [kinds] cost there over the cost on a device of speed 1; below 0: it cannot run them, and would take as long.
  std::vector<double> on_kind;
};

struct OpFactors {
  double cost = 1;
  double bytes = 1;
};

class CostDrawer {
 public:
  CostDrawer(Rng& rng, const RandomMachine& machine, const std::vector<Op>& ops)
      : rng_(rng),
        machine_(machine),
        type_sigma_(rng.Uniform(0, 1)),
        op_sigma_(Chance(rng, 0.5) ? 0 : rng.Uniform(0, 0.5)),
        strength_sigma_(rng.Uniform(0, 0.7)),
        refused_(Chance(rng, 0.15) ? rng.Uniform(0.05, 0.3) : 0) {
    for (const Op& op : ops) types_.try_emplace(op.type);
    for (auto& [type, factors] : types_) factors = DrawType();  // By name.
    for (size_t kind = 0; kind < machine.speeds.size(); ++kind) KeepOfUse(kind, ops);
    for (const Op& op : ops) {
      const bool is_copy = op.copy_of != Op::kNoCopy;
      ops_.push_back(is_copy ? ops_[static_cast<size_t>(op.copy_of)] : OpFactors{DrawOp(), DrawOp()});
    }
  }

  double CostOf(size_t op, const std::vector<Op>& ops) const {
    return *ops[op].cost.On("") * types_.at(ops[op].type).cost * ops_[op].cost;
  }
  double BytesFactor(size_t op, const std::vector<Op>& ops) const {
    return types_.at(ops[op].type).bytes * ops_[op].bytes;
  }
  // Of an op that costs so much on a device of speed 1.
  OpCost OnKinds(const std::string& type, double us) const {
    if (us == 0) return OpCost::Everywhere(0);
    const std::vector<double>& factors = types_.at(type).on_kind;
    std::map<std::string, double> costs;
    for (size_t kind = 0; kind < factors.size(); ++kind) {
      constexpr double kStepsPerUs = 1000;  // Whole nanoseconds, and at least one.
      if (factors[kind] > 0)
        costs[KindName(kind)] = std::max(1.0, std::round(us * factors[kind] * kStepsPerUs)) / kStepsPerUs;
    }
    return OpCost::ByKind(costs);
  }
  // The mean over the machine's devices of what an op of this type takes there, over what it takes at speed 1.
  double MeanOnKinds(const std::string& type) const {
    double sum = 0;
    int32_t runs = 0;
    for (const Device& device : machine_.cluster.devices) {
      const double factor = types_.at(type).on_kind[static_cast<size_t>(device.kind.front() - 'a')];
      if (factor <= 0) continue;
      sum += factor;
      ++runs;
    }
    return sum / runs;
  }

 private:
  TypeFactors DrawType() {
    TypeFactors factors;
    factors.cost = LogNormal(rng_, type_sigma_);
    factors.bytes = LogNormal(rng_, type_sigma_);
    for (size_t kind = 0; kind < machine_.speeds.size(); ++kind) {
      const bool cannot = Chance(rng_, refused_) && kind > 0;
      const double us = LogNormal(rng_, strength_sigma_) / machine_.speeds[kind];
      factors.on_kind.push_back(cannot ? -us : us);
    }
    return factors;
  }
  // A kind that could run nothing that costs anything gets back what it was refused: nobody owns such a device, and
  // as a file the machine would be refused (CheckKinds).
  void KeepOfUse(size_t kind, const std::vector<Op>& ops) {
    const auto runs = [&](const Op& op) { return *op.cost.On("") > 0 && types_.at(op.type).on_kind[kind] > 0; };
    if (std::ranges::any_of(ops, runs)) return;
    for (auto& [type, factors] : types_) factors.on_kind[kind] = std::abs(factors.on_kind[kind]);
  }
  double DrawOp() { return op_sigma_ == 0 ? 1 : LogNormal(rng_, op_sigma_); }

  Rng& rng_;
  const RandomMachine& machine_;
  const double type_sigma_;
  const double op_sigma_;
  const double strength_sigma_;  // Of how well a kind does with a type.
  const double refused_;         // Share of (kind, type) that the kind cannot run.
  std::map<std::string, TypeFactors> types_;
  std::vector<OpFactors> ops_;  // [n]
};

int64_t ScaledDown(int64_t bytes, double factor) {
  return static_cast<int64_t>(std::floor(static_cast<double>(bytes) * factor));
}
int64_t ScaledUp(int64_t bytes, double factor) {
  return static_cast<int64_t>(std::ceil(static_cast<double>(bytes) * factor));
}

// Of all outputs that somebody reads.
double BytesRead(const std::vector<Op>& ops, const std::vector<double>& bytes_factors) {
  std::vector<std::vector<uint8_t>> read(ops.size());
  double sum = 0;
  for (const Op& op : ops) {
    for (const OpInput& input : op.inputs) {
      if (input.output == OpInput::kControl) continue;
      const auto producer = static_cast<size_t>(input.producer);
      const auto output = static_cast<size_t>(input.output);
      read[producer].resize(ops[producer].outputs.size());
      if (std::exchange(read[producer][output], uint8_t{1}) == 0)
        sum += static_cast<double>(ops[producer].outputs[output].bytes) * bytes_factors[producer];
    }
  }
  return sum;
}

}  // namespace

void DrawCosts(Rng& rng, const RandomMachine& machine, std::vector<Op>& ops) {
  const CostDrawer drawer(rng, machine, ops);
  const double mean_cost_us = LogUniform(rng, 3, 3000);
  const double sending_over_computing = LogUniform(rng, 0.01, 10);

  std::vector<double> costs_us;
  std::vector<double> bytes_factors;
  double cost_sum_us = 0;
  int32_t costed = 0;
  for (size_t op = 0; op < ops.size(); ++op) {
    costs_us.push_back(drawer.CostOf(op, ops));
    bytes_factors.push_back(drawer.BytesFactor(op, ops));
    cost_sum_us += costs_us.back() * drawer.MeanOnKinds(ops[op].type);
    costed += costs_us.back() > 0 ? 1 : 0;
  }
  const double cost_scale = costed == 0 ? 0 : mean_cost_us * costed / cost_sum_us;
  const double bytes_read = BytesRead(ops, bytes_factors);
  const double bytes_scale =
      bytes_read == 0 ? 1
                      : sending_over_computing * mean_cost_us * costed / (bytes_read * MeanUsPerByte(machine.cluster));
  for (size_t i = 0; i < ops.size(); ++i) {
    Op& op = ops[i];
    const double factor = bytes_factors[i] * bytes_scale;
    op.cost = drawer.OnKinds(op.type, costs_us[i] * cost_scale);
    // What is resident stays within the op's parameters.
    for (OpOutput& output : op.outputs)
      output = {.bytes = ScaledDown(output.bytes, factor), .shape = {}, .dtype = "", .resident = output.resident};
    op.param_bytes = ScaledUp(op.param_bytes, factor);
    op.temp_bytes = ScaledUp(op.temp_bytes, factor);
    op.flops = 0;
    op.allowed.clear();
    op.call_json.clear();
  }
}

}  // namespace emplace
