// What instances are drawn from, and within which limits.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "common/config/field_table.h"

namespace emplace {

// Three parts that share no generator and no architecture.
enum class InstancePart { kTrain, kValidation, kTest };
inline constexpr std::array<InstancePart, 3> kInstanceParts = {InstancePart::kTrain, InstancePart::kValidation,
                                                               InstancePart::kTest};
// That of the three which belongs to the part.
template <typename T>
T OfPart(InstancePart part, T train, T validation, T test) {
  switch (part) {
    case InstancePart::kTrain:
      return train;
    case InstancePart::kValidation:
      return validation;
    case InstancePart::kTest:
      break;
  }
  return test;
}
std::string NameOf(InstancePart part);  // "train", "validation" or "test"
// The part of that name. Throws BadInput.
InstancePart InstancePartNamed(const std::string& name);

struct InstanceConfig {
  int32_t min_ops = 100;
  int32_t max_ops = 2000;
  int32_t min_devices = 2;
  int32_t max_devices = 8;
  std::string corpus = "";    // Folder with the folders train, validation and test of graph files; empty: none.
  double corpus_share = 0.3;  // Of the instances, where the part has graphs in the corpus.
};

FieldTable<InstanceConfig> InstanceFields();

// What is wrong with limits in the wrong order, where `section` stands before each key; nullopt: they are in order.
std::optional<std::string> WhyLimitsCross(const InstanceConfig& config, const std::string& section = "");

// Returns the configuration. Throws BadInput for a value out of its range, and for limits in the wrong order.
const InstanceConfig& Checked(const InstanceConfig& config);

}  // namespace emplace
