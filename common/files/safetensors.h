// The safetensors file format (github.com/huggingface/safetensors, "Format"): 8 bytes of header length, a JSON header,
// raw little-endian tensors. The reader takes untrusted bytes and is strict: tensors fill the data exactly, without
// gap or overlap, and every size matches its shape and type.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace emplace {

struct SafetensorsTensor {
  std::string name;
  std::string dtype;           // One of the format's names: "F32", "I64", "U64", ...
  std::vector<int64_t> shape;  // An empty shape means one element.
  std::vector<uint8_t> bytes;  // Row-major little-endian elements.

  // T: float, double, int32_t, int64_t, uint64_t or uint8_t. REQUIRES: values.size() is the product of `shape`.
  template <typename T>
  static SafetensorsTensor Of(std::string name, std::vector<int64_t> shape, std::span<const T> values);
  // Throws BadInput "source: tensor 'name': ..." when the dtype is not that of T. `source` names the file or the peer.
  template <typename T>
  std::vector<T> Values(const std::string& source) const;
};

struct SafetensorsFile {
  std::map<std::string, std::string> metadata;
  std::vector<SafetensorsTensor> tensors;  // In the order in which the file lists them.

  const SafetensorsTensor* Find(const std::string& name) const;  // nullptr: there is none.
  // Throws BadInput "source: lacks tensor 'name'".
  const SafetensorsTensor& Get(const std::string& name, const std::string& source) const;
};

// Equal contents give equal bytes. The data starts at a multiple of 8, and tensors of wider elements come first, so
// that each tensor is aligned to its elements; otherwise the order is kept. REQUIRES: the tensors' names differ, and
// none is "__metadata__".
std::string SerializeSafetensors(const SafetensorsFile& file);

// Throws BadInput "source: what is wrong, what was expected".
SafetensorsFile ParseSafetensors(std::string_view bytes, const std::string& source);

}  // namespace emplace
