#include "simulator/methods/stages/divide.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace emplace {
namespace {

constexpr double kNone = std::numeric_limits<double>::infinity();

struct Value {
  double first = kNone;
  double second = kNone;

  bool operator<(const Value& other) const {
    return first < other.first || (first == other.first && second < other.second);
  }
};

// The best division of the first blocks: its value, where its last stage begins, and the step before that.
struct PartialDivision {
  Value value;
  int32_t begin = -1;
  int32_t before = -1;
};

class RowProgram {
 public:
  RowProgram(const BlockRow& row, const DeviceSteps& order, const StageBytes& bytes, DivideBy by)
      : row_(row), order_(order), bytes_(bytes), by_(by), width_(static_cast<size_t>(row.num_blocks()) + 1) {
    entries_.resize(order.steps.size() * width_);
  }

  std::vector<std::optional<Divided>> Run(const StopSignal& stop) {
    std::vector<std::optional<Divided>> best;
    for (size_t step = 0; step < order_.steps.size() && !stop.Now(); ++step) {
      Extend(step);
      const Value& whole = At(step, row_.num_blocks()).value;
      const auto stages = static_cast<size_t>(order_.steps[step].stages);
      best.resize(std::max(best.size(), stages));
      std::optional<Divided>& known = best[stages - 1];
      if (!(whole.first < kNone) || (known && !(whole < Value{known->value, known->next}))) continue;
      known = {Trace(step), whole.first, whole.second};
    }
    return best;
  }

 private:
  PartialDivision& At(size_t step, int32_t end) { return entries_[step * width_ + static_cast<size_t>(end)]; }

  // The best of what may come before a stage that begins here, with the crossing to it.
  PartialDivision Before(const DeviceSteps::Step& step, int32_t begin) {
    PartialDivision best;
    if (step.first && begin == 0) best.value = {0, 0};
    for (const int32_t before : step.before) {
      Value value = At(static_cast<size_t>(before), begin).value;
      if (!(value.first < kNone)) continue;
      if (by_ == DivideBy::kLatency) {
        value.first += row_.CrossingUs(order_.steps[static_cast<size_t>(before)].device, step.device, begin);
      }
      if (value < best.value) best = {value, -1, before};
    }
    return best;
  }

  void Extend(size_t step) {
    const DeviceSteps::Step& at = order_.steps[step];
    for (int32_t begin = at.stages - 1; begin < row_.num_blocks(); ++begin) {
      const PartialDivision before = Before(at, begin);
      if (!(before.value.first < kNone)) continue;
      for (int32_t end = begin + 1; end <= row_.num_blocks(); ++end) {
        const Value value = With(before.value, {at.device, begin, end});
        if (!(value.first < kNone)) break;  // More blocks fit no better.
        PartialDivision& entry = At(step, end);
        if (value < entry.value) entry = {value, begin, before.before};
      }
    }
  }

  Value With(const Value& before, const Stage& stage) const {
    const double work_us = row_.WorkUs(stage);
    const auto over = static_cast<double>(std::max<int64_t>(
        0, bytes_.Of(stage.begin, stage.end) - row_.task().sim.memory_bytes[static_cast<size_t>(stage.device)]));
    if (!(work_us < kNone) || (over > 0 && by_ != DivideBy::kBytesOver)) return {};
    switch (by_) {
      case DivideBy::kLatency:
        return {before.first + work_us, std::max(before.second, work_us)};
      case DivideBy::kThroughput:
        return {std::max(before.first, work_us + row_.TransfersUs(stage.begin, stage.end)), before.second + work_us};
      case DivideBy::kBytesOver:
        return {before.first + over, std::max(before.second, work_us)};
    }
    return {};
  }

  Division Trace(size_t step) {
    Division division;
    for (int32_t end = row_.num_blocks(); end > 0;) {
      const PartialDivision& entry = At(step, end);
      division.push_back({order_.steps[step].device, entry.begin, end});
      end = entry.begin;
      step = static_cast<size_t>(entry.before);
    }
    std::reverse(division.begin(), division.end());
    order_.ShareOut(division);
    return division;
  }

  const BlockRow& row_;
  const DeviceSteps& order_;
  const StageBytes& bytes_;
  const DivideBy by_;
  const size_t width_;                    // B + 1
  std::vector<PartialDivision> entries_;  // [steps * (B + 1)] by the end of the step's stage
};

}  // namespace

StageBytes::StageBytes(const BlockRow& row) : row_(row) {
  const int32_t blocks = row.num_blocks();
  bytes_.resize((static_cast<size_t>(blocks) + 1) * (static_cast<size_t>(blocks) + 1));
  for (int32_t begin = 0; begin < blocks; ++begin) {
    for (int32_t end = begin + 1; end <= blocks; ++end) bytes_[At(begin, end)] = row.LeastBytes(begin, end);
  }
}

void StageBytes::Learn(const Stage& stage, int64_t bytes) {
  // Beside its parameters, a block occupies no more than the whole stage does.
  const int64_t beside = bytes - row_.LeastBytes(stage.begin, stage.end);
  std::vector<int64_t> most = {0};  // Sums over the stage's blocks.
  for (int32_t block = stage.begin; block < stage.end; ++block) {
    most.push_back(most.back() +
                   std::min(row_.MostBytes(block, block + 1), row_.LeastBytes(block, block + 1) + beside));
  }
  const auto most_before = [&](int32_t block) { return most[static_cast<size_t>(block - stage.begin)]; };
  for (int32_t begin = 0; begin < stage.end; ++begin) {
    for (int32_t end = std::max(begin, stage.begin) + 1; end <= row_.num_blocks(); ++end) {
      const int32_t from = std::max(begin, stage.begin);
      const int32_t to = std::min(end, stage.end);
      const int64_t lacks = most_before(from) + most.back() - most_before(to);
      const int64_t adds = row_.LeastBytes(begin, from) + row_.LeastBytes(to, end);
      bytes_[At(begin, end)] = std::max(bytes_[At(begin, end)], bytes - lacks + adds);
    }
  }
}

std::vector<std::optional<Divided>> Divide(const BlockRow& row, const DeviceSteps& order, const StageBytes& bytes,
                                           DivideBy by, const StopSignal& stop) {
  return RowProgram(row, order, bytes, by).Run(stop);
}

}  // namespace emplace
