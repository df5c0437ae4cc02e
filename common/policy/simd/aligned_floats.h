// Zeroed floats that start at a cache line, which is the widest register there is.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>

namespace emplace {

class AlignedFloats {
 public:
  // Replaces what there was.
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

}  // namespace emplace
