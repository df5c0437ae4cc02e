#include "simulator/instances/op_pieces.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "simulator/graph/acyclic_contraction.h"

namespace emplace {
namespace {

bool CostsNothing(const Op& op) { return op.cost.is_uniform() && op.cost.everywhere_us() == 0; }

// Parameters, inputs and constants, which are taken along with what reads them.
bool IsFreeSource(const Op& op) { return op.inputs.empty() && CostsNothing(op); }

class Contractor {
 public:
  explicit Contractor(const std::vector<Op>& ops)
      : ops_(ops), nodes_(static_cast<int32_t>(ops.size())), dag_(nodes_, EdgesOf(ops)), size_(ops.size(), 1) {
    for (const Op& op : ops) groups_.push_back(op.group);
  }

  void JoinUntil(Rng& rng, int32_t count) {
    const int32_t most_in_one = 4 * (nodes_ / count + 1);
    int32_t left = nodes_;
    for (int64_t tries = 20 * static_cast<int64_t>(nodes_); tries > 0 && left > count; --tries) {
      const int32_t from = dag_.Find(static_cast<int32_t>(rng.UniformInt(0, nodes_ - 1)));
      const auto readers = dag_.Successors(from);
      if (readers.empty()) continue;
      const int32_t to = OneOf(rng, readers);
      if (TryJoin(from, to, most_in_one)) --left;
    }
  }

  std::vector<Op> Joined() const {
    const std::vector<int32_t> order = dag_.Order();
    std::vector<OpIndex> joined_of_node(ops_.size(), -1);
    for (size_t i = 0; i < order.size(); ++i) joined_of_node[static_cast<size_t>(order[i])] = static_cast<OpIndex>(i);
    std::vector<std::vector<size_t>> members(order.size());
    std::vector<OpIndex> joined_of_op;
    for (size_t op = 0; op < ops_.size(); ++op) {
      joined_of_op.push_back(joined_of_node[static_cast<size_t>(dag_.Find(static_cast<int32_t>(op)))]);
      members[static_cast<size_t>(joined_of_op.back())].push_back(op);
    }
    return Make(members, joined_of_op);
  }

 private:
  static std::vector<std::pair<int32_t, int32_t>> EdgesOf(const std::vector<Op>& ops) {
    std::set<std::pair<int32_t, int32_t>> edges;
    for (size_t op = 0; op < ops.size(); ++op) {
      for (const OpInput& input : ops[op].inputs) edges.insert({input.producer, static_cast<int32_t>(op)});
    }
    return {edges.begin(), edges.end()};
  }

  bool TryJoin(int32_t from, int32_t to, int32_t most_in_one) {
    const auto a = static_cast<size_t>(from);
    const auto b = static_cast<size_t>(to);
    if (!groups_[a].empty() && !groups_[b].empty() && groups_[a] != groups_[b]) return false;
    const int32_t size = size_[a] + size_[b];
    if (size > most_in_one || !dag_.TryMergeAlong(from, to)) return false;
    const auto kept = static_cast<size_t>(std::min(from, to));
    size_[kept] = size;
    groups_[kept] = groups_[a].empty() ? groups_[b] : groups_[a];
    return true;
  }

  // What is read outside, or not at all, stays an output.
  std::vector<Op> Make(const std::vector<std::vector<size_t>>& members,
                       const std::vector<OpIndex>& joined_of_op) const {
    std::map<std::pair<OpIndex, int32_t>, bool> read_outside;  // Of (op, output) that are read.
    for (size_t op = 0; op < ops_.size(); ++op) {
      for (const OpInput& input : ops_[op].inputs)
        read_outside[{input.producer, input.output}] |=
            joined_of_op[static_cast<size_t>(input.producer)] != joined_of_op[op];
    }
    std::map<std::pair<OpIndex, int32_t>, OpInput> moved;  // Where the outputs of ops are now.
    std::vector<Op> joined;
    for (const std::vector<size_t>& parts : members) {
      joined.push_back(Join(parts));
      Op& op = joined.back();
      const auto at = static_cast<OpIndex>(joined.size()) - 1;
      for (const size_t part : parts) {
        const auto original = static_cast<OpIndex>(part);
        moved[{original, OpInput::kControl}] = {at, OpInput::kControl};
        for (int32_t output = 0; output < std::ssize(ops_[part].outputs); ++output) {
          const auto read = read_outside.find({original, output});
          if (read != read_outside.end() && !read->second) continue;
          moved[{original, output}] = {at, static_cast<int32_t>(op.outputs.size())};
          op.outputs.push_back(ops_[part].outputs[static_cast<size_t>(output)]);
        }
      }
      std::set<std::pair<OpIndex, int32_t>> inputs;
      for (const size_t part : parts) {
        for (const OpInput& input : ops_[part].inputs) {
          if (joined_of_op[static_cast<size_t>(input.producer)] == at) continue;
          const OpInput now = moved.at({input.producer, input.output});
          if (inputs.insert({now.producer, now.output}).second) op.inputs.push_back(now);
        }
      }
    }
    return joined;
  }

  // Without inputs and outputs.
  Op Join(const std::vector<size_t>& parts) const {
    const auto cost_of = [&](size_t op) { return ops_[op].cost.On("").value_or(0); };
    const size_t main = *std::ranges::max_element(parts, {}, cost_of);
    Op op;
    op.name = ops_[parts.front()].name;
    op.type = ops_[main].type;
    op.attrs_json = ops_[main].attrs_json;
    op.group = groups_[static_cast<size_t>(dag_.Find(static_cast<int32_t>(main)))];
    double cost_us = 0;
    for (const size_t part : parts) {
      cost_us += cost_of(part);
      op.param_bytes += ops_[part].param_bytes;
      op.temp_bytes = std::max(op.temp_bytes, ops_[part].temp_bytes);
    }
    op.cost = OpCost::Everywhere(cost_us);
    return op;
  }

  const std::vector<Op>& ops_;
  const int32_t nodes_;
  AcyclicContraction dag_;
  std::vector<int32_t> size_;        // [n] ops of a node that is alive
  std::vector<std::string> groups_;  // [n] likewise
};

}  // namespace

std::vector<Op> KeptOps(std::vector<Op> ops, const std::vector<uint8_t>& kept) {
  std::vector<OpIndex> moved(ops.size(), -1);
  std::vector<OpIndex> original(ops.size(), -1);  // By an op of the first micro-batch: the first kept op like it.
  OpIndex next = 0;
  for (size_t op = 0; op < ops.size(); ++op) {
    if (kept[op] == 1) moved[op] = next++;
  }
  std::vector<Op> result;
  for (size_t at = 0; at < ops.size(); ++at) {
    if (kept[at] == 0) continue;
    Op op = std::move(ops[at]);
    std::erase_if(op.inputs, [&](const OpInput& input) { return moved[static_cast<size_t>(input.producer)] < 0; });
    for (OpInput& input : op.inputs) input.producer = moved[static_cast<size_t>(input.producer)];
    OpIndex& first = original[op.copy_of == Op::kNoCopy ? at : static_cast<size_t>(op.copy_of)];
    op.copy_of = first < 0 ? Op::kNoCopy : first;
    if (first < 0) first = moved[at];
    result.push_back(std::move(op));
  }
  return result;
}

std::vector<Op> CutOut(Rng& rng, std::vector<Op> ops, int32_t count) {
  if (std::ssize(ops) <= count) return ops;
  std::vector<size_t> rest;  // All but the sources that are taken along.
  for (size_t op = 0; op < ops.size(); ++op) {
    if (!IsFreeSource(ops[op])) rest.push_back(op);
  }
  std::vector<uint8_t> kept(ops.size());
  int32_t left = count;
  const auto keep = [&](size_t op) {
    if (left > 0 && kept[op] == 0) {
      kept[op] = 1;
      --left;
    }
  };
  const auto keep_with_sources = [&](size_t op) {
    keep(op);
    for (const OpInput& input : ops[op].inputs) {
      const auto producer = static_cast<size_t>(input.producer);
      if (IsFreeSource(ops[producer])) keep(producer);
    }
  };
  if (!rest.empty()) {
    const size_t start = rng.Index(rest.size());
    for (size_t i = start; i < rest.size() && left > 0; ++i) keep_with_sources(rest[i]);
    for (size_t i = start; i-- > 0 && left > 0;) keep_with_sources(rest[i]);
  }
  for (size_t op = 0; op < ops.size(); ++op) keep(op);  // Sources that nothing reads.
  return KeptOps(std::move(ops), kept);
}

std::vector<Op> Contracted(Rng& rng, const std::vector<Op>& ops, int32_t count) {
  Contractor contractor(ops);
  contractor.JoinUntil(rng, count);
  return contractor.Joined();
}

}  // namespace emplace
