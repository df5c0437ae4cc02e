// Named flat arrays, in which large data such as a placement task is sent. The codec sends each array as a raw frame
// beside one small header. Part of emplace_common; uses no socket.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace emplace {

enum class ArrayType : uint8_t { kUint8, kInt32, kInt64, kUint64, kFloat32, kFloat64 };
size_t SizeOf(ArrayType type);  // Bytes of one element.

struct NamedArray {
  std::string name;
  ArrayType type = ArrayType::kUint8;
  std::vector<uint8_t> bytes;  // Little-endian elements.
};

class ArrayBundle {
 public:
  // T: the C++ type of an ArrayType.
  template <typename T>
  void Put(const std::string& name, std::span<const T> values);
  template <typename T>
  void Put(const std::string& name, const std::vector<T>& values) {
    Put(name, std::span<const T>(values));
  }
  void PutText(const std::string& name, const std::string& text);  // Stored as kUint8.

  // Throw BadInput, which names the array, when it is missing or has another type.
  template <typename T>
  std::vector<T> Get(const std::string& name) const;
  std::string GetText(const std::string& name) const;

  std::vector<NamedArray>& arrays() { return arrays_; }
  const std::vector<NamedArray>& arrays() const { return arrays_; }

 private:
  std::vector<NamedArray> arrays_;
};

}  // namespace emplace
