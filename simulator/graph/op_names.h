// Finds the ops of a graph by name.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "common/ids.h"

namespace emplace {

// A flat table with twice as many slots as names or more: the library's, with a node for each name, waits for memory
// several times in each search. The names must outlive it.
class OpNames {
 public:
  // Gives the next op its name. False, and nothing is done: another op has it.
  bool Add(std::string_view name) {
    if (2 * count_ >= slots_.size()) Grow();
    const size_t hash = std::hash<std::string_view>()(name);
    Slot& slot = slots_[SlotOf(name, hash)];
    if (slot.op) return false;
    slot = {name, hash, static_cast<OpIndex>(count_++)};
    return true;
  }

  std::optional<OpIndex> Find(std::string_view name) const {
    if (slots_.empty()) return std::nullopt;
    return slots_[SlotOf(name, std::hash<std::string_view>()(name))].op;
  }

 private:
  struct Slot {
    std::string_view name;
    size_t hash = 0;
    std::optional<OpIndex> op;  // nullopt: the slot is free.
  };

  // The slot that has the name or could take it.
  size_t SlotOf(std::string_view name, size_t hash) const {
    const size_t mask = slots_.size() - 1;  // Of a power of two.
    size_t at = hash & mask;
    while (slots_[at].op && (slots_[at].hash != hash || slots_[at].name != name)) at = (at + 1) & mask;
    return at;
  }

  void Grow() {
    std::vector<Slot> old(slots_.empty() ? kFirstSlots : 2 * slots_.size());
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.op) slots_[SlotOf(slot.name, slot.hash)] = slot;
    }
  }

  static constexpr size_t kFirstSlots = 64;

  std::vector<Slot> slots_;
  size_t count_ = 0;
};

}  // namespace emplace
