// What is published of the workloads: parameters and FLOPs of the networks, the search spaces of the families.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <string>

#include "simulator/families/program/cost_model.h"
#include "simulator/families/program/lower.h"
#include "simulator/families/program/op_table.h"
#include "simulator/families/workloads/amoebanet.h"
#include "simulator/families/workloads/cifar10.h"
#include "simulator/families/workloads/gnmt.h"
#include "simulator/families/workloads/inception_v3.h"
#include "simulator/families/workloads/nasnet.h"
#include "simulator/families/workloads/nmt.h"
#include "simulator/families/workloads/rnnlm.h"
#include "simulator/families/workloads/transformer_xl.h"
#include "simulator/families/workloads/wavenet.h"

namespace emplace {
namespace {

double Parameters(const TensorProgram& program, const std::string& without = "nothing") {
  double count = 0;
  for (const SymbolicNode& node : program.nodes()) {
    if (node.type != kParameterType || node.name.starts_with(without)) continue;
    count += static_cast<double>(NumElements(program.tensor(node.output).shape));
  }
  return count;
}

// Of the forward pass, multiplications and additions in convolutions and products, as papers count them.
double ForwardMultiplyAdds(const TensorProgram& program, const std::string& without = "nothing") {
  double flops = 0;
  for (const SymbolicNode& node : program.nodes()) {
    if (node.type == "aten.ones_like") break;  // Here the backward pass begins.
    if (node.name.starts_with(without)) continue;
    const OpCall call{program, node};
    const OpClass op_class = ClassOf(call);
    if (op_class == OpClass::kMatmul || op_class == OpClass::kConvolution || op_class == OpClass::kDepthwise) {
      flops += RuleOf(node.type).flops(call);
    }
  }
  return flops / 2;
}

TEST(InceptionV3, HasThePublishedParametersAndFlops) {
  const TensorProgram program = BuildInceptionV3({.batch = 1});
  EXPECT_NEAR(Parameters(program, "aux/"), 23.8e6, 0.01 * 23.8e6);
  EXPECT_NEAR(Parameters(program), 27.16e6, 0.01 * 27.16e6);  // torchvision's with its auxiliary head.
  EXPECT_NEAR(ForwardMultiplyAdds(program, "aux/"), 5.7e9, 0.05 * 5.7e9);
}

TEST(Nasnet, HasThePublishedParametersAndFlops) {
  const TensorProgram program = BuildNasnet({.batch = 1});
  EXPECT_NEAR(Parameters(program), 88.9e6, 0.01 * 88.9e6);
  EXPECT_NEAR(ForwardMultiplyAdds(program), 23.8e9, 0.05 * 23.8e9);
}

TEST(Cifar10, ReductionsHalveTheSizeAndDoubleTheFilters) {
  Cifar10Model model;
  model.normal = model.reduction = {{{0, 1}, {CellOp::kSeparable3, CellOp::kIdentity}},
                                    {{2, 1}, {CellOp::kMaxPool, CellOp::kSeparable5}}};
  model.cells = 6;
  const TensorProgram program = BuildCifar10(model);
  // Reductions at 6 / 3 = 2 and 2 * 2 + 1 = 5. Block 0 is read by block 1, so block 1 alone is the output.
  std::map<std::string, Shape> shapes;
  for (const SymbolicNode& node : program.nodes()) {
    if (node.output >= 0) shapes[node.name] = program.tensor(node.output).shape;
  }
  EXPECT_EQ(shapes.at("stem/bn"), (Shape{160, 60, 32, 32}));
  EXPECT_EQ(shapes.at("cell01/b1"), (Shape{160, 20, 32, 32}));
  EXPECT_EQ(shapes.at("cell02/b1"), (Shape{160, 40, 16, 16}));
  EXPECT_EQ(shapes.at("cell04/b1"), (Shape{160, 40, 16, 16}));
  EXPECT_EQ(shapes.at("cell05/b1"), (Shape{160, 80, 8, 8}));
  EXPECT_EQ(shapes.at("cell07/b1"), (Shape{160, 80, 8, 8}));
  EXPECT_FALSE(shapes.contains("cell08/b1"));
  EXPECT_TRUE(shapes.contains("aux/head/linear"));
}

TEST(Cifar10, SeparableConvolutionsAreFavouredByTheirLogit) {
  Rng rng(3);
  std::map<CellOp, int> count;
  int total = 0;
  std::set<int64_t> cells;
  for (int i = 0; i < 2000; ++i) {
    const Cifar10Model model = SampleCifar10(rng, Cifar10Ranges(/*small=*/false));
    cells.insert(model.cells);
    ASSERT_TRUE(model.filters >= 20 && model.filters <= 36 && model.batch >= 144 && model.batch <= 160);
    for (const auto* const cell : {&model.normal, &model.reduction}) {
      ASSERT_EQ(cell->size(), 5u);
      for (size_t b = 0; b < cell->size(); ++b) {
        for (size_t side = 0; side < 2; ++side) {
          ASSERT_TRUE((*cell)[b].input[side] >= 0 && (*cell)[b].input[side] <= static_cast<int32_t>(b) + 1);
          ++count[(*cell)[b].op[side]];
          ++total;
        }
      }
    }
  }
  EXPECT_EQ(cells.size(), 10u);  // 6..15
  const double favoured = std::exp(0.44) / (2 * std::exp(0.44) + 3);
  for (const CellOp op : {CellOp::kSeparable3, CellOp::kSeparable5}) {
    EXPECT_NEAR(static_cast<double>(count[op]) / total, favoured, 0.01);
  }
  EXPECT_NEAR(static_cast<double>(count[CellOp::kIdentity]) / total, (1 - 2 * favoured) / 3, 0.01);
}

TEST(Nmt, ParametersAreThoseOfItsLayers) {
  const NmtModel model{.layers = 3, .hidden = 64, .batch = 8, .steps = 5, .vocabulary = 1000};
  constexpr double kH = 64;
  const double cell = 2 * kH * 4 * kH + 4 * kH;  // [2 H, 4 H] and a bias
  // Two embeddings, six cells, H rows more in the decoder's first (it is fed), keys, mix, softmax.
  const double expected = 2 * 1000 * kH + 6 * cell + kH * 4 * kH + kH * kH + 2 * kH * kH + kH * 1000;
  EXPECT_EQ(Parameters(BuildNmt(model)), expected);
}

TEST(Nmt, SamplesStayInTheirRanges) {
  Rng rng(5);
  std::set<int64_t> layers;
  for (int i = 0; i < 500; ++i) {
    const NmtModel model = SampleNmt(rng, NmtRanges(/*small=*/false));
    layers.insert(model.layers);
    ASSERT_TRUE(model.hidden >= 512 && model.hidden <= 1024 && model.hidden % 64 == 0);
    ASSERT_TRUE(model.batch >= 32 && model.batch <= 256);
    ASSERT_TRUE(model.steps >= 10 && model.steps <= 60);
    ASSERT_EQ(model.vocabulary, 30000);
  }
  EXPECT_EQ(layers, (std::set<int64_t>{2, 3, 4}));
}

// Jozefowicz et al. 2016, table 1: all parameters. Shazeer et al. 2017 ("Outrageously Large Neural Networks"), tables 1
// and 7: parameters and multiply-adds a word of the same networks, without embedding and softmax.
TEST(Rnnlm, HasThePublishedParametersAndFlops) {
  struct Published {
    RnnlmModel model;
    double all;
    double layers;
  };
  const Published published[] = {
      {{.layers = 1, .state = 2048, .projection = 512}, 0.83e9, 9.4e6},
      {{.layers = 2, .state = 8192, .projection = 1024}, 1.8e9, 151e6},  // "Big LSTM"
  };
  for (auto [model, all, layers] : published) {
    model.batch = 2;
    model.steps = 3;
    const TensorProgram program = BuildRnnlm(model);
    EXPECT_NEAR(Parameters(program), all, 0.015 * all);
    const double outside = 2.0 * static_cast<double>(model.vocabulary * model.projection);
    EXPECT_NEAR(Parameters(program) - outside, layers, 0.01 * layers);
    EXPECT_NEAR(ForwardMultiplyAdds(program, "softmax/") / 6, layers, 0.01 * layers);
  }
}

TEST(Rnnlm, SamplesStayInTheirRanges) {
  Rng rng(6);
  std::set<int64_t> layers;
  for (int i = 0; i < 500; ++i) {
    const RnnlmModel model = SampleRnnlm(rng, RnnlmRanges(/*small=*/false));
    layers.insert(model.layers);
    ASSERT_TRUE(model.state >= 1024 && model.state <= 2560 && model.state % 128 == 0);
    ASSERT_TRUE(model.projection >= 256 && model.projection <= 640 && model.projection % 64 == 0);
    ASSERT_TRUE(model.batch >= 64 && model.batch <= 256 && model.batch % 8 == 0);
    ASSERT_TRUE(model.steps >= 20 && model.steps <= 40);
    ASSERT_EQ(model.vocabulary, 793471);
    ASSERT_EQ(model.sampled, 8192);
  }
  EXPECT_EQ(layers, (std::set<int64_t>{2, 3, 4, 5, 6}));
}

TEST(Rnnlm, TheSoftmaxComparesTheRightWordWithTheSampledOnes) {
  const RnnlmModel model{
      .layers = 1, .state = 16, .projection = 8, .batch = 3, .steps = 5, .vocabulary = 50, .sampled = 7};
  const TensorProgram program = BuildRnnlm(model);
  // For each of 15 words 8 products of [8] with [8, 16] and a projection [16, 8], 4 biases [16] (an addition is half a
  // multiply-add), then 1 + 7 scores.
  EXPECT_EQ(ForwardMultiplyAdds(program), 15.0 * (8 * 8 * 16 + 16 * 8 + 4 * 16 * 0.5) + 15 * (1 + 7) * 8);
}

// Shazeer et al. 2017, table 2: GNMT has 278 million parameters and 214 million multiply-adds for each pair of a source
// and a target word.
TEST(Gnmt, HasThePublishedParametersAndFlops) {
  GnmtModel model{.layers = 8, .batch = 1, .steps = 3};
  const TensorProgram program = BuildGnmt(model);
  EXPECT_NEAR(Parameters(program), 278e6, 0.015 * 278e6);
  EXPECT_NEAR(ForwardMultiplyAdds(program) / 3, 214e6, 0.015 * 214e6);
}

TEST(Gnmt, SamplesStayInTheirRanges) {
  Rng rng(7);
  std::set<int64_t> layers;
  for (int i = 0; i < 500; ++i) {
    const GnmtModel model = SampleGnmt(rng, GnmtRanges(/*small=*/false));
    layers.insert(model.layers);
    ASSERT_TRUE(model.hidden >= 512 && model.hidden <= 1280 && model.hidden % 64 == 0);
    ASSERT_TRUE(model.batch >= 64 && model.batch <= 256 && model.batch % 8 == 0);
    ASSERT_TRUE(model.steps >= 8 && model.steps <= 20);
    ASSERT_EQ(model.vocabulary, 32000);
  }
  EXPECT_EQ(layers, (std::set<int64_t>{2, 3, 4, 5, 6}));
}

TEST(Gnmt, ParametersAreThoseOfItsLayers) {
  for (const int64_t layers : {2, 4, 8}) {
    constexpr double kH = 32;
    const GnmtModel model{.layers = layers, .hidden = 32, .batch = 2, .steps = 3, .vocabulary = 100};
    const auto cell = [](double input) { return 4 * (input * kH + kH * kH + kH); };
    // Both directions read words, the layer above them both outputs; the decoder's layers read the attention too.
    const double encoder = 2 * cell(kH) + cell(2 * kH) + static_cast<double>(layers - 2) * cell(kH);
    const double decoder = static_cast<double>(layers) * cell(2 * kH);
    const double attention = kH * kH + kH * kH + kH;
    EXPECT_EQ(Parameters(BuildGnmt(model)), encoder + decoder + attention + 3 * 100 * kH);
  }
}

// Dai et al. 2019, table 2 (enwik8): 12 layers have 41 million parameters, the 24 of the large model 277 million.
TEST(TransformerXl, HasThePublishedParameters) {
  TransformerXlModel model{.layers = 12, .batch = 1, .segment = 8, .memory = 8};
  EXPECT_NEAR(Parameters(BuildTransformerXl(model)), 41e6, 0.01 * 41e6);
  model = {
      .layers = 24, .width = 1024, .heads = 8, .head_width = 128, .inner = 3072, .batch = 1, .segment = 8, .memory = 8};
  EXPECT_NEAR(Parameters(BuildTransformerXl(model)), 277e6, 0.01 * 277e6);
}

TEST(TransformerXl, FlopsAreThoseOfItsProducts) {
  const TransformerXlModel model{.layers = 3,
                                 .width = 24,
                                 .heads = 4,
                                 .head_width = 5,
                                 .inner = 40,
                                 .batch = 2,
                                 .segment = 6,
                                 .memory = 7,
                                 .vocabulary = 30};
  const double rows = 2 * 6;
  const double keys = 7 + 6;
  const double heads = 4 * 5;
  // Queries, keys with values, positions, output; by content, by distance, sum of the values; inner and outer layer
  // with their biases (an addition is half a multiply-add).
  const double layer = rows * 24 * heads + 2 * keys * 24 * 2 * heads + keys * 24 * heads + rows * heads * 24 +
                       3 * rows * keys * heads + 2 * rows * 24 * 40 + rows * (40 + 24) / 2;
  EXPECT_EQ(ForwardMultiplyAdds(BuildTransformerXl(model)), 3 * layer + rows * 24 * 30);
}

// The paper says no number of parameters; these are sums over the layers that it describes.
TEST(Wavenet, ParametersAndFlopsAreThoseOfItsLayers) {
  const WavenetModel model{
      .stacks = 2, .stack_layers = 3, .channels = 5, .skip = 4, .levels = 7, .batch = 2, .samples = 20};
  const auto convolution = [](double from, double to, double kernel) { return from * to * kernel + to; };
  const double layer = convolution(5, 2 * 5, 2) + convolution(5, 5, 1) + convolution(5, 4, 1);
  const double unread = convolution(5, 5, 1);  // The last layer has no output but its skip connection.
  const double head = convolution(4, 4, 1) + convolution(4, 7, 1);
  const TensorProgram program = BuildWavenet(model);
  EXPECT_EQ(Parameters(program), convolution(7, 5, 2) + 6 * layer - unread + head);
  // Every weight once a sample, and biases: half a multiply-add.
  const double biases = 5 + 6 * (2 * 5 + 5 + 4) - 5 + 4 + 7;
  EXPECT_EQ(ForwardMultiplyAdds(program), 2 * 20 * (Parameters(program) - biases + biases / 2));
}

// Huang et al. 2019 (GPipe), table 1: AmoebaNet-D (L, D).
TEST(Amoebanet, HasThePublishedParameters) {
  struct Published {
    int64_t layers;
    int64_t filters;
    double parameters;
  };
  for (const auto& [layers, filters, parameters] :
       {Published{18, 208, 82e6}, {18, 416, 318e6}, {36, 544, 1.05e9}, {72, 512, 1.8e9}}) {
    const TensorProgram program = BuildAmoebanet({.batch = 1, .image = 32, .layers = layers, .filters = filters});
    EXPECT_NEAR(Parameters(program), parameters, 0.025 * parameters) << layers << ", " << filters;
  }
}

// Per pixel of its output, in units of filters^2: a cell's convolutions without those of its inputs.
TEST(Amoebanet, FlopsAreThoseOfItsCells) {
  const AmoebanetModel model{.batch = 1, .image = 64, .layers = 6, .filters = 16, .stem_filters = 8, .classes = 10};
  constexpr double kBottleneck = 0.25 + 14.0 / 16 + 0.25;               // 1x1 to a quarter, 1x7 and 7x1, 1x1 back
  constexpr double kNormal = 3 + 2 * kBottleneck;                       // and three 1x1
  constexpr double kReduction = 1 + kBottleneck + 1 + 9.0 / 16 + 0.25;  // one 1x1, one 3x3 that reads 4 pixels for one
  const auto squared = [](double x) { return x * x; };
  double expected = squared(32) * 27 * 8;  // The stem halves 64 pixels.
  // The inputs of a cell, `before` and `previous`: their sizes and channels. Convolutions bring both to the filters.
  double size = 32;
  double channels = 8;
  double before_size = 0;  // There is none.
  double before_channels = 0;
  const auto cell = [&](bool reduces, double filters) {
    expected += squared(size) * channels * filters;
    if (before_size > 0 && (before_size != size || before_channels != filters)) {
      expected +=
          squared(size) * before_channels * filters;  // Strided where it is larger: for each pixel that is left.
    }
    before_size = size;
    const double second = before_channels;
    before_channels = channels;
    if (reduces) size /= 2;
    expected += squared(size) * squared(filters) * (reduces ? kReduction : kNormal);
    // The first cell pools its second input, the stem's 8 channels, and its 3x3 begins from them.
    if (second == 0) {
      expected += squared(size) * channels * filters + squared(2 * size) * (channels - filters) * filters / 4;
    }
    channels = (reduces ? 3 : 4) * filters;
  };
  cell(true, 4);
  cell(true, 8);
  for (const double filters : {16.0, 32.0, 64.0}) {
    if (filters > 16) cell(true, filters);
    cell(false, filters);
    cell(false, filters);
  }
  expected += channels * 10 + 10.0 / 2;
  EXPECT_EQ(ForwardMultiplyAdds(BuildAmoebanet(model)), expected);
}

// Zhou et al. 2020 (SGDP): the networks of eight layers have over 50,000 ops.
TEST(Networks, WithEightRecurrentLayersHaveOver50000Ops) {
  EXPECT_GT(BuildRnnlm({.layers = 8}).nodes().size(), 50'000u);
  EXPECT_GT(BuildGnmt({.layers = 8}).nodes().size(), 50'000u);
}

// What the families have: a policy can learn from them in minutes.
TEST(Networks, OfTheMostLayersAndStepsOfTheirFamiliesHaveAtMost20000Ops) {
  const auto rnnlm = RnnlmRanges(/*small=*/false).ranges();
  const auto gnmt = GnmtRanges(/*small=*/false).ranges();
  const std::map<std::string, TensorProgram> largest = {
      {"rnnlm", BuildRnnlm({.layers = rnnlm.at("layers").high, .steps = rnnlm.at("steps").high})},
      {"gnmt", BuildGnmt({.layers = gnmt.at("layers").high, .steps = gnmt.at("steps").high})}};
  for (const auto& [name, program] : largest) {
    EXPECT_GT(program.nodes().size(), 18'000u) << name;
    EXPECT_LE(program.nodes().size(), 20'000u) << name;
  }
}

// Images a second that the cost model gives for one device, one op after the other.
double ImagesPerSecond(const std::string& kind, int64_t batch) {
  const OpGraph graph = Lower("inception", BuildInceptionV3({.batch = batch}), LoadDeviceKinds(DefaultKindsFolder()));
  double us = 0;
  for (const Op& op : graph.ops()) us += op.cost.On(kind).value();
  return static_cast<double>(batch) / us * 1e6;
}

// TensorFlow's published benchmarks (2017): Inception-V3, batch 64, synthetic data, one GPU.
TEST(CostModel, GivesThePublishedTrainingSpeeds) {
  EXPECT_NEAR(ImagesPerSecond("k80", 64), 30, 0.05 * 30);
  EXPECT_NEAR(ImagesPerSecond("p100", 64), 142, 0.05 * 142);
}

// The Placeto talk's table: seconds a step on one K80.
TEST(CostModel, TheNetworksOfTheTalkTakeAboutTheirTimeOnOneK80) {
  const auto seconds = [](const TensorProgram& program) {
    double us = 0;
    for (const SymbolicNode& node : program.nodes()) {
      static const DeviceKind k80 = LoadKindsOfFile(DefaultKindsFolder() / "k80.yaml").front();
      us += CostUs(k80, WorkOf({program, node})) + 5.7;
    }
    return us / 1e6;
  };
  EXPECT_NEAR(seconds(BuildInceptionV3({})), 1.56, 0.05 * 1.56);
  EXPECT_NEAR(seconds(BuildNasnet({})), 1.28, 0.1 * 1.28);
}

}  // namespace
}  // namespace emplace
