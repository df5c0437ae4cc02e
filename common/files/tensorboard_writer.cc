#include "common/files/tensorboard_writer.h"

#include <array>
#include <bit>
#include <cstring>

#include "common/error.h"
#include "common/strings.h"

namespace emplace {
namespace {

constexpr std::array<uint32_t, 256> MakeCrcTable() {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82f63b78U : 0U);
    table[i] = crc;
  }
  return table;
}
constexpr std::array<uint32_t, 256> kCrcTable = MakeCrcTable();

// Protobuf wire format: a key is field number << 3 | wire type (0 varint, 1 fixed 64, 2 length-delimited, 5 fixed 32).
void PutVarint(std::string& out, uint64_t value) {
  while (value >= 0x80) {
    out.push_back(static_cast<char>((value & 0x7f) | 0x80));
    value >>= 7;
  }
  out.push_back(static_cast<char>(value));
}

template <typename T>
void PutFixed(std::string& out, T value) {
  std::array<char, sizeof(T)> bytes;
  std::memcpy(bytes.data(), &value, sizeof(T));
  out.append(bytes.data(), bytes.size());
}

void PutDouble(std::string& out, int field, double value) {
  PutVarint(out, static_cast<uint64_t>(field << 3 | 1));
  PutFixed(out, value);
}
void PutFloat(std::string& out, int field, float value) {
  PutVarint(out, static_cast<uint64_t>(field << 3 | 5));
  PutFixed(out, value);
}
void PutInt(std::string& out, int field, int64_t value) {
  PutVarint(out, static_cast<uint64_t>(field << 3));
  PutVarint(out, static_cast<uint64_t>(value));
}
void PutBytes(std::string& out, int field, std::string_view bytes) {
  PutVarint(out, static_cast<uint64_t>(field << 3 | 2));
  PutVarint(out, bytes.size());
  out.append(bytes);
}

}  // namespace

uint32_t MaskedCrc32c(std::string_view bytes) {
  uint32_t crc = 0xffffffffU;
  for (const char c : bytes) crc = kCrcTable[(crc ^ static_cast<unsigned char>(c)) & 0xff] ^ (crc >> 8);
  crc = ~crc;
  return std::rotr(crc, 15) + 0xa282ead8U;
}

TensorboardWriter::TensorboardWriter(const std::filesystem::path& folder, double unix_seconds) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  path_ = folder / StrCat("events.out.tfevents.", static_cast<int64_t>(unix_seconds), ".emplace");
  out_.open(path_, std::ios::binary | std::ios::app);
  if (!out_) throw RunFailed(StrCat(path_.string(), ": cannot be written"));
  std::string event;
  PutDouble(event, 1, unix_seconds);    // wall_time
  PutBytes(event, 3, "brain.Event:2");  // file_version
  WriteRecord(event);
}

void TensorboardWriter::WriteRecord(std::string_view event) {
  std::string length;
  PutFixed(length, static_cast<uint64_t>(event.size()));
  std::string record = length;
  PutFixed(record, MaskedCrc32c(length));
  record.append(event);
  PutFixed(record, MaskedCrc32c(event));
  out_.write(record.data(), static_cast<std::streamsize>(record.size()));
}

void TensorboardWriter::Scalar(const std::string& tag, double value, int64_t step, double unix_seconds) {
  std::string scalar;
  PutBytes(scalar, 1, tag);                        // Summary.Value.tag
  PutFloat(scalar, 2, static_cast<float>(value));  // Summary.Value.simple_value
  std::string summary;
  PutBytes(summary, 1, scalar);  // Summary.value
  std::string event;
  PutDouble(event, 1, unix_seconds);  // Event.wall_time
  PutInt(event, 2, step);             // Event.step
  PutBytes(event, 5, summary);        // Event.summary
  WriteRecord(event);
}

void TensorboardWriter::Flush() {
  out_.flush();
  if (!out_) throw RunFailed(StrCat(path_.string(), ": cannot be written"));
}

}  // namespace emplace
