#include "simulator/instances/dag_ops.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "common/error.h"
#include "common/strings.h"
#include "simulator/instances/draws.h"

namespace emplace {
namespace {

constexpr double kBytes = 1e6;  // About the size of a tensor, before all bytes are scaled.

struct OpClassOfDag {
  const char* type;
  double cost;
  bool has_weight;  // Whether its ops can have one.
};
constexpr std::array<OpClassOfDag, 6> kClasses = {{{"dag.product", 10, true},
                                                   {"dag.convolution", 20, true},
                                                   {"dag.gather", 1, true},
                                                   {"dag.elementwise", 0.5, false},
                                                   {"dag.reduction", 1, false},
                                                   {"dag.copy", 0.3, false}}};

// What the nodes of a role have in common.
struct RoleStyle {
  std::string type;
  double cost_us = 0;
  int64_t output_bytes = 0;  // Of each output.
  int32_t outputs = 1;
  int64_t temp_bytes = 0;
  int64_t weight_bytes = 0;     // 0: the nodes have no weight.
  double backward_cost = 0;     // Of the gradient of what a node reads, over the node's cost.
  double weight_grad_cost = 0;  // Of the gradient of the weight, likewise.
};

int64_t DrawBytes(Rng& rng, double sigma) { return std::llround(kBytes * LogNormal(rng, sigma)); }

std::vector<RoleStyle> DrawStyles(Rng& rng, int32_t roles) {
  const double cost_sigma = rng.Uniform(0.1, 1.5);
  const double bytes_sigma = rng.Uniform(0.1, 1.5);
  const double weights = rng.Uniform(0, 1);
  std::vector<RoleStyle> styles;
  for (int32_t role = 0; role < roles; ++role) {
    const OpClassOfDag& drawn = OneOf(rng, kClasses);
    RoleStyle style;
    style.type = drawn.type;
    style.cost_us = drawn.cost * LogNormal(rng, cost_sigma);
    style.output_bytes = DrawBytes(rng, bytes_sigma);
    if (Chance(rng, 0.1)) style.outputs = static_cast<int32_t>(rng.UniformInt(2, 4));
    if (Chance(rng, 0.2)) style.temp_bytes = DrawBytes(rng, bytes_sigma);
    if (drawn.has_weight && Chance(rng, weights)) style.weight_bytes = DrawBytes(rng, 1);
    style.backward_cost = rng.Uniform(0.5, 1.5);
    style.weight_grad_cost = rng.Uniform(0.5, 1.5);
    styles.push_back(std::move(style));
  }
  return styles;
}

// How many ops a network of the first nodes of a shape has.
class OpCount {
 public:
  OpCount(bool training, int32_t microbatches)
      : training_(training), microbatches_(microbatches), ops_(microbatches) {}  // An input for each micro-batch.

  void AddNode(bool has_weight, bool new_weight) {
    ops_ += microbatches_ * (training_ ? 2 : 1);
    // The gradients of a weight are added up one after the other; it has one update.
    if (has_weight && training_) ops_ += 2 * microbatches_;
    if (new_weight) ops_ += 1;
  }
  int32_t ops() const { return ops_; }

 private:
  const bool training_;
  const int32_t microbatches_;
  int32_t ops_;
};

class DagNetwork {
 public:
  DagNetwork(Rng& rng, const DagGenerator& generator, int32_t ops)
      : rng_(rng),
        training_(Chance(rng, 0.65)),
        microbatches_(DrawMicrobatches(rng, ops)),
        shape_(generator.draw(rng, std::max(1, ops / (microbatches_ * (training_ ? 2 : 1))))),
        styles_(DrawStyles(rng, CountOf(shape_.role))) {
    const int32_t used = ChooseNodes(ops);
    ChooseEdges();
    LabelNeighbours();
    AddConstants(ops - used);
  }

  std::vector<Op> Ops() {
    for (microbatch_ = 0; microbatch_ < microbatches_; ++microbatch_) {
      input_.push_back(AddOp("input", "emplace.input", FirstOr(input_)));
      MakeResident(ops_.back(), std::llround(kBytes));
      forward_.emplace_back();
      for (size_t node = 0; node < num_nodes_; ++node) AddForward(node);
      if (training_) AddBackward();
    }
    if (training_) AddUpdates();
    return std::move(ops_);
  }

 private:
  struct Weight {
    OpIndex parameter = -1;
    OpInput gradient = {};  // The sum so far.
    bool has_gradient = false;
    std::vector<OpIndex> readers = {};  // Gradients that read the parameter; the update waits for them.
    int32_t stage = 0;
  };
  struct Read {
    int32_t node;
    int32_t output;
  };
  struct Reader {
    int32_t node;
    int32_t read;  // Which of the node's reads it is.
  };

  const RoleStyle& StyleOf(size_t node) const { return styles_[static_cast<size_t>(shape_.role[node])]; }
  // Nodes with the same key have the same weight.
  int32_t WeightKey(size_t node) const {
    return shape_.shares_weights ? shape_.role[node] : static_cast<int32_t>(node);
  }

  // The most nodes of which a network has no more than `ops` ops. Returns how many it has.
  int32_t ChooseNodes(int32_t ops) {
    OpCount count(training_, microbatches_);
    std::set<int32_t> weights;
    int32_t used = count.ops();
    for (num_nodes_ = 0; num_nodes_ < shape_.reads.size(); ++num_nodes_) {
      const bool has_weight = StyleOf(num_nodes_).weight_bytes > 0;
      count.AddNode(has_weight, has_weight && weights.insert(WeightKey(num_nodes_)).second);
      if (count.ops() > ops) break;
      used = count.ops();
    }
    EMPLACE_CHECK(num_nodes_ > 0);
    return used;
  }

  void ChooseEdges() {
    reads_.resize(num_nodes_);
    readers_.resize(num_nodes_);
    for (size_t node = 0; node < num_nodes_; ++node) {
      for (const int32_t read : shape_.reads[node]) {
        const auto outputs = StyleOf(static_cast<size_t>(read)).outputs;
        const auto output = static_cast<int32_t>(outputs == 1 ? 0 : rng_.UniformInt(0, outputs - 1));
        readers_[static_cast<size_t>(read)].push_back(
            {static_cast<int32_t>(node), static_cast<int32_t>(reads_[node].size())});
        reads_[node].push_back({read, output});
      }
    }
  }

  // In some networks, some nodes have to be beside the first node that they read.
  void LabelNeighbours() {
    labels_.resize(num_nodes_);
    const double share = Chance(rng_, 0.15) ? rng_.Uniform(0.05, 0.3) : 0;
    for (size_t node = 0; node < num_nodes_ && share > 0; ++node) {
      if (reads_[node].empty() || !Chance(rng_, share)) continue;
      std::string& other = labels_[static_cast<size_t>(reads_[node].front().node)];
      if (other.empty()) other = StrCat("together:", node);
      labels_[node] = other;
    }
  }

  // Constants, such as masks, bring the network to exactly the number of ops that is asked for.
  void AddConstants(int32_t count) {
    constants_.resize(num_nodes_);
    for (int32_t i = 0; i < count; ++i) {
      const OpIndex constant = AddOp(StrCat("constant", i), "emplace.constant", Op::kNoCopy);
      MakeResident(ops_.back(), DrawBytes(rng_, 1));
      constants_[rng_.Index(num_nodes_)].push_back(constant);
    }
  }

  static OpIndex FirstOr(const std::vector<OpIndex>& of_microbatches) {
    return of_microbatches.empty() ? Op::kNoCopy : of_microbatches.front();
  }

  OpIndex AddOp(const std::string& name, const std::string& type, OpIndex copy_of, int32_t stage = -1) {
    Op op;
    op.name = microbatch_ == 0 ? name : StrCat("mb", microbatch_, "/", name);
    op.type = type;
    op.copy_of = copy_of;
    if (stage >= 0) op.attrs_json = StrCat("{\"stage\":", stage, "}");
    ops_.push_back(std::move(op));
    return static_cast<OpIndex>(ops_.size()) - 1;
  }
  static OpOutput OutputOf(int64_t bytes, bool resident = false) {
    return {.bytes = bytes, .shape = {}, .dtype = "", .resident = resident};
  }
  static void MakeResident(Op& op, int64_t bytes) {
    op.outputs = {OutputOf(bytes, /*resident=*/true)};
    op.param_bytes = bytes;
  }

  std::string GroupOf(int32_t weight) const { return StrCat("param:", weight); }

  OpInput ParameterOf(size_t node) {
    Weight& weight = weights_[WeightKey(node)];
    if (weight.parameter < 0) {
      const int32_t key = WeightKey(node);
      weight.stage = shape_.stage[node];
      weight.parameter = AddOp(StrCat("weight", key), "emplace.parameter", Op::kNoCopy, weight.stage);
      MakeResident(ops_.back(), StyleOf(node).weight_bytes);
      ops_.back().group = GroupOf(key);
    }
    return {weight.parameter, 0};
  }

  OpIndex FirstForward(size_t node) const { return microbatch_ == 0 ? Op::kNoCopy : forward_.front()[node]; }

  // What the node reads in this micro-batch, without its weight.
  std::vector<OpInput> DataOf(size_t node) const {
    std::vector<OpInput> inputs;
    for (const Read& read : reads_[node])
      inputs.push_back({forward_.back()[static_cast<size_t>(read.node)], read.output});
    if (inputs.empty()) inputs.push_back({input_.back(), 0});
    for (const OpIndex constant : constants_[node]) inputs.push_back({constant, 0});
    return inputs;
  }

  void AddForward(size_t node) {
    const RoleStyle& style = StyleOf(node);
    std::vector<OpInput> inputs = DataOf(node);
    if (style.weight_bytes > 0) inputs.push_back(ParameterOf(node));
    forward_.back().push_back(AddOp(StrCat("n", node), style.type, FirstForward(node), shape_.stage[node]));
    Op& op = ops_.back();
    op.cost = OpCost::Everywhere(style.cost_us);
    op.inputs = std::move(inputs);
    op.outputs.assign(static_cast<size_t>(style.outputs), OutputOf(style.output_bytes));
    op.temp_bytes = style.temp_bytes;
    if (!labels_[node].empty())
      op.group = microbatch_ == 0 ? labels_[node] : StrCat("mb", microbatch_, "/", labels_[node]);
  }

  // The gradients of what a node has made, and what the node itself has read or made.
  std::vector<OpInput> GradientInputs(size_t node, const std::vector<OpIndex>& gradients) const {
    std::vector<OpInput> inputs;
    for (const Reader& reader : readers_[node])
      inputs.push_back({gradients[static_cast<size_t>(reader.node)], reader.read});
    if (inputs.empty()) inputs.push_back({forward_.back()[node], 0});
    for (const OpInput& data : DataOf(node)) inputs.push_back(data);
    return inputs;
  }

  void AddBackward() {
    std::vector<OpIndex> gradients(num_nodes_, -1);
    std::vector<OpIndex> weight_gradients(num_nodes_, -1);
    for (size_t node = num_nodes_; node-- > 0;) {
      const RoleStyle& style = StyleOf(node);
      const bool has_weight = style.weight_bytes > 0;
      const auto first = [&](const std::vector<OpIndex>& of_first) {
        return microbatch_ == 0 ? Op::kNoCopy : of_first[node];
      };
      std::vector<OpInput> inputs = GradientInputs(node, gradients);
      if (has_weight) {
        weight_gradients[node] = AddOp(StrCat("grad/weight_of_n", node), style.type + "_weight_grad",
                                       first(first_weight_gradients_), shape_.stage[node]);
        ops_.back().cost = OpCost::Everywhere(style.cost_us * style.weight_grad_cost);
        ops_.back().inputs = inputs;
        ops_.back().outputs = {OutputOf(style.weight_bytes)};
        AddUp(node, weight_gradients[node]);
        inputs.push_back({weights_[WeightKey(node)].parameter, 0});
      }
      gradients[node] =
          AddOp(StrCat("grad/n", node), style.type + "_grad", first(first_gradients_), shape_.stage[node]);
      Op& op = ops_.back();
      op.cost = OpCost::Everywhere(style.cost_us * style.backward_cost);
      op.inputs = std::move(inputs);
      for (const Read& read : reads_[node])
        op.outputs.push_back(OutputOf(StyleOf(static_cast<size_t>(read.node)).output_bytes));
      if (has_weight) weights_[WeightKey(node)].readers.push_back(gradients[node]);
    }
    if (microbatch_ == 0) {
      first_gradients_ = std::move(gradients);
      first_weight_gradients_ = std::move(weight_gradients);
    }
  }

  void AddUp(size_t node, OpIndex gradient) {
    const int32_t key = WeightKey(node);
    Weight& weight = weights_[key];
    const OpInput sum = std::exchange(weight.gradient, {gradient, 0});
    if (!std::exchange(weight.has_gradient, true)) return;
    const int64_t bytes = StyleOf(node).weight_bytes;
    weight.gradient = {AddOp(StrCat("sum/weight", key, "/n", node), "dag.elementwise", Op::kNoCopy, weight.stage), 0};
    Op& op = ops_.back();
    op.cost = OpCost::Everywhere(static_cast<double>(bytes) / kBytes / 2);
    op.inputs = {sum, {gradient, 0}};
    op.outputs = {OutputOf(bytes)};
    op.group = GroupOf(key);
  }

  void AddUpdates() {
    microbatch_ = 0;
    for (const auto& [key, weight] : weights_) {
      AddOp(StrCat("update/weight", key), "dag.elementwise", Op::kNoCopy, weight.stage);
      Op& op = ops_.back();
      op.cost =
          OpCost::Everywhere(static_cast<double>(ops_[static_cast<size_t>(weight.parameter)].param_bytes) / kBytes / 2);
      op.inputs = {{weight.parameter, 0}, weight.gradient};
      for (const OpIndex reader : weight.readers) op.inputs.push_back({reader, OpInput::kControl});
      op.group = GroupOf(key);
    }
  }

  Rng& rng_;
  const bool training_;
  const int32_t microbatches_;
  const DagShape shape_;
  const std::vector<RoleStyle> styles_;
  size_t num_nodes_ = 0;                         // The first nodes of the shape are used.
  std::vector<std::vector<Read>> reads_;         // [num_nodes_]
  std::vector<std::vector<Reader>> readers_;     // [num_nodes_]
  std::vector<std::string> labels_;              // [num_nodes_] groups; empty: none
  std::vector<std::vector<OpIndex>> constants_;  // [num_nodes_] what each reads besides
  std::vector<Op> ops_;
  int32_t microbatch_ = 0;
  std::vector<OpIndex> input_;                   // Of the micro-batches so far.
  std::vector<std::vector<OpIndex>> forward_;    // Of the micro-batches so far: [num_nodes_]
  std::vector<OpIndex> first_gradients_;         // [num_nodes_] of the first micro-batch
  std::vector<OpIndex> first_weight_gradients_;  // Likewise; -1: no weight.
  std::map<int32_t, Weight> weights_;            // By key.
};

}  // namespace

std::vector<Op> DrawDagOps(Rng& rng, const DagGenerator& generator, int32_t ops) {
  return DagNetwork(rng, generator, ops).Ops();
}

}  // namespace emplace
