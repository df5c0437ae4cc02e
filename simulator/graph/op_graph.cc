#include "simulator/graph/op_graph.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <queue>

#include "common/error.h"
#include "common/strings.h"
#include "simulator/graph/op_names.h"

namespace emplace {
namespace {

Error OpError(const Op& op, const std::string& what) { return BadInput(StrCat("op '", op.name, "': ", what)); }

bool IsAmount(double value) { return std::isfinite(value) && value >= 0; }

Error NoAmount(const Op& op, const std::string& field, double value) {
  return OpError(op, StrCat(field, " is ", value, ", expected a finite number of at least 0"));
}

Error NegativeBytes(const Op& op, const std::string& field, int64_t value) {
  return OpError(op, StrCat(field, " is ", value, ", expected at least 0"));
}

// Sums of bytes over the whole graph must stay below 2^63, or peak memory would wrap around.
class ByteSum {
 public:
  void Add(const Op& op, int64_t bytes) {
    if (bytes > std::numeric_limits<int64_t>::max() - total_) {
      throw OpError(op, "the graph's bytes add up to 2^63 or more, expected less");
    }
    total_ += bytes;
  }

 private:
  int64_t total_ = 0;
};

// The same for times: a sum of costs must stay a number that a clock can show.
class CostSum {
 public:
  void Add(const Op& op) {
    double most = op.cost.is_uniform() ? op.cost.everywhere_us() : 0;
    for (const double us : op.cost.us_by_kind()) most = std::max(most, us);
    total_us_ += most;
    if (total_us_ >= 0x1p63) throw OpError(op, "the graph's costs add up to 2^63 us or more, expected less");
  }

 private:
  double total_us_ = 0;
};

// A copy names an op that is no copy itself, so that nobody has to follow chains.
void CheckCopy(const Op& op, const std::vector<Op>& ops) {
  if (op.copy_of == Op::kNoCopy) return;
  if (op.copy_of < 0 || static_cast<size_t>(op.copy_of) >= ops.size()) {
    throw OpError(op, StrCat("copy_of is op index ", op.copy_of, ", expected 0..", ops.size() - 1));
  }
  const Op& original = ops[static_cast<size_t>(op.copy_of)];
  if (&original == &op) throw OpError(op, "copy_of names the op itself, expected an op of the first micro-batch");
  if (original.copy_of != Op::kNoCopy) {
    throw OpError(op, StrCat("copy_of is '", original.name, "', which is a copy itself, expected an op of the first ",
                             "micro-batch"));
  }
}

void CheckOp(const Op& op, const std::vector<Op>& ops, ByteSum& bytes) {
  if (op.cost.is_uniform() && !IsAmount(op.cost.everywhere_us()))
    throw NoAmount(op, "cost_us", op.cost.everywhere_us());
  const std::vector<double>& us_by_kind = op.cost.us_by_kind();
  if (!op.cost.is_uniform() && us_by_kind.empty())
    throw OpError(op, "cost_us has no device kind, expected a cost for at least one");
  for (size_t kind = 0; kind < us_by_kind.size(); ++kind) {
    if (!IsAmount(us_by_kind[kind]))
      throw NoAmount(op, StrCat("cost_us of '", op.cost.kinds()[kind], "'"), us_by_kind[kind]);
  }
  if (!IsAmount(op.flops)) throw NoAmount(op, "flops", op.flops);
  if (op.param_bytes < 0) throw NegativeBytes(op, "param_bytes", op.param_bytes);
  if (op.temp_bytes < 0) throw NegativeBytes(op, "temp_bytes", op.temp_bytes);
  bytes.Add(op, op.param_bytes);
  bytes.Add(op, op.temp_bytes);
  for (size_t i = 0; i < op.outputs.size(); ++i) {
    if (op.outputs[i].bytes < 0) throw NegativeBytes(op, StrCat("output ", i, " bytes"), op.outputs[i].bytes);
    bytes.Add(op, op.outputs[i].bytes);
  }
  if (op.ResidentOutputBytes() > op.param_bytes) {
    throw OpError(op, StrCat("its resident outputs have ", op.ResidentOutputBytes(), " bytes, expected at most its ",
                             "param_bytes, ", op.param_bytes));
  }
  for (const OpInput& input : op.inputs) {
    if (input.producer < 0 || static_cast<size_t>(input.producer) >= ops.size()) {
      throw OpError(op, StrCat("input from op index ", input.producer, ", expected 0..", ops.size() - 1));
    }
    const Op& producer = ops[static_cast<size_t>(input.producer)];
    const auto outputs = static_cast<int32_t>(producer.outputs.size());
    if (input.output != OpInput::kControl && (input.output < 0 || input.output >= outputs)) {
      throw OpError(op, StrCat("reads output ", input.output, " of '", producer.name, "', which has ", outputs,
                               outputs > 0 ? StrCat(", expected 0..", outputs - 1) : ", expected an op with outputs"));
    }
  }
}

Csr Consumers(const std::vector<Op>& ops) {
  std::vector<std::vector<int32_t>> rows(ops.size());
  for (size_t o = 0; o < ops.size(); ++o) {
    for (const OpInput& input : ops[o].inputs) {
      std::vector<int32_t>& row = rows[static_cast<size_t>(input.producer)];
      // Consumers come in ascending order, so a repeat can only be the last one.
      if (row.empty() || row.back() != static_cast<int32_t>(o)) row.push_back(static_cast<int32_t>(o));
    }
  }
  return CsrFromRows(rows);
}

// A cycle among the ops that Kahn's algorithm could not order, as "a -> b -> a".
std::string DescribeCycle(const std::vector<Op>& ops, const std::vector<bool>& ordered) {
  // Every op left has a producer that is left too: walk back until one repeats.
  OpIndex at = 0;
  while (ordered[static_cast<size_t>(at)]) ++at;
  std::vector<OpIndex> path;
  std::vector<bool> seen(ops.size());
  while (!seen[static_cast<size_t>(at)]) {
    seen[static_cast<size_t>(at)] = true;
    path.push_back(at);
    for (const OpInput& input : ops[static_cast<size_t>(at)].inputs) {
      if (ordered[static_cast<size_t>(input.producer)]) continue;
      at = input.producer;
      break;
    }
  }
  path.erase(path.begin(), std::find(path.begin(), path.end(), at));
  std::reverse(path.begin(), path.end());  // Producer first.
  std::rotate(path.begin(), std::min_element(path.begin(), path.end()), path.end());
  constexpr size_t kShown = 6;
  std::string text;
  for (size_t i = 0; i < std::min(path.size(), kShown); ++i) {
    text += StrCat("'", ops[static_cast<size_t>(path[i])].name, "' -> ");
  }
  if (path.size() > kShown) text += StrCat("(", path.size() - kShown, " more) -> ");
  return StrCat(text, "'", ops[static_cast<size_t>(path.front())].name, "'");
}

std::vector<OpIndex> TopologicalOrder(const std::vector<Op>& ops, const Csr& consumers) {
  std::vector<int32_t> missing(ops.size());
  for (const int32_t consumer : consumers.items) ++missing[static_cast<size_t>(consumer)];
  std::priority_queue<OpIndex, std::vector<OpIndex>, std::greater<>> ready;
  for (size_t o = 0; o < ops.size(); ++o) {
    if (missing[o] == 0) ready.push(static_cast<OpIndex>(o));
  }
  std::vector<OpIndex> order;
  std::vector<bool> ordered(ops.size());
  order.reserve(ops.size());
  while (!ready.empty()) {
    const OpIndex o = ready.top();
    ready.pop();
    order.push_back(o);
    ordered[static_cast<size_t>(o)] = true;
    for (const int32_t consumer : consumers.Row(o)) {
      if (--missing[static_cast<size_t>(consumer)] == 0) ready.push(consumer);
    }
  }
  if (order.size() < ops.size()) throw BadInput(StrCat("the ops form a cycle: ", DescribeCycle(ops, ordered)));
  return order;
}

}  // namespace

bool Op::AllowsKind(const std::string& kind) const {
  return allowed.empty() || std::find(allowed.begin(), allowed.end(), kind) != allowed.end();
}

bool Op::AllowedOn(const std::string& kind) const { return cost.On(kind) && AllowsKind(kind); }

int64_t Op::OutputBytes() const {
  int64_t bytes = 0;
  for (const OpOutput& output : outputs) bytes += output.bytes;
  return bytes;
}

int64_t Op::ResidentOutputBytes() const {
  int64_t bytes = 0;
  for (const OpOutput& output : outputs) bytes += output.resident ? output.bytes : 0;
  return bytes;
}

bool OutputsStay(const OpGraph& graph, OpIndex op) {
  const std::string& type = graph.op(op).type;
  return type == "emplace.output" || type == "emplace.gradient" || type == "emplace.buffer" ||
         graph.consumers().Row(op).empty();
}

OpGraph::OpGraph(std::string name, std::vector<Op> ops, std::string meta_json)
    : name_(std::move(name)), meta_json_(std::move(meta_json)), ops_(std::move(ops)) {
  if (ops_.size() > static_cast<size_t>(std::numeric_limits<int32_t>::max())) {
    throw BadInput(StrCat("the graph has ", ops_.size(), " ops, expected less than 2^31"));
  }
  OpNames names;
  ByteSum bytes;
  CostSum costs;
  for (size_t o = 0; o < ops_.size(); ++o) {
    if (ops_[o].name.empty()) throw BadInput(StrCat("op ", o, " has an empty name"));
    if (ops_[o].name.front() == '^') throw OpError(ops_[o], "a name starts with '^', which marks control edges");
    if (!names.Add(ops_[o].name)) throw OpError(ops_[o], "the name is used twice");
    CheckOp(ops_[o], ops_, bytes);
    CheckCopy(ops_[o], ops_);
    costs.Add(ops_[o]);
  }
  consumers_ = Consumers(ops_);
  IndexReads();
  topological_order_ = TopologicalOrder(ops_, consumers_);
}

int64_t OpGraph::ParameterBytes() const {
  int64_t bytes = 0;
  for (const Op& op : ops_) {
    if (op.type != "emplace.input" && op.type != "emplace.constant") bytes += op.param_bytes;
  }
  return bytes;
}

std::set<std::string> OpGraph::DeviceKinds() const {
  std::set<std::string> kinds;
  for (const Op& op : ops_) {
    kinds.insert(op.cost.kinds().begin(), op.cost.kinds().end());
    kinds.insert(op.allowed.begin(), op.allowed.end());
  }
  return kinds;
}

void OpGraph::IndexReads() {
  reads_begin_.assign(ops_.size() + 1, 0);
  for (const Op& op : ops_) {
    for (const OpInput& input : op.inputs) ++reads_begin_[static_cast<size_t>(input.producer) + 1];
  }
  for (size_t o = 0; o < ops_.size(); ++o) reads_begin_[o + 1] += reads_begin_[o];
  reads_.resize(reads_begin_.back());
  std::vector<size_t> next = reads_begin_;
  for (OpIndex reader = 0; reader < num_ops(); ++reader) {
    for (const OpInput& input : op(reader).inputs)
      reads_[next[static_cast<size_t>(input.producer)]++] = {reader, input.output};
  }
}

}  // namespace emplace
