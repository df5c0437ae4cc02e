#include "common/files/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "common/error.h"
#include "common/rng.h"
#include "tests/support/bad_input.h"

namespace emplace {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

// A file with this header and data, correct or not.
std::string FileOf(const std::string& header, const std::string& data) {
  const uint64_t length = header.size();
  std::string bytes(sizeof(length), '\0');
  std::memcpy(bytes.data(), &length, sizeof(length));
  return bytes + header + data;
}

std::string SafetensorsError(const std::string& bytes) {
  return BadInputOf([&] { ParseSafetensors(bytes, "x.safetensors"); }, "x.safetensors: ");
}

SafetensorsFile MixedFile() {
  const std::vector<uint8_t> bytes = {1, 2, 3};
  const std::vector<float> floats = {1.5F, -2.0F, 0.0F, 4.0F, 5.0F, 6.0F};
  const std::vector<uint64_t> wide = {~uint64_t{0}, 7};
  const std::vector<int32_t> single = {-9};
  SafetensorsFile file;
  file.metadata = {{"format", "test"}, {"note", "quotes \" and \n lines"}};
  file.tensors.push_back(SafetensorsTensor::Of<uint8_t>("bytes", {3}, bytes));
  file.tensors.push_back(SafetensorsTensor::Of<float>("floats", {2, 3}, floats));
  file.tensors.push_back(SafetensorsTensor::Of<float>("none", {0, 4}, {}));
  file.tensors.push_back(SafetensorsTensor::Of<uint64_t>("wide", {2}, wide));
  file.tensors.push_back(SafetensorsTensor::Of<int32_t>("scalar", {}, single));
  return file;
}

TEST(Safetensors, ReadsBackWhatItWrote) {
  const SafetensorsFile file = MixedFile();
  const SafetensorsFile back = ParseSafetensors(SerializeSafetensors(file), "x");
  EXPECT_EQ(back.metadata, file.metadata);
  ASSERT_EQ(back.tensors.size(), file.tensors.size());
  for (const SafetensorsTensor& tensor : file.tensors) {
    const SafetensorsTensor& same = back.Get(tensor.name, "x");
    EXPECT_EQ(same.dtype, tensor.dtype);
    EXPECT_EQ(same.shape, tensor.shape);
    EXPECT_EQ(same.bytes, tensor.bytes);
  }
  EXPECT_EQ(back.Get("wide", "x").Values<uint64_t>("x"), (std::vector<uint64_t>{~uint64_t{0}, 7}));
  EXPECT_EQ(back.Get("scalar", "x").Values<int32_t>("x"), std::vector<int32_t>{-9});
  EXPECT_TRUE(back.Get("none", "x").Values<float>("x").empty());
}

TEST(Safetensors, WritesTheDocumentedBytes) {
  const std::vector<float> values = {1.0F};
  SafetensorsFile file;
  file.tensors.push_back(SafetensorsTensor::Of<float>("a", {1}, values));
  // 54 characters of JSON and two spaces make 56; 1.0F is 00 00 80 3f.
  const std::string header = R"({"a":{"data_offsets":[0,4],"dtype":"F32","shape":[1]}})";
  EXPECT_EQ(SerializeSafetensors(file), FileOf(header + "  ", std::string("\x00\x00\x80\x3f", 4)));
}

TEST(Safetensors, AlignsHeaderAndTensors) {
  const std::string bytes = SerializeSafetensors(MixedFile());
  uint64_t length = 0;
  std::memcpy(&length, bytes.data(), sizeof(length));
  EXPECT_EQ(length % 8, 0U);
  // Widest elements first, then the order given.
  std::vector<std::string> order;
  for (const SafetensorsTensor& tensor : ParseSafetensors(bytes, "x").tensors) {
    if (!tensor.bytes.empty()) order.push_back(tensor.name);
  }
  EXPECT_EQ(order, (std::vector<std::string>{"wide", "floats", "scalar", "bytes"}));
}

TEST(Safetensors, RefusesWhatIsNoSuchFile) {
  EXPECT_THAT(SafetensorsError(""), HasSubstr("not a safetensors file"));
  EXPECT_THAT(SafetensorsError("#!/bin/sh\necho hello\n"), HasSubstr("not a safetensors file"));
  EXPECT_THAT(SafetensorsError(FileOf("{", "")), HasSubstr("not valid JSON"));
  EXPECT_THAT(SafetensorsError(FileOf("[1]", "")), HasSubstr("expected an object"));
  EXPECT_THAT(SafetensorsError(FileOf("{\"a\":\"\xff\"}", "")), HasSubstr("not valid JSON"));
  EXPECT_THAT(SafetensorsError(FileOf(std::string(100'000, '['), "")), HasSubstr("not valid JSON"));
}

TEST(Safetensors, RefusesDamagedHeaders) {
  const std::string four(4, '\0');
  const auto with = [&](const std::string& entry) { return SafetensorsError(FileOf("{\"a\":" + entry + "}", four)); };
  EXPECT_THAT(with(R"({"dtype":"F32","shape":[1],"data_offsets":[0,4]})"), "");
  EXPECT_THAT(with(R"(5)"), HasSubstr("expected an object of dtype"));
  EXPECT_THAT(with(R"({"dtype":"F32","shape":[1]})"), HasSubstr("expected an object of dtype"));
  EXPECT_THAT(with(R"({"dtype":"F31","shape":[1],"data_offsets":[0,4]})"), HasSubstr("unknown dtype"));
  EXPECT_THAT(with(R"({"dtype":"F32","shape":[-1],"data_offsets":[0,4]})"), HasSubstr("extent"));
  EXPECT_THAT(with(R"({"dtype":"F32","shape":[1.0],"data_offsets":[0,4]})"), HasSubstr("extent"));
  EXPECT_THAT(with(R"({"dtype":"F32","shape":1,"data_offsets":[0,4]})"), HasSubstr("shape is not a list"));
  EXPECT_THAT(with(R"({"dtype":"F32","shape":[2],"data_offsets":[0,4]})"), HasSubstr("expected 8 for its shape"));
  EXPECT_THAT(with(R"({"dtype":"F32","shape":[1],"data_offsets":[4,0]})"), HasSubstr("begin offset"));
  EXPECT_THAT(with(R"({"dtype":"F32","shape":[1],"data_offsets":[0,4,8]})"), HasSubstr("list of two"));
  EXPECT_THAT(with(R"({"dtype":"F32","shape":[2],"data_offsets":[0,8]})"), HasSubstr("truncated"));
  // 2^62 floats have 2^64 bytes, which is 0 in 64 bits.
  EXPECT_THAT(with(R"({"dtype":"F32","shape":[4611686018427387904],"data_offsets":[0,0]})"), HasSubstr("2^64"));
}

TEST(Safetensors, RefusesGapsOverlapsAndRepeats) {
  const auto entry = [](const std::string& name, int begin, int end) {
    return "\"" + name + "\":{\"dtype\":\"U8\",\"shape\":[" + std::to_string(end - begin) + "],\"data_offsets\":[" +
           std::to_string(begin) + "," + std::to_string(end) + "]}";
  };
  const auto with = [&](const std::string& entries) {
    return SafetensorsError(FileOf("{" + entries + "}", std::string(8, 'x')));
  };
  EXPECT_THAT(with(entry("a", 4, 8) + "," + entry("b", 0, 4)), "");
  EXPECT_THAT(with(entry("a", 0, 4) + "," + entry("b", 5, 8)), HasSubstr("starts at byte 5 of the data, expected 4"));
  EXPECT_THAT(with(entry("a", 0, 5) + "," + entry("b", 4, 8)), HasSubstr("starts at byte 4 of the data, expected 5"));
  EXPECT_THAT(with(entry("a", 0, 4)), HasSubstr("4 bytes follow the last tensor"));
  EXPECT_THAT(with(entry("a", 0, 4) + "," + entry("a", 4, 8)), HasSubstr("twice"));
  EXPECT_THAT(with("\"__metadata__\":{\"k\":1}," + entry("a", 0, 8)), HasSubstr("not an object of strings"));
}

TEST(Safetensors, NamesTheTensorThatLacksOrHasAnotherType) {
  const SafetensorsFile file = MixedFile();
  EXPECT_THROW(file.Get("absent", "x"), Error);
  EXPECT_EQ(file.Find("absent"), nullptr);
  EXPECT_EQ(file.Find("floats"), &file.Get("floats", "x"));
  try {
    file.Get("floats", "x").Values<double>("x");
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "x: tensor \"floats\": dtype is F32, expected F64");
  }
}

TEST(Safetensors, SurvivesRandomDamage) {
  const std::string good = SerializeSafetensors(MixedFile());
  Rng rng(7);
  for (int trial = 0; trial < 5000; ++trial) {
    std::string bad = good;
    for (int64_t flips = rng.UniformInt(1, 3); flips > 0; --flips) {
      char& byte = bad[static_cast<size_t>(rng.UniformInt(0, std::ssize(bad) - 1))];
      byte = static_cast<char>(rng.UniformInt(0, 255));
    }
    if (rng.Uniform() < 0.3) bad.resize(static_cast<size_t>(rng.UniformInt(0, std::ssize(bad))));
    SafetensorsError(bad);  // Any error but BadInput of one line fails there.
  }
}

}  // namespace
}  // namespace emplace
