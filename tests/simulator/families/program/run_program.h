// Runs a tensor program on real numbers with LibTorch, op by op, so that what its rules claim can be compared with what
// LibTorch computes.
#pragma once

#include <torch/types.h>

#include <map>
#include <vector>

#include "simulator/families/program/tensor_program.h"

namespace emplace {

// given: the value of every parameter and input, by its OpName. Returns the value of every tensor, by id; an op whose
// output differs from the program in its shape fails the test. Updates are skipped. Values keep LibTorch's own graph,
// so that autograd can differentiate the forward part.
std::vector<torch::Tensor> RunProgram(const TensorProgram& program, const std::map<std::string, torch::Tensor>& given);

}  // namespace emplace
