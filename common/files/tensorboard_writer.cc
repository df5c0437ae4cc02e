#include "common/files/tensorboard_writer.h"

#include <array>
#include <bit>

#include "common/error.h"
#include "common/files/file_io.h"
#include "common/files/protobuf.h"
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

// A number of a TFRecord, in which all are little-endian.
template <typename T>
void AppendNumber(T value, std::string& out) {
  out.append(reinterpret_cast<const char*>(&value), sizeof(T));
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
  if (!out_) throw WriteError(path_);
  std::string event;
  AppendFixed(1, unix_seconds, event);     // wall_time
  AppendBytes(3, "brain.Event:2", event);  // file_version
  WriteRecord(event);
}

void TensorboardWriter::WriteRecord(std::string_view event) {
  std::string length;
  AppendNumber(static_cast<uint64_t>(event.size()), length);
  std::string record = length;
  AppendNumber(MaskedCrc32c(length), record);
  record.append(event);
  AppendNumber(MaskedCrc32c(event), record);
  out_.write(record.data(), static_cast<std::streamsize>(record.size()));
}

void TensorboardWriter::Scalar(const std::string& tag, double value, int64_t step, double unix_seconds) {
  std::string scalar;
  AppendBytes(1, tag, scalar);                        // Summary.Value.tag
  AppendFixed(2, static_cast<float>(value), scalar);  // Summary.Value.simple_value
  std::string summary;
  AppendBytes(1, scalar, summary);  // Summary.value
  std::string event;
  AppendFixed(1, unix_seconds, event);  // Event.wall_time
  AppendInt(2, step, event);            // Event.step
  AppendBytes(5, summary, event);       // Event.summary
  WriteRecord(event);
}

void TensorboardWriter::Flush() {
  out_.flush();
  if (!out_) throw WriteError(path_);
}

}  // namespace emplace
