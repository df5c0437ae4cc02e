// NumPy arrays in and out of C++.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <utility>
#include <vector>

namespace emplace::python {

// A C-contiguous array that the caller has brought to this type and number of dimensions.
template <typename T, size_t dims>
using InputArray = nanobind::ndarray<const T, nanobind::ndim<dims>, nanobind::c_contig, nanobind::device::cpu>;

template <typename T>
using NumpyArray = nanobind::ndarray<nanobind::numpy, T>;

// A new array of this shape with these values, without a copy. REQUIRES: as many values as the shape has elements.
template <typename T>
NumpyArray<T> ToNumpy(std::vector<T> values, std::initializer_list<size_t> shape) {
  auto* const owned = new std::vector<T>(std::move(values));
  nanobind::capsule owner(owned, [](void* pointer) noexcept { delete static_cast<std::vector<T>*>(pointer); });
  return NumpyArray<T>(owned->data(), shape, owner);
}
template <typename T>
NumpyArray<T> ToNumpy(std::vector<T> values) {
  const size_t size = values.size();
  return ToNumpy(std::move(values), {size});
}

}  // namespace emplace::python
