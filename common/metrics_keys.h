// The names of the numbers in a run's metrics.jsonl that somebody besides the learner reads, in one place for the
// learner, which writes them, and for `emplace report`. docs/training.md says what each number means.
#pragma once

#include <array>
#include <string>

namespace emplace::metrics {

// Kinds of lines.
inline constexpr char kUpdate[] = "update";
inline constexpr char kEvaluation[] = "evaluation";

// Of a line of either kind: the number of updates before it, and seconds of training.
inline constexpr char kUpdates[] = "update";
inline constexpr char kSeconds[] = "seconds";

// Of an update.
inline constexpr char kMeanRatio[] = "mean_ratio";
inline constexpr char kBestRatio[] = "best_ratio";
// Of runs with hardware actors alone:
inline constexpr char kMeasuredEpisodes[] = "measured_episodes";
inline constexpr char kMeasuredAgain[] = "measured_again";
inline constexpr char kMeasuredRatio[] = "measured_ratio";
inline constexpr char kWindowSeconds[] = "window_s";
inline constexpr char kMinLag[] = "min_lag";
inline constexpr char kMeanLag[] = "mean_lag";
inline constexpr char kMaxLag[] = "max_lag";
inline constexpr char kEpisodes[] = "episodes";
inline constexpr char kSteps[] = "steps";
inline constexpr char kBlockedSeconds[] = "blocked_s";

// Of an evaluation.
inline constexpr char kValidationRatio[] = "validation_ratio";
inline constexpr char kTestRatio[] = "test_ratio";

// The stages of the learner's pipeline, in the order in which an episode passes through them.
inline constexpr std::array<const char*, 6> kStages = {"receive", "check", "batch", "update", "publish", "evaluate"};
// Of an update: seconds for which a stage has worked since the update before.
inline std::string BusySeconds(const std::string& stage) { return stage + "_busy_s"; }

}  // namespace emplace::metrics
