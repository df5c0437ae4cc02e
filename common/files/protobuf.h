// Protocol buffers (protobuf.dev/programming-guides/encoding): a message is a row of fields, each a number with its
// wire type and a value. These append to an encoded message.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

namespace emplace {

static_assert(std::endian::native == std::endian::little, "protobuf keeps fixed numbers as little-endian bytes");

inline void AppendVarint(uint64_t value, std::string& out) {
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>((value & 0x7F) | 0x80));
  out.push_back(static_cast<char>(value));
}

inline void AppendInt(int field, int64_t value, std::string& out) {
  AppendVarint(static_cast<uint64_t>(field) << 3, out);
  AppendVarint(static_cast<uint64_t>(value), out);
}

// Texts, bytes and messages.
inline void AppendBytes(int field, std::string_view bytes, std::string& out) {
  AppendVarint(static_cast<uint64_t>(field) << 3 | 2, out);
  AppendVarint(bytes.size(), out);
  out.append(bytes);
}

// T: float, double or an integer of 4 or 8 bytes.
template <typename T>
void AppendFixed(int field, T value, std::string& out) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8);
  AppendVarint(static_cast<uint64_t>(field) << 3 | (sizeof(T) == 8 ? 1 : 5), out);
  out.append(reinterpret_cast<const char*>(&value), sizeof(T));
}

}  // namespace emplace
