// Layers that convolutional workloads share, on images [N, C, H, W].
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "simulator/families/program/tensor_program.h"

namespace emplace {

using Size2 = std::array<int64_t, 2>;  // Height, width.

// What a cell reads (Zoph et al. 2018): the output of the cell before, and of the one before that; -1: there is none.
struct CellInputs {
  TensorId previous = -1;
  TensorId before = -1;
};

// Adds layers to a program. Ops and parameters are named "<name>/<part>". REQUIRES: the program outlives the object.
class ConvLayers {
 public:
  explicit ConvLayers(TensorProgram& program) : p_(program) {}

  // Convolutions have no bias, because batch norm follows. Unless it is given, the padding keeps the size at stride 1.
  TensorId Convolution(const std::string& name, TensorId x, int64_t channels, Size2 kernel, int64_t stride = 1);
  TensorId Convolution(const std::string& name, TensorId x, int64_t channels, Size2 kernel, int64_t stride,
                       Size2 padding);
  TensorId Depthwise(const std::string& name, TensorId x, int64_t kernel, int64_t stride);
  TensorId BatchNorm(const std::string& name, TensorId x);
  TensorId Relu(const std::string& name, TensorId x);
  TensorId AveragePool(const std::string& name, TensorId x, int64_t kernel, int64_t stride, int64_t padding);
  TensorId MaxPool(const std::string& name, TensorId x, int64_t kernel, int64_t stride, int64_t padding);
  TensorId Concatenate(const std::string& name, const std::vector<TensorId>& parts);  // Concatenates channels.
  TensorId Sum(const std::string& name, TensorId a, TensorId b);

  // ReLU, 1x1 convolution, batch norm.
  TensorId Calibrate(const std::string& name, TensorId x, int64_t channels);
  // ReLU, depthwise, pointwise, batch norm, twice; the first with the stride (NASNet; ENAS section 2.3).
  TensorId SeparableTwice(const std::string& name, TensorId x, int64_t channels, int64_t kernel, int64_t stride);
  // Halves the size: 1x1 convolutions of the pixels at even and at odd places, each for half the
  // channels, then batch norm.
  TensorId FactorizedReduction(const std::string& name, TensorId x, int64_t channels);

  // The inputs of a cell, with `channels` channels and of the same size. The first cell has one input only, and reads
  // it as it is in place of the other.
  CellInputs Adjust(const std::string& name, CellInputs inputs, int64_t channels);

  // Average over all pixels, linear layer, cross entropy against labels [N]: a scalar.
  TensorId Classify(const std::string& name, TensorId x, TensorId labels, int64_t classes);

  int64_t channels(TensorId x) const { return p_.tensor(x).shape[1]; }
  int64_t height(TensorId x) const { return p_.tensor(x).shape[2]; }
  TensorProgram& program() const { return p_; }

 private:
  TensorProgram& p_;
};

}  // namespace emplace
