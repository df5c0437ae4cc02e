#include "simulator/instances/corpus.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "common/files/file_io.h"
#include "simulator/graph/graph_io.h"
#include "tests/support/bad_input.h"
#include "tests/support/make_op.h"
#include "tests/support/temp_folder.h"

namespace emplace {
namespace {

using testing::HasSubstr;

// So many ops in a chain, the last one first in the file.
OpGraph Backwards(const std::string& name, int32_t count) {
  std::vector<Op> ops;
  for (OpIndex op = 0; op < count; ++op) {
    std::vector<OpInput> inputs;
    if (op + 1 < count) inputs.push_back({op + 1, 0});
    ops.push_back(MakeOp("op" + std::to_string(op), OpCost::ByKind({{"x", 1.0 + op}, {"y", 7.0}}), inputs, {10}));
  }
  return OpGraph(name, std::move(ops));
}

TEST(Corpus, DrawsGraphsOfItsPartInATopologicalOrder) {
  const TempFolder folder;
  MakeFolder(folder.path() / "train");
  WriteFileAtomically(folder.path() / "train/net.graph.json", GraphToJson(Backwards("net", 20)));
  WriteFileAtomically(folder.path() / "train/packed.graph.json.zst",
                      CompressZstd(GraphToJson(Backwards("packed", 20))));
  WriteFileAtomically(folder.path() / "train/small.graph.json", GraphToJson(Backwards("small", 19)));
  WriteFileAtomically(folder.path() / "train/large.graph.json", GraphToJson(Backwards("large", 21)));
  const Corpus corpus(folder.path(), InstancePart::kTrain, 20, 20);
  EXPECT_EQ(corpus.size(), 2u);  // The small one and the large one are left out.
  EXPECT_EQ(Corpus(folder.path(), InstancePart::kTest, 20, 20).size(), 0u);
  EXPECT_EQ(Corpus("", InstancePart::kTrain, 20, 20).size(), 0u);

  Rng rng(1);
  bool seen_x = false;
  bool seen_y = false;
  for (int i = 0; i < 20; ++i) {
    const Corpus::Draw draw = corpus.DrawOps(rng);
    EXPECT_TRUE(draw.name == "net" || draw.name == "packed");
    ASSERT_EQ(draw.ops.size(), 20u);
    EXPECT_EQ(draw.ops.front().name, "op19");
    for (OpIndex op = 1; op < 20; ++op) EXPECT_EQ(draw.ops[static_cast<size_t>(op)].inputs.at(0).producer, op - 1);
    const double cost = *draw.ops.front().cost.On("");
    (cost == 20 ? seen_x : seen_y) = true;
    EXPECT_TRUE(cost == 20 || cost == 7) << cost;
  }
  EXPECT_TRUE(seen_x && seen_y);
}

TEST(Corpus, RefusesReservedArchitecturesForTrainingAlone) {
  const TempFolder folder;
  for (const char* part : {"train", "test"}) {
    MakeFolder(folder.path() / part);
    WriteFileAtomically(folder.path() / part / "resnet18.graph.json", GraphToJson(Backwards("net", 20)));
  }
  EXPECT_EQ(Corpus(folder.path(), InstancePart::kTest, 1, 100).size(), 1u);
  EXPECT_THAT(BadInputOf([&] { Corpus(folder.path(), InstancePart::kTrain, 1, 100); }, folder.path()),
              HasSubstr("training may not see"));
  EXPECT_THAT(BadInputOf([&] { Corpus(folder.path() / "none", InstancePart::kTrain, 1, 100); }),
              HasSubstr("no folder"));
}

TEST(Corpus, ReservesPlainBertButNotItsSuccessors) {
  for (const char* name : {"bert_base_training", "transformers_bert_mb4", "wide_ResNet50_2", "seresnet50", "vgg16_bn",
                           "googlenet_inception", "gnmt_training", "ShuffleNet_v2"}) {
    EXPECT_TRUE(IsReserved(name)) << name;
  }
  for (const char* name : {"transformers_distilbert_mb4", "roberta", "albert", "convnext_tiny", "regnet_y_8gf"}) {
    EXPECT_FALSE(IsReserved(name)) << name;
  }
}

}  // namespace
}  // namespace emplace
