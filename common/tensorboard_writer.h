// Scalars as an event file that TensorBoard opens. The format is TFRecord framing around protobuf Event messages
// (tensorflow/core/util/event.proto, tensorflow/core/lib/io/record_writer.h), of which scalars need a handful of
// fields: written by hand here, so that no protobuf is needed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace emplace {

// CRC-32C (Castagnoli), as TFRecord masks it.
uint32_t MaskedCrc32c(std::string_view bytes);

// Not thread-safe.
class TensorboardWriter {
 public:
  // Starts events.out.tfevents.<unix_seconds>.emplace in `folder`, made if need be. Throws RunFailed.
  TensorboardWriter(const std::filesystem::path& folder, double unix_seconds);
  void Scalar(const std::string& tag, double value, int64_t step, double unix_seconds);
  void Flush();

 private:
  void WriteRecord(std::string_view event);

  std::filesystem::path path_;
  std::ofstream out_;
};

}  // namespace emplace
