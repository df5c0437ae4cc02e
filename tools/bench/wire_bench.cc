#include "tools/bench/wire_bench.h"

#include <memory>

#include "common/error.h"
#include "common/wire/messages/trajectory_codec.h"
#include "policy/policy_weights.h"
#include "tools/bench/harness/inputs.h"

namespace emplace::bench {
namespace {

std::vector<FrameView> Views(const std::vector<Frame>& frames) {
  std::vector<FrameView> views;
  for (const Frame& frame : frames) views.emplace_back(reinterpret_cast<const uint8_t*>(frame.data()), frame.size());
  return views;
}

double BytesOf(const std::vector<Frame>& frames) {
  double bytes = 0;
  for (const Frame& frame : frames) bytes += static_cast<double>(frame.size());
  return bytes;
}

}  // namespace

std::vector<Figure> WireFigures(const Effort& effort) {
  constexpr int kRounds = 200;
  const std::vector<PlacementTask> tasks = FamilyTasks("ptb", 1, "k80x2");
  const auto weights = std::make_shared<const PolicyWeights>(InitialWeights(tasks[0].groups.num_devices));
  const std::vector<Trajectory> episodes = PlayEpisodes(tasks, weights, 16);
  std::vector<double> bytes_per_step;
  double bytes = 0;
  for (const Trajectory& episode : episodes) {
    EMPLACE_CHECK(episode.actions.size() == 128);
    bytes += BytesOf(Encode(episode));
    bytes_per_step.push_back(BytesOf(Encode(episode)) / 128);
  }
  const std::vector<double> seconds = Repeat(effort.Repetitions(40), [&] {
    return Seconds([&] {
      for (int round = 0; round < kRounds; ++round) {
        for (const Trajectory& episode : episodes) {
          const std::vector<Frame> frames = Encode(episode);
          EMPLACE_CHECK(DecodeTrajectory(Views(frames)).has_value());
        }
      }
    });
  });
  const auto megabytes_per_s = [&](double s) { return 1e-6 * kRounds * bytes / s; };
  return {Summarize("trajectory_bytes_per_step", "B", bytes_per_step),
          Summarize("codec_MB_per_s", "MB/s", Map(seconds, megabytes_per_s))};
}

}  // namespace emplace::bench
