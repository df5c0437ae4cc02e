// Safetensors files.
#include "common/files/safetensors.h"
#include "tests/fuzz/fuzz_target.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace emplace;
  const auto file = Accepted([&] { return ParseSafetensors(InputText(data, size), "file"); });
  if (!file) return 0;
  const std::string written = SerializeSafetensors(*file);
  const SafetensorsFile again = ParseSafetensors(written, "written");
  EMPLACE_CHECK(SerializeSafetensors(again) == written);
  EMPLACE_CHECK(again.metadata == file->metadata && again.tensors.size() == file->tensors.size());
  for (const SafetensorsTensor& tensor : file->tensors) {
    const SafetensorsTensor& other = again.Get(tensor.name, "written");
    EMPLACE_CHECK(other.dtype == tensor.dtype && other.shape == tensor.shape && other.bytes == tensor.bytes);
    Accepted([&] { return tensor.Values<float>("file"); });
    Accepted([&] { return tensor.Values<uint64_t>("file"); });
  }
  return 0;
}
