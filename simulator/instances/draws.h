// Random numbers over several decades. They are made of products and square roots alone, which every machine rounds
// alike; logarithms and exponentials differ between libraries of mathematics.
#pragma once

#include <cstdint>

#include "common/rng.h"

namespace emplace {

// base^exponent. REQUIRES: base > 0. Exact to about seven digits.
double Power(double base, double exponent);

// [low, high), its logarithm uniform. REQUIRES: 0 < low <= high.
double LogUniform(Rng& rng, double low, double high);
// low..high, both included, likewise. REQUIRES: 1 <= low <= high.
int64_t LogUniformInt(Rng& rng, int64_t low, int64_t high);
// e^(sigma z) where z has mean 0 and variance 1, is nearly normal, and is between -6 and 6.
double LogNormal(Rng& rng, double sigma);
bool Chance(Rng& rng, double probability);

// A number of micro-batches from 1 to 8, small enough for a graph of so many ops: half of the time 1.
int32_t DrawMicrobatches(Rng& rng, int32_t ops);

}  // namespace emplace
