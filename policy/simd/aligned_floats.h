// An array of floats that starts at a cache line (64 bytes), as wide as the widest register.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>
#include <span>

namespace emplace {

class AlignedFloats {
 public:
  // Replaces the array by one of `count` zeros.
  void Allocate(size_t count) {
    data_.reset(static_cast<float*>(::operator new(count * sizeof(float), kAlignment)));
    size_ = count;
    Clear();
  }
  void Clear() { std::fill_n(data_.get(), size_, 0.0F); }
  float* data() const { return data_.get(); }
  size_t size() const { return size_; }

 private:
  static constexpr std::align_val_t kAlignment{64};
  struct Free {
    void operator()(float* data) const { ::operator delete(data, kAlignment); }
  };
  std::unique_ptr<float, Free> data_;
  size_t size_ = 0;
};

// A part of one allocation: the pointer to set, and the length.
struct FloatPart {
  float** pointer;
  size_t floats;
};

// Makes one allocation for all parts; each part starts at a cache line.
inline void AllocateParts(std::span<const FloatPart> parts, AlignedFloats& floats) {
  constexpr size_t kLine = 16;
  size_t total = 0;
  for (const FloatPart& part : parts) total += (part.floats + kLine - 1) / kLine * kLine;
  floats.Allocate(total);
  float* next = floats.data();
  for (const FloatPart& part : parts) {
    *part.pointer = next;
    next += (part.floats + kLine - 1) / kLine * kLine;
  }
}

}  // namespace emplace
