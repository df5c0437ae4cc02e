#include "simulator/families/workloads/amoebanet.h"

#include <array>
#include <string>
#include <vector>

#include "common/error.h"
#include "common/strings.h"
#include "simulator/families/workloads/conv_layers.h"

namespace emplace {
namespace {

enum class AmoebaOp { kIdentity, kConv1x1, kConv3x3, kConv1x7And7x1, kAverage3x3, kMax3x3, kMax2x2 };

// One side of a block: an op on a state. States 0 and 1 are the cell's inputs, state b + 2 is the sum of block b.
struct Side {
  size_t state;
  AmoebaOp op;
};

struct Cell {
  std::array<std::array<Side, 2>, 5> blocks;
  std::vector<size_t> output;  // The states that are concatenated.
  int64_t stride;              // Of ops on the inputs.
};

// The cells of the TPU model. Its normal cell, on which GPipe's numbers of parameters rest, also hands on state 0,
// which is an input, and state 3.
const Cell& NormalCell() {
  using enum AmoebaOp;
  static const Cell cell = {{{{{{1, kConv1x1}, {1, kMax3x3}}},
                              {{{1, kIdentity}, {0, kConv1x7And7x1}}},
                              {{{0, kConv1x1}, {0, kConv1x7And7x1}}},
                              {{{2, kMax3x3}, {2, kIdentity}}},
                              {{{1, kAverage3x3}, {5, kConv1x1}}}}},
                            {0, 3, 4, 6},
                            1};
  return cell;
}
const Cell& ReductionCell() {
  using enum AmoebaOp;
  static const Cell cell = {{{{{{0, kMax2x2}, {0, kMax3x3}}},
                              {{{2, kIdentity}, {1, kConv3x3}}},
                              {{{2, kConv1x7And7x1}, {2, kMax3x3}}},
                              {{{3, kIdentity}, {1, kMax2x2}}},
                              {{{2, kAverage3x3}, {3, kConv1x1}}}}},
                            {4, 5, 6},
                            2};
  return cell;
}

class AmoebanetBuilder {
 public:
  AmoebanetBuilder(const AmoebanetModel& model, TensorProgram& program)
      : model_(model), program_(program), layers_(program) {}

  TensorId Build() {
    EMPLACE_CHECK(model_.image % 32 == 0 && model_.layers % 3 == 0 && model_.filters % 16 == 0);
    program_.SetStage(0);  // The stem; then a stage a cell.
    const TensorId images = program_.Input("images", {model_.batch, 3, model_.image, model_.image});
    const TensorId labels = program_.IdInput("labels", {model_.batch});
    const TensorId stem = layers_.Convolution("stem/conv", images, model_.stem_filters, {3, 3}, 2);
    CellInputs x{layers_.BatchNorm("stem/bn", stem), -1};
    x = {AddCell("stem1", ReductionCell(), x, model_.filters / 4), x.previous};
    x = {AddCell("stem2", ReductionCell(), x, model_.filters / 2), x.previous};
    int64_t filters = model_.filters;
    for (int64_t part = 0; part < 3; ++part) {
      if (part > 0) {
        filters *= 2;
        x = {AddCell(StrCat("reduction", part), ReductionCell(), x, filters), x.previous};
      }
      for (int64_t cell = 0; cell < model_.layers / 3; ++cell) {
        x = {AddCell(StrCat("part", part, "/cell", cell), NormalCell(), x, filters), x.previous};
      }
    }
    return layers_.Classify("head", layers_.Relu("head/relu", x.previous), labels, model_.classes);
  }

 private:
  TensorId AddCell(const std::string& n, const Cell& cell, CellInputs inputs, int64_t filters) {
    program_.SetStage(++stage_);
    const CellInputs adjusted = layers_.Adjust(n, inputs, filters);
    std::vector<TensorId> states = {adjusted.previous, adjusted.before};
    for (size_t b = 0; b < cell.blocks.size(); ++b) {
      const auto& [left, right] = cell.blocks[b];
      const std::string block = StrCat(n, "/b", b);
      const TensorId from_left = AddOp(block + "/left", left, cell, states, filters);
      const TensorId from_right = AddOp(block + "/right", right, cell, states, filters);
      states.push_back(layers_.Sum(block, from_left, from_right));
    }
    std::vector<TensorId> output;
    for (const size_t state : cell.output) output.push_back(states[state]);
    return layers_.Concatenate(n + "/cat", output);
  }

  TensorId AddOp(const std::string& n, const Side& side, const Cell& cell, const std::vector<TensorId>& states,
                 int64_t filters) {
    const TensorId x = states[side.state];
    const int64_t stride = side.state < 2 ? cell.stride : 1;
    switch (side.op) {
      case AmoebaOp::kIdentity:
        return x;  // Both cells have it where size and filters are right already.
      case AmoebaOp::kConv1x1:
        return Unit(n, x, filters, {1, 1}, stride);
      case AmoebaOp::kConv3x3: {
        const TensorId narrow = Unit(n + "/pre", x, filters / 4, {1, 1}, 1);
        return Unit(n + "/post", Unit(n + "/3x3", narrow, filters / 4, {3, 3}, stride), filters, {1, 1}, 1);
      }
      case AmoebaOp::kConv1x7And7x1: {
        TensorId narrow = Unit(n + "/pre", x, filters / 4, {1, 1}, 1);
        narrow = Unit(n + "/7x1", Unit(n + "/1x7", narrow, filters / 4, {1, 7}, 1), filters / 4, {7, 1}, 1);
        return Unit(n + "/post", narrow, filters, {1, 1}, 1);
      }
      case AmoebaOp::kAverage3x3:
        return Widened(n, layers_.AveragePool(n, x, 3, stride, 1), filters);
      case AmoebaOp::kMax3x3:
        return Widened(n, layers_.MaxPool(n, x, 3, stride, 1), filters);
      case AmoebaOp::kMax2x2:
        break;
    }
    return Widened(n, layers_.MaxPool(n, x, 2, stride, 0), filters);
  }

  // ReLU, convolution, batch norm.
  TensorId Unit(const std::string& n, TensorId x, int64_t filters, Size2 kernel, int64_t stride) {
    const TensorId made = layers_.Convolution(n + "/conv", layers_.Relu(n + "/relu", x), filters, kernel, stride);
    return layers_.BatchNorm(n + "/bn", made);
  }

  // The first cell's second input has the filters of the stem: what is pooled from it gets the cell's.
  TensorId Widened(const std::string& n, TensorId x, int64_t filters) {
    if (layers_.channels(x) == filters) return x;
    return layers_.BatchNorm(n + "/bn", layers_.Convolution(n + "/widen", x, filters, {1, 1}));
  }

  const AmoebanetModel& model_;
  TensorProgram& program_;
  ConvLayers layers_;
  int32_t stage_ = 0;
};

}  // namespace

TensorProgram BuildAmoebanet(const AmoebanetModel& model, const StepOptions& options) {
  return BuildModelStep<AmoebanetBuilder>(model, options, Optimizer::kMomentum);
}

}  // namespace emplace
