// Functions for shapes, FLOPs and bytes that several rows of the op table share, and the tables that op_table.cc joins.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "simulator/families/program/op_table.h"

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

// Norms of (x, affine), in programs that can be run: one op of this type computes, from (gradient, x, affine, mean,
// 1 / deviation), the gradients of x, the weight [C] and the bias [C], and a second one joins the latter two.
void GiveNorm(GradientSink& sink, const std::string& type);
// The row of such a type. The gradient and x are read twice: for the sums, and for the elements.
OpRule NormGradientRow(const std::string& type, std::function<double(const OpCall&)> flops);

// The backward rule of an activation whose gradient op, of this type, reads (gradient, output).
std::function<void(GradientSink&)> FromOutput(const std::string& type);

}  // namespace emplace
