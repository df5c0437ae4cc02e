#include "simulator/families/workloads/cifar10.h"

#include <cmath>

#include "common/strings.h"
#include "simulator/families/workloads/conv_layers.h"

namespace emplace {
namespace {

constexpr int32_t kBlocks = 5;
constexpr double kSeparableLogit = 0.44;
constexpr double kAuxiliaryWeight = 0.4;

class Cifar10Builder {
 public:
  Cifar10Builder(const Cifar10Model& model, TensorProgram& program)
      : model_(model), program_(program), layers_(program) {}

  TensorId Build() {
    program_.SetStage(0);  // The stem; then a stage a cell.
    const TensorId images = program_.Input("images", {model_.batch, 3, model_.image, model_.image});
    const TensorId labels = program_.IdInput("labels", {model_.batch});
    const int64_t reductions[] = {model_.cells / 3, 2 * (model_.cells / 3) + 1};
    int64_t filters = model_.filters;
    TensorId before = layers_.BatchNorm("stem/bn", layers_.Convolution("stem/conv", images, 3 * filters, {3, 3}));
    TensorId previous = before;
    TensorId auxiliary_loss = -1;
    for (int64_t cell = 0; cell < model_.cells + 2; ++cell) {
      const bool reduces = cell == reductions[0] || cell == reductions[1];
      if (reduces) filters *= 2;
      program_.SetStage(static_cast<int32_t>(cell) + 1);
      const std::string name = StrCat("cell", TwoDigits(cell));
      const TensorId output =
          Cell(name, reduces ? model_.reduction : model_.normal, before, previous, filters, reduces ? 2 : 1);
      before = previous;
      previous = output;
      if (cell == reductions[1] + 1) auxiliary_loss = AuxiliaryHead(output, labels);
    }
    const TensorId loss = layers_.Classify("head", layers_.Relu("head/relu", previous), labels, model_.classes);
    if (auxiliary_loss < 0) return loss;  // No cell comes after the second reduction.
    return layers_.Sum("loss", loss,
                       program_.Add("aux/weigh", "aten.div", {auxiliary_loss}, {.divisor = 1 / kAuxiliaryWeight}));
  }

 private:
  TensorId Cell(const std::string& n, const std::vector<CellBlock>& blocks, TensorId before, TensorId previous,
                int64_t filters, int64_t stride) {
    std::vector<bool> used(blocks.size() + 2);
    for (const CellBlock& block : blocks) {
      for (const int32_t input : block.input) used[static_cast<size_t>(input)] = true;
    }
    // Both inputs get the cell's width, and the older one the size of the newer; an input that no block reads gets no
    // ops.
    std::vector<TensorId> nodes(2, -1);
    if (used[0]) {
      if (layers_.height(before) != layers_.height(previous)) {
        nodes[0] = layers_.FactorizedReduction(n + "/in0", layers_.Relu(n + "/in0/relu", before), filters);
      } else {
        nodes[0] = layers_.channels(before) == filters ? before : layers_.Calibrate(n + "/in0", before, filters);
      }
    }
    if (used[1])
      nodes[1] = layers_.channels(previous) == filters ? previous : layers_.Calibrate(n + "/in1", previous, filters);

    std::vector<TensorId> outputs;
    for (size_t b = 0; b < blocks.size(); ++b) {
      const std::string block = StrCat(n, "/b", b);
      std::array<TensorId, 2> sides;
      for (size_t side = 0; side < 2; ++side) {
        const auto input = static_cast<size_t>(blocks[b].input[side]);
        sides[side] = Apply(block + (side == 0 ? "/left" : "/right"), blocks[b].op[side], nodes[input], filters,
                            input < 2 ? stride : 1);
      }
      nodes.push_back(layers_.Sum(block, sides[0], sides[1]));
      if (!used[b + 2]) outputs.push_back(nodes.back());
    }
    return layers_.Concatenate(n + "/cat", outputs);
  }

  TensorId Apply(const std::string& n, CellOp op, TensorId x, int64_t filters, int64_t stride) {
    switch (op) {
      case CellOp::kSeparable3:
        return layers_.SeparableTwice(n, x, filters, 3, stride);
      case CellOp::kSeparable5:
        return layers_.SeparableTwice(n, x, filters, 5, stride);
      case CellOp::kAveragePool:
        return layers_.AveragePool(n, x, 3, stride, 1);
      case CellOp::kMaxPool:
        return layers_.MaxPool(n, x, 3, stride, 1);
      case CellOp::kIdentity:
        break;
    }
    return stride == 1 ? x : layers_.FactorizedReduction(n, layers_.Relu(n + "/relu", x), filters);
  }

  // On 8 x 8 images, after the second reduction.
  TensorId AuxiliaryHead(TensorId x, TensorId labels) {
    x = layers_.AveragePool("aux/pool", layers_.Relu("aux/relu", x), 5, 3, 0);
    x = layers_.Relu("aux/1/relu", layers_.BatchNorm("aux/1/bn", layers_.Convolution("aux/1/conv", x, 128, {1, 1})));
    const Size2 all = {layers_.height(x), layers_.height(x)};
    x = layers_.Convolution("aux/2/conv", x, 768, all, 1, {0, 0});
    x = layers_.Relu("aux/2/relu", layers_.BatchNorm("aux/2/bn", x));
    return layers_.Classify("aux/head", x, labels, model_.classes);
  }

  const Cifar10Model& model_;
  TensorProgram& program_;
  ConvLayers layers_;
};

std::vector<CellBlock> SampleCell(Rng& rng) {
  const double favoured = std::exp(kSeparableLogit);
  const std::vector<double> weights = {favoured, favoured, 1, 1, 1};
  std::vector<CellBlock> blocks;
  for (int32_t b = 0; b < kBlocks; ++b) {
    CellBlock block;
    for (size_t side = 0; side < 2; ++side) {
      block.input[side] = static_cast<int32_t>(rng.UniformInt(0, b + 1));
      block.op[side] = static_cast<CellOp>(rng.Categorical(weights));
    }
    blocks.push_back(block);
  }
  return blocks;
}

}  // namespace

Ranges Cifar10Ranges(bool small) {
  if (small) return Ranges({{"cells", {3, 3}}, {"filters", {8, 12}}, {"batch", {16, 32}}});
  return Ranges({{"cells", {6, 15}}, {"filters", {20, 36}}, {"batch", {144, 160}}});
}

Cifar10Model SampleCifar10(Rng& rng, const Ranges& ranges) {
  Cifar10Model model;
  model.normal = SampleCell(rng);
  model.reduction = SampleCell(rng);
  model.cells = ranges.Draw("cells", rng);
  model.filters = ranges.Draw("filters", rng);
  model.batch = ranges.Draw("batch", rng);
  return model;
}

TensorProgram BuildCifar10(const Cifar10Model& model, const StepOptions& options) {
  return BuildModelStep<Cifar10Builder>(model, options, Optimizer::kMomentum);
}

}  // namespace emplace
