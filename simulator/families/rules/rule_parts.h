// Functions for shapes, FLOPs and bytes that several rows of the op table share, and the tables that op_table.cc joins.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "simulator/families/op_table.h"

namespace emplace {

std::vector<OpRule> AttentionRules();    // Masked scores, layer norm.
std::vector<OpRule> ConvolutionRules();  // Convolutions, batch norm, pools.
std::vector<OpRule> ElementwiseRules();
std::vector<OpRule> LayoutRules();  // Cat, stack, pad, permute, embedding; parameters and inputs.
std::vector<OpRule> LossRules();    // Softmax and cross entropy; updates of parameters.
std::vector<OpRule> MatrixRules();

// Shapes.
Shape SameAs0(const OpCall& call);
Shape GivenShape(const OpCall& call);  // attributes.shape

// FLOPs.
double NoFlops(const OpCall& call);
// Elements of the output, or of the first input for an update, which has no output.
double Elements(const OpCall& call);
template <int kEach>
double PerElement(const OpCall& call) {
  return kEach * Elements(call);
}
// kEach FLOPs for every element of the first input.
template <int kEach>
double PerInputElement(const OpCall& call) {
  return kEach * static_cast<double>(NumElements(call.input(0).shape));
}

// Bytes.
int64_t NoBytes(const OpCall& call);
int64_t OutputBytes(const OpCall& call);
int64_t AllBytes(const OpCall& call);  // Every input is read once, and the output is written.

// The backward rule of an activation whose gradient op, of this type, reads (gradient, output).
std::function<void(GradientSink&)> FromOutput(const std::string& type);

}  // namespace emplace
