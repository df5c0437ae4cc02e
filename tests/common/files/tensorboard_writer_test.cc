#include "common/files/tensorboard_writer.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <map>
#include <optional>
#include <vector>

#include "common/error.h"
#include "common/files/file_io.h"

namespace emplace {
namespace {

namespace fs = std::filesystem;

// CRC-32C once more, by polynomial division bit by bit, and masked as TFRecord does: rotated right by 15, plus a
// constant.
uint32_t MaskedCrcByBits(const std::string& bytes) {
  uint32_t crc = ~0U;
  for (const char c : bytes) {
    crc ^= static_cast<uint8_t>(c);
    for (int bit = 0; bit < 8; ++bit) crc = (crc & 1) != 0 ? (crc >> 1) ^ 0x82F63B78U : crc >> 1;
  }
  crc = ~crc;
  return ((crc >> 15) | (crc << 17)) + 0xA282EAD8U;
}

template <typename T>
T Fixed(const std::string& bytes, size_t at) {
  T value{};
  std::memcpy(&value, bytes.data() + at, sizeof(T));
  return value;
}

// The records of an event file, each checksum verified.
std::vector<std::string> Records(const std::string& file) {
  std::vector<std::string> records;
  size_t at = 0;
  while (at < file.size()) {
    if (file.size() - at < 16) {
      ADD_FAILURE() << "a cut record";
      break;
    }
    const auto length = Fixed<uint64_t>(file, at);
    EXPECT_EQ(Fixed<uint32_t>(file, at + 8), MaskedCrcByBits(file.substr(at, 8)));
    records.push_back(file.substr(at + 12, length));
    EXPECT_EQ(Fixed<uint32_t>(file, at + 12 + length), MaskedCrcByBits(records.back()));
    at += 16 + length;
  }
  EXPECT_EQ(at, file.size());
  return records;
}

// One level of a protobuf message: field number -> raw bytes (varints as 8 bytes).
std::map<uint64_t, std::string> Fields(const std::string& message) {
  std::map<uint64_t, std::string> fields;
  size_t at = 0;
  const auto varint = [&] {
    uint64_t value = 0;
    for (int shift = 0; at < message.size(); shift += 7) {
      const auto byte = static_cast<uint8_t>(message[at++]);
      value |= uint64_t{byte & 0x7fU} << shift;
      if (byte < 0x80) break;
    }
    return value;
  };
  while (at < message.size()) {
    const uint64_t key = varint();
    size_t length = 0;
    switch (key & 7) {
      case 0: {
        const uint64_t value = varint();
        fields[key >> 3] = std::string(reinterpret_cast<const char*>(&value), 8);
        continue;
      }
      case 1:
        length = 8;
        break;
      case 2:
        length = varint();
        break;
      case 5:
        length = 4;
        break;
      default:
        ADD_FAILURE() << "wire type " << (key & 7);
        return fields;
    }
    fields[key >> 3] = message.substr(at, length);
    at += length;
  }
  return fields;
}

class TensorboardWriterTest : public testing::Test {
 protected:
  TensorboardWriterTest() : folder_(fs::path(testing::TempDir()) / ("tensorboard_" + std::to_string(::getpid()))) {
    fs::remove_all(folder_);
  }
  ~TensorboardWriterTest() override { fs::remove_all(folder_); }
  const fs::path folder_;
};

TEST(MaskedCrc32c, IsCastagnolis) {
  // RFC 3720, B.4: 32 zero bytes have CRC 0x8a9136aa; "123456789" is the customary check, 0xe3069283.
  const auto mask = [](uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xa282ead8U; };
  EXPECT_EQ(MaskedCrc32c(std::string(32, '\0')), mask(0x8a9136aaU));
  EXPECT_EQ(MaskedCrc32c("123456789"), mask(0xe3069283U));
}

TEST_F(TensorboardWriterTest, TheFileReadsBackFieldByField) {
  struct Point {
    std::string tag;
    double value;
    int64_t step;
    double time;
  };
  const std::vector<Point> points = {
      {"update/loss", -0.25, 0, 1700000000.5},
      {"update/loss", 1e-9, 127, 1700000001},
      {"a tag of more than a hundred and twenty-seven bytes" + std::string(100, '.'), 3.5, 128, 1700000002},
      {"evaluation/test", 0.1, int64_t{1} << 40, 1700000003}};
  {
    TensorboardWriter writer(folder_, 1700000000.25);
    for (const Point& point : points) writer.Scalar(point.tag, point.value, point.step, point.time);
    writer.Flush();
  }
  // TensorBoard looks for "tfevents" in the name.
  const std::vector<std::string> records = Records(ReadFile(folder_ / "events.out.tfevents.1700000000.emplace"));
  ASSERT_EQ(records.size(), points.size() + 1);
  const auto head = Fields(records[0]);
  EXPECT_EQ(Fixed<double>(head.at(1), 0), 1700000000.25);
  EXPECT_EQ(head.at(3), "brain.Event:2");
  for (size_t i = 0; i < points.size(); ++i) {
    const auto event = Fields(records[i + 1]);
    EXPECT_EQ(Fixed<double>(event.at(1), 0), points[i].time);
    EXPECT_EQ(Fixed<int64_t>(event.at(2), 0), points[i].step);
    const auto value = Fields(Fields(event.at(5)).at(1));
    EXPECT_EQ(value.at(1), points[i].tag);
    EXPECT_EQ(Fixed<float>(value.at(2), 0), static_cast<float>(points[i].value));
  }
}

TEST_F(TensorboardWriterTest, AFlushMakesItReadable) {
  TensorboardWriter writer(folder_, 1);
  writer.Scalar("a", 1, 1, 1);
  writer.Flush();
  EXPECT_EQ(Records(ReadFile(folder_ / "events.out.tfevents.1.emplace")).size(), 2U);
}

TEST_F(TensorboardWriterTest, AFolderThatCannotBeMadeIsSaid) {
  WriteFileAtomically(folder_, "in the way");
  try {
    TensorboardWriter writer(folder_, 1);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::kRunFailed);
  }
}

}  // namespace
}  // namespace emplace
