// Writes scalars as an event file that TensorBoard opens: protobuf Event messages (tensorflow/core/util/event.proto) in
// TFRecord frames (tensorflow/core/lib/io/record_writer.h). Scalars need only a few fields, which are written by hand,
// so that no protobuf library is needed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace emplace {

// The CRC-32C (Castagnoli) of the bytes, masked as a TFRecord wants it.
uint32_t MaskedCrc32c(std::string_view bytes);

// Not thread-safe.
class TensorboardWriter {
 public:
  // Starts the file events.out.tfevents.<unix_seconds>.emplace in `folder`, which is made if it does not exist. Throws
  // RunFailed when it cannot be written.
  TensorboardWriter(const std::filesystem::path& folder, double unix_seconds);
  void Scalar(const std::string& tag, double value, int64_t step, double unix_seconds);
  void Flush();

 private:
  void WriteRecord(std::string_view event);

  std::filesystem::path path_;
  std::ofstream out_;
};

}  // namespace emplace
