// Positions in PlacetoLayers (placeto_shape.h), for who computes the network layer by layer. The layers of a direction
// or a pool follow each other: f.0 f.1 g.0 g.1, F.0 F.1 G.0 G.1.
#pragma once

#include <cstdint>

namespace emplace {

inline constexpr int32_t kSelf = 0;
inline constexpr int32_t kDirections = 3;  // Forward, backward.
inline constexpr int32_t kPools = 11;      // Ancestors, descendants, neither.
inline constexpr int32_t kClassifier = 23;
inline constexpr int32_t kNumLayers = 26;
inline constexpr int32_t kLayersPerDirection = 4;
inline constexpr int32_t kLayersPerPool = 4;
inline constexpr int32_t kNumPools = 3;

}  // namespace emplace
