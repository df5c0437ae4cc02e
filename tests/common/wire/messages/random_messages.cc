#include "tests/common/wire/messages/random_messages.h"

#include <gtest/gtest.h>

namespace emplace {

std::vector<FrameView> Views(const std::vector<Frame>& frames) {
  std::vector<FrameView> views;
  for (const Frame& frame : frames) {
    views.emplace_back(reinterpret_cast<const uint8_t*>(frame.data()), frame.size());
  }
  return views;
}

std::string RandomText(Rng& rng, int64_t longest) {
  std::string text(static_cast<size_t>(rng.UniformInt(0, longest)), '\0');
  for (char& c : text) c = static_cast<char>(rng.UniformInt(0, 255));
  return text;
}

ActorKey RandomKey(Rng& rng) { return {static_cast<uint32_t>(rng.Next()), static_cast<uint32_t>(rng.Next())}; }

Trajectory RandomTrajectory(Rng& rng, size_t steps) {
  Trajectory trajectory;
  trajectory.graph = static_cast<GraphId>(rng.Next());
  trajectory.actor = RandomKey(rng);
  trajectory.sequence = rng.Next();
  trajectory.policy_version = rng.Next();
  trajectory.index = static_cast<uint32_t>(rng.Next());
  trajectory.claim = rng.UniformInt(0, 1) == 1 ? Claim::kMeasured : Claim::kSimulated;
  for (size_t t = 0; t < steps; ++t) {
    trajectory.start_placement.push_back(static_cast<uint8_t>(rng.Next()));
    trajectory.actions.push_back(static_cast<uint8_t>(rng.Next()));
    trajectory.behaviour_log_prob.push_back(static_cast<float>(rng.Normal()));
    trajectory.rho.push_back(static_cast<float>(rng.Normal()));
  }
  trajectory.rho.push_back(static_cast<float>(rng.Normal()));
  return trajectory;
}

Welcome RandomWelcome(Rng& rng) {
  Welcome welcome{RandomKey(rng), rng.Next(), rng.Next(), RandomText(rng, 500), RandomText(rng, 30), {}};
  welcome.tasks.resize(static_cast<size_t>(rng.UniformInt(0, 4)));
  for (ArrayBundle& task : welcome.tasks) {
    task.PutText("name", RandomText(rng, 20));
    task.Put("cost", std::vector<double>(static_cast<size_t>(rng.UniformInt(0, 20)), rng.Uniform()));
    task.Put("index", std::vector<int32_t>(static_cast<size_t>(rng.UniformInt(0, 20)), -7));
    task.Put("bytes", std::vector<int64_t>(static_cast<size_t>(rng.UniformInt(0, 20)), -1));
    task.Put("bits", std::vector<uint64_t>(static_cast<size_t>(rng.UniformInt(0, 20)), rng.Next()));
    task.Put("features", std::vector<float>(static_cast<size_t>(rng.UniformInt(0, 20)), 0.5F));
  }
  welcome.machine = RandomText(rng, 5000);
  welcome.graphs.resize(static_cast<size_t>(rng.UniformInt(0, 3)));
  for (std::string& graph : welcome.graphs) graph = RandomText(rng, 9000);
  return welcome;
}

RankData RandomRankData(Rng& rng, RankDataKind kind) {
  RankData data{.kind = kind, .step = rng.Next(), .arrays = {}, .measuring = rng.UniformInt(0, 1) == 1};
  data.arrays.Put("rows", std::vector<float>(static_cast<size_t>(rng.UniformInt(0, 20)), 0.5F));
  data.arrays.Put("losses", std::vector<double>(static_cast<size_t>(rng.UniformInt(0, 20)), rng.Uniform()));
  return data;
}

RankWelcome RandomRankWelcome(Rng& rng) {
  RankWelcome welcome{3, RandomText(rng, 500), {RandomRankData(rng, RankDataKind::kStep).arrays}, {}};
  welcome.state.PutText("policy", RandomText(rng, 100));
  return welcome;
}

void ExpectEqual(const ArrayBundle& a, const ArrayBundle& b) {
  ASSERT_EQ(a.arrays().size(), b.arrays().size());
  for (size_t i = 0; i < a.arrays().size(); ++i) {
    EXPECT_EQ(a.arrays()[i].name, b.arrays()[i].name);
    EXPECT_EQ(a.arrays()[i].type, b.arrays()[i].type);
    EXPECT_EQ(a.arrays()[i].bytes, b.arrays()[i].bytes);
  }
}

}  // namespace emplace
