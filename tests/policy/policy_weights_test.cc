#include "policy/policy_weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <limits>
#include <tuple>

#include "common/error.h"
#include "common/files/file_io.h"
#include "common/files/safetensors.h"
#include "common/strings.h"
#include "policy/placeto/placeto_kind.h"
#include "policy/policy_kinds.h"
#include "tests/policy/sgdp/random_sgdp.h"
#include "tests/support/bad_input.h"
#include "tests/support/random_policy.h"

namespace emplace {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

PolicyWeights SomePolicy() {
  Rng rng(3);
  PolicyWeights weights = RandomPlacetoWeights(PlacetoShape{}, rng);
  weights.version = 1234567890123456789ULL;
  weights.metadata = {{"grouping.max_groups", "128"}, {"environment.start", "random"}};
  return weights;
}

// What ParsePolicy says; empty when it takes the bytes.
std::string PolicyError(const std::string& bytes) {
  return BadInputOf(
      [&] {
        const PolicyWeights weights = ParsePolicy(bytes, "p.safetensors");
        EXPECT_EQ(std::ssize(weights.values), NumParameters(PlacetoShape::Of(weights.shape)));
        EXPECT_TRUE(std::ranges::all_of(weights.values, [](float value) { return std::isfinite(value); }));
      },
      "p.safetensors: ");
}

// What ParsePolicy says to a good policy's file after this change.
std::string ErrorAfter(const std::function<void(SafetensorsFile&)>& change) {
  SafetensorsFile file = ParseSafetensors(SerializePolicy(SomePolicy()), "good");
  change(file);
  return PolicyError(SerializeSafetensors(file));
}

TEST(PolicyWeights, ReadBackEqual) {
  Rng rng(5);
  for (int trial = 0; trial < 30; ++trial) {
    PolicyWeights weights = RandomPlacetoWeights(RandomPlacetoShape(rng), rng);
    weights.metadata["trial"] = std::to_string(trial);
    const PolicyWeights back = ParsePolicy(SerializePolicy(weights), "x");
    EXPECT_EQ(back.shape, weights.shape);
    EXPECT_EQ(back.version, weights.version);
    EXPECT_EQ(back.values, weights.values);
    EXPECT_EQ(back.metadata, weights.metadata);
  }
}

// `meant`: what every policy of the kind did before there was the choice.
void ExpectOlderFileMeans(PolicyWeights weights, const std::string& size, int64_t meant) {
  weights.shape.sizes[size] = 1 - meant;
  SafetensorsFile file = ParseSafetensors(SerializePolicy(weights), "x");
  EXPECT_EQ(file.metadata.at("shape." + size), std::to_string(1 - meant));
  EXPECT_EQ(ParsePolicy(SerializeSafetensors(file), "x").shape.sizes.at(size), 1 - meant);
  file.metadata.erase("shape." + size);
  EXPECT_EQ(ParsePolicy(SerializeSafetensors(file), "x").shape.sizes.at(size), meant);
}

TEST(PolicyWeights, AnOlderFileMeansWhatItMeant) {
  ExpectOlderFileMeans(SomePolicy(), "pooling", 1);
  Rng rng(4);
  ExpectOlderFileMeans(RandomSgdp(/*num_devices=*/3, rng), "graph_norm", 0);
  ExpectOlderFileMeans(RandomSgdp(/*num_devices=*/3, rng), "balanced", 0);
}

// Version 0.1.0 could hide earlier decisions from a policy, and give it bytes in link time.
TEST(PolicyWeights, AChoiceThatIsGoneIsRefusedUnlessItWasTheUsualOne) {
  for (const auto& [key, usual, other] :
       {std::tuple("shape.earlier_decisions", "1", "0"), std::tuple("shape.link_time", "0", "1")}) {
    SafetensorsFile file = ParseSafetensors(SerializePolicy(SomePolicy()), "x");
    EXPECT_EQ(file.metadata.at(key), usual);
    file.metadata.erase(key);
    const PolicyWeights without = ParsePolicy(SerializeSafetensors(file), "x");
    EXPECT_EQ(without.shape, SomePolicy().shape);
    EXPECT_EQ(without.metadata, SomePolicy().metadata);
    for (const char* unusual : {other, "", "01", "true"}) {
      EXPECT_THAT(ErrorAfter([key = key, unusual](SafetensorsFile& changed) { changed.metadata[key] = unusual; }),
                  HasSubstr(StrCat("policy metadata ", key, " is '", unusual, "', expected ", usual, ": policies")));
    }
  }
}

TEST(PolicyWeights, AnOlderFileHasNoStartTimes) {
  SafetensorsFile file = ParseSafetensors(SerializePolicy(SomePolicy()), "x");
  EXPECT_EQ(file.metadata.erase("shape.start_times"), 1U);
  EXPECT_EQ(ParsePolicy(SerializeSafetensors(file), "x").shape, SomePolicy().shape);
  PlacetoShape shape = PlacetoShape::Of(SomePolicy().shape);
  shape.start_times = true;
  Rng rng(5);
  file = ParseSafetensors(SerializePolicy(RandomPlacetoWeights(shape, rng)), "x");
  EXPECT_EQ(PlacetoShape::Of(ParsePolicy(SerializeSafetensors(file), "x").shape), shape);
}

TEST(PolicyWeights, AFileWithoutAKindIsPlaceto) {
  SafetensorsFile file = ParseSafetensors(SerializePolicy(SomePolicy()), "x");
  EXPECT_EQ(file.metadata.at("kind"), "placeto");
  file.metadata.erase("kind");
  EXPECT_EQ(ParsePolicy(SerializeSafetensors(file), "x").shape, SomePolicy().shape);
  file.metadata["kind"] = "oracle";
  EXPECT_THAT(PolicyError(SerializeSafetensors(file)), HasSubstr("a policy of kind 'oracle', expected one of placeto"));
}

TEST(PolicyWeights, FileHasOneTensorAParameter) {
  const PolicyWeights weights = SomePolicy();
  const SafetensorsFile file = ParseSafetensors(SerializePolicy(weights), "x");
  EXPECT_EQ(file.metadata.at("format"), "emplace.policy/1");
  EXPECT_EQ(file.tensors.size(), 52U);
  EXPECT_EQ(file.Get("classifier.0.weight", "x").shape, (std::vector<int64_t>{96, 48}));
  // The first parameter of the flat vector: [out, in] row-major.
  const std::vector<float> first = file.Get("self.0.weight", "x").Values<float>("x");
  EXPECT_TRUE(std::equal(first.begin(), first.end(), weights.values.begin()));
}

TEST(PolicyWeights, InitialIsGlorotUniformWithZeroBiases) {
  const PlacetoShape shape{.num_devices = 4, .message_width = 16};
  const PolicyWeights weights = InitialPlaceto(shape, Rng(11));
  size_t next = 0;
  for (const LayerSpec& layer : PlacetoLayers(shape)) {
    const double limit = std::sqrt(6.0 / (layer.in + layer.out));
    const auto count = static_cast<size_t>(layer.in) * static_cast<size_t>(layer.out);
    double sum = 0;
    double squares = 0;
    for (size_t i = 0; i < count; ++i) {
      const auto value = static_cast<double>(weights.values[next++]);
      EXPECT_LE(std::abs(value), limit);
      sum += value;
      squares += value * value;
    }
    // Mean 0 and variance limit^2 / 3, each within five standard errors (that of u^2 is limit^2 * sqrt(4/45)).
    const double root = std::sqrt(static_cast<double>(count));
    EXPECT_NEAR(sum / static_cast<double>(count), 0, 5 * limit / std::sqrt(3.0) / root) << layer.name;
    EXPECT_NEAR(squares / static_cast<double>(count), limit * limit / 3, 5 * limit * limit * 0.2982 / root)
        << layer.name;
    for (int32_t i = 0; i < layer.out; ++i) EXPECT_EQ(weights.values[next++], 0.0F);
  }
  EXPECT_EQ(next, weights.values.size());
  EXPECT_EQ(InitialPlaceto(shape, Rng(11)).values, weights.values);
  EXPECT_NE(InitialPlaceto(shape, Rng(12)).values, weights.values);
  // The scale is the last layer's alone.
  const std::vector<float> scaled = InitialPlaceto(shape, Rng(11), 0.5).values;
  const LayerSpec last = PlacetoLayers(shape).back();
  const size_t tail = scaled.size() - static_cast<size_t>((last.in + 1) * last.out);
  for (size_t i = 0; i < scaled.size(); ++i)
    EXPECT_EQ(scaled[i], i < tail ? weights.values[i] : 0.5F * weights.values[i]);
}

TEST(PolicyWeights, ErrorsSayWhatIsWrong) {
  EXPECT_EQ(ErrorAfter([](SafetensorsFile&) {}), "");
  EXPECT_THAT(PolicyError("{\"format\": \"emplace.graph/1\", \"ops\": []}"), HasSubstr("not a safetensors file"));
  EXPECT_THAT(ErrorAfter([](SafetensorsFile& file) { file.metadata.erase("format"); }),
              HasSubstr("its metadata has no format, expected emplace.policy/1"));
  EXPECT_THAT(ErrorAfter([](SafetensorsFile& file) { file.metadata["format"] = "pt"; }),
              HasSubstr("expected 'emplace.policy/1'"));
  EXPECT_THAT(ErrorAfter([](SafetensorsFile& file) { file.metadata.erase("version"); }),
              HasSubstr("the metadata lack 'version', expected those of a policy"));
  for (const char* devices : {"", "0", "256", "-1", "2 ", "0x2", "99999999999999999999"}) {
    EXPECT_THAT(ErrorAfter([&](SafetensorsFile& file) { file.metadata["shape.num_devices"] = devices; }),
                HasSubstr("shape.num_devices of the metadata is '" + std::string(devices) +
                          "', expected an integer in 1..255"));
  }
  EXPECT_THAT(ErrorAfter([](SafetensorsFile& file) { file.metadata["shape.pooling"] = "true"; }),
              HasSubstr("shape.pooling of the metadata is 'true', expected an integer in 0..1"));
  EXPECT_THAT(ErrorAfter([](SafetensorsFile& file) { file.metadata["shape.num_devices"] = "3"; }),
              HasSubstr("tensor 'self.0.weight': shape is [6, 6], expected [7, 7]"));
  EXPECT_THAT(ErrorAfter([](SafetensorsFile& file) {
                std::erase_if(file.tensors, [](const auto& tensor) { return tensor.name == "neither.G.1.bias"; });
              }),
              HasSubstr("lacks tensor \"neither.G.1.bias\""));
  EXPECT_THAT(
      ErrorAfter([](SafetensorsFile& file) { file.tensors.push_back(SafetensorsTensor::Of<float>("extra", {0}, {})); }),
      HasSubstr("policy has 53 tensors, expected 52"));
  EXPECT_THAT(ErrorAfter([](SafetensorsFile& file) {
                for (auto& tensor : file.tensors) tensor.dtype = "I32";
              }),
              HasSubstr("dtype is I32, expected F32"));
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    const std::vector<float> bias = {0, 0, bad, 0, 0, 0};
    EXPECT_THAT(ErrorAfter([&](SafetensorsFile& file) {
                  for (auto& tensor : file.tensors) {
                    if (tensor.name == "self.1.bias") tensor = SafetensorsTensor::Of<float>("self.1.bias", {6}, bias);
                  }
                }),
                AllOf(HasSubstr("tensor 'self.1.bias': element 2 is"), HasSubstr("expected finite")));
  }
}

TEST(PolicyWeights, EveryTruncationIsAnError) {
  const std::string good = SerializePolicy(SomePolicy());
  for (size_t size = 0; size < good.size(); size += 100) EXPECT_NE(PolicyError(good.substr(0, size)), "") << size;
  EXPECT_THAT(PolicyError(good.substr(0, good.size() - 1)), HasSubstr("truncated"));
  EXPECT_NE(PolicyError(good + "x"), "");
}

TEST(PolicyWeights, SurviveFlippedBytes) {
  const std::string good = SerializePolicy(SomePolicy());
  Rng rng(13);
  for (int trial = 0; trial < 600; ++trial) {
    std::string bad = good;
    // Half of the damage goes to the header, which is the smaller part.
    const int64_t range = trial % 2 == 0 ? 6000 : std::ssize(bad);
    for (int64_t flips = rng.UniformInt(1, 4); flips > 0; --flips) {
      bad[static_cast<size_t>(rng.UniformInt(0, range - 1))] = static_cast<char>(rng.UniformInt(0, 255));
    }
    PolicyError(bad);  // Checks that it throws BadInput or gives finite weights.
  }
}

TEST(PolicyWeights, LoadNamesTheFile) {
  const std::filesystem::path path = std::filesystem::path(testing::TempDir()) / "policy_weights_test.safetensors";
  WriteFileAtomically(path, SerializePolicy(SomePolicy()));
  EXPECT_EQ(LoadPolicy(path).values, SomePolicy().values);
  std::filesystem::remove(path);
  try {
    LoadPolicy(path);
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), StartsWith(path.string()));
    EXPECT_EQ(error.exit_code(), 2);
  }
}

TEST(PolicyKind, OneWithoutOnnxSaysSo) {
  PolicyWeights of_sgdp;
  of_sgdp.shape.kind = "sgdp";
  EXPECT_THAT(BadInputOf([&] { PolicyToOnnx(of_sgdp); }),
              HasSubstr("a policy of kind sgdp cannot be written as ONNX, expected one of kind placeto"));
}

}  // namespace
}  // namespace emplace
