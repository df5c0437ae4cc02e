#include "simulator/families/program/backward.h"

#include <map>

#include "common/error.h"
#include "common/strings.h"
#include "simulator/families/program/op_table.h"

namespace emplace {
namespace {

class Backward : public GradientSink {
 public:
  explicit Backward(TensorProgram& program) : program_(program) {}

  std::vector<std::pair<TensorId, TensorId>> Run(TensorId loss) {
    const auto forward_nodes = static_cast<int32_t>(program_.nodes().size());
    GiveTo(loss, program_.Add("grad/loss/ones", "aten.ones_like", {loss}));
    std::vector<std::pair<TensorId, TensorId>> gradients;
    for (int32_t at = forward_nodes - 1; at >= 0; --at) {
      node_ = program_.nodes()[static_cast<size_t>(at)];  // A copy: adding ops moves the list.
      if (node_.output < 0 || !program_.tensor(node_.output).requires_grad) continue;
      program_.SetStage(node_.stage);  // Where an op is, its gradient is too.
      JoinPieces(node_.output);
      const auto found = grads_.find(node_.output);
      if (found == grads_.end()) continue;  // Nobody who reaches the loss reads it.
      grad_ = found->second;
      if (node_.type == kParameterType) {
        gradients.insert(gradients.begin(), {node_.output, grad_});
        continue;
      }
      const OpRule& rule = RuleOf(node_.type);
      if (!rule.backward) throw BadInput(StrCat("op '", node_.name, "' of type ", node_.type, " has no backward rule"));
      rule.backward(*this);
    }
    return gradients;
  }

  const TensorProgram& program() const override { return program_; }
  const SymbolicNode& node() const override { return node_; }
  TensorId output_grad() const override { return grad_; }
  bool Needs(size_t input) const override { return program_.tensor(node_.inputs[input]).requires_grad; }
  TensorId Emit(const std::string& suffix, const std::string& type, const std::vector<TensorId>& inputs,
                const OpAttributes& attributes) override {
    return program_.Add(StrCat("grad/", node_.name, "/", suffix), type, inputs, attributes);
  }
  TensorId Slice(TensorId tensor, int32_t dim, int64_t begin, int64_t length, bool drop_dim) override {
    return program_.Slice(tensor, dim, begin, length, drop_dim);
  }
  void Give(size_t input, TensorId grad) override { GiveTo(node_.inputs[input], grad); }

 private:
  // A part of a tensor, of which there are views.
  struct Piece {
    TensorId grad = -1;  // So far; -1: none.
    TensorId view = -1;  // One of the views.
  };

  void GiveTo(TensorId tensor, TensorId grad) {
    EMPLACE_CHECK(program_.tensor(tensor).shape == program_.tensor(grad).shape);
    const SymbolicTensor receiver = program_.tensor(tensor);  // A copy: adding tensors moves the list.
    if (receiver.reshaped) {
      GiveTo(receiver.base, program_.Reshape(grad, program_.tensor(receiver.base).shape));
      return;
    }
    if (receiver.base >= 0) {
      EMPLACE_CHECK(program_.tensor(receiver.base).base < 0);  // Pieces are joined where their op is.
      // Kept apart until all readers of all pieces are done; two views of one piece are the same piece.
      Piece& piece = pieces_[receiver.base][receiver.begin];
      piece.grad = piece.grad < 0 ? grad : Sum(tensor, piece.grad, grad);
      piece.view = tensor;
      return;
    }
    const auto [entry, first] = grads_.try_emplace(tensor, grad);
    if (!first) entry->second = Sum(tensor, entry->second, grad);
  }

  TensorId Sum(TensorId of, TensorId a, TensorId b) {
    const SymbolicNode& producer = program_.nodes()[static_cast<size_t>(program_.tensor(of).node)];
    const TensorId name_of = producer.output;
    return program_.Add(StrCat("grad/", producer.name, "/sum", sums_[name_of]++), "aten.add", {a, b});
  }

  // The gradients of a tensor's pieces become one gradient of the whole.
  void JoinPieces(TensorId base) {
    const auto found = pieces_.find(base);
    if (found == pieces_.end()) return;
    const SymbolicTensor whole = program_.tensor(base);
    std::vector<TensorId> parts;
    int64_t covered = 0;
    bool dropped_dim = false;
    int32_t dim = 0;
    for (const auto& [begin, piece] : found->second) {
      const SymbolicTensor& view = program_.tensor(piece.view);
      EMPLACE_CHECK(begin == covered && (parts.empty() || view.dim == dim));
      dim = view.dim;
      dropped_dim = view.shape.size() < whole.shape.size();
      covered += dropped_dim ? 1 : view.shape[static_cast<size_t>(dim)];
      parts.push_back(piece.grad);
    }
    EMPLACE_CHECK(covered == whole.shape[static_cast<size_t>(dim)]);
    const SymbolicNode& producer = program_.nodes()[static_cast<size_t>(whole.node)];
    const std::string name = StrCat("grad/", producer.name, dropped_dim ? "/stack" : "/cat");
    GiveTo(base, program_.Add(name, dropped_dim ? "aten.stack" : "aten.cat", parts, {.dim = dim}));
  }

  TensorProgram& program_;
  SymbolicNode node_;
  TensorId grad_ = -1;
  std::map<TensorId, TensorId> grads_;                   // Tensor -> gradient so far; not of views.
  std::map<TensorId, std::map<int64_t, Piece>> pieces_;  // Base -> begin of a piece -> the piece.
  std::map<TensorId, int> sums_;                         // Names of the sums.
};

// Which nodes, of those from `first` on, have run whenever `tensor` is there? Nodes are in an order in which they could
// run: one sweep back finds them.
std::vector<bool> RunBefore(const TensorProgram& program, TensorId tensor, int32_t first) {
  std::vector<bool> run(program.nodes().size());
  const int32_t last = program.tensor(tensor).node;
  run[static_cast<size_t>(last)] = true;
  for (auto at = static_cast<size_t>(last) + 1; at-- > static_cast<size_t>(first);) {
    if (!run[at]) continue;
    for (const TensorId input : program.nodes()[at].inputs) run[static_cast<size_t>(program.tensor(input).node)] = true;
  }
  return run;
}

// The type of an optimizer's update, and the number of slots that it keeps for each parameter.
std::pair<const char*, int64_t> UpdateOf(Optimizer optimizer) {
  switch (optimizer) {
    case Optimizer::kMomentum:
      return {"aten._fused_sgd_", 1};
    case Optimizer::kAdam:
      return {"aten._fused_adam_", 2};
    case Optimizer::kSgd:
      break;
  }
  return {"aten.add_", 0};
}

// Node -> the nodes that read its output or a view of it, in order.
std::map<int32_t, std::vector<int32_t>> ReadersOf(const TensorProgram& program) {
  std::map<int32_t, std::vector<int32_t>> readers;
  for (size_t at = 0; at < program.nodes().size(); ++at) {
    for (const TensorId input : program.nodes()[at].inputs) {
      std::vector<int32_t>& list = readers[program.tensor(input).node];
      if (list.empty() || list.back() != static_cast<int32_t>(at)) list.push_back(static_cast<int32_t>(at));
    }
  }
  return readers;
}

}  // namespace

std::vector<std::pair<TensorId, TensorId>> AddBackward(TensorProgram& program, TensorId loss) {
  return Backward(program).Run(loss);
}

void AddUpdates(TensorProgram& program, const std::vector<std::pair<TensorId, TensorId>>& gradients,
                Optimizer optimizer) {
  const auto [update, slots] = UpdateOf(optimizer);
  const std::map<int32_t, std::vector<int32_t>> readers = ReadersOf(program);
  for (const auto& [parameter, gradient] : gradients) {
    const int32_t node = program.tensor(parameter).node;
    // Most readers have run when the gradient is there; the others, as the product that takes the gradient on to the
    // first step's input, would read the new weight if the update overtook them.
    const std::vector<int32_t>& readers_of_parameter = readers.at(node);
    const std::vector<bool> run = RunBefore(program, gradient, readers_of_parameter.front());
    std::vector<int32_t> after;
    for (const int32_t reader : readers_of_parameter) {
      if (!run[static_cast<size_t>(reader)]) after.push_back(reader);
    }
    const std::string name = program.nodes()[static_cast<size_t>(node)].name;
    program.AddUpdate("update/" + name, update, {parameter, gradient}, {.optimizer_slots = slots}, after);
  }
}

}  // namespace emplace
