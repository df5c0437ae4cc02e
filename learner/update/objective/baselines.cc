#include "learner/update/objective/baselines.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "common/error.h"
#include "common/strings.h"

namespace emplace {
namespace {

using SavedWindows = std::vector<std::vector<float>>;  // [graphs][episodes * n]

// what: names the returns in the error.
void CheckSizes(const SavedWindows& saved, const std::vector<int32_t>& steps, const std::string& what) {
  if (saved.size() != steps.size()) {
    throw BadInput(StrCat(what, " of ", saved.size(), " graphs, expected ", steps.size()));
  }
  for (size_t graph = 0; graph < saved.size(); ++graph) {
    const auto n = static_cast<size_t>(steps[graph]);
    if (n == 0 ? !saved[graph].empty() : saved[graph].size() % n != 0) {
      throw BadInput(
          StrCat(what, " of graph ", graph, " have ", saved[graph].size(), " entries, expected a multiple of ", n));
    }
  }
}

template <typename Windows>
SavedWindows Joined(const Windows& windows) {
  SavedWindows saved(windows.size());
  for (size_t graph = 0; graph < windows.size(); ++graph) {
    for (const std::vector<float>& episode : windows[graph]) {
      saved[graph].insert(saved[graph].end(), episode.begin(), episode.end());
    }
  }
  return saved;
}

template <typename Windows>
void Divide(const SavedWindows& saved, const std::vector<int32_t>& steps, Windows& windows) {
  for (size_t graph = 0; graph < saved.size(); ++graph) {
    const auto n = static_cast<std::ptrdiff_t>(steps[graph]);
    windows[graph].clear();
    for (auto at = saved[graph].begin(); at != saved[graph].end(); at += n) {
      windows[graph].emplace_back(at, at + n);
    }
  }
}

}  // namespace

std::vector<float> ReturnsToGo(const Trajectory& trajectory, double discount) {
  // What only its end is rewarded for counts as one step from 0.
  if (trajectory.rho.size() == 1) return {-trajectory.rho.front()};
  std::vector<float> returns(trajectory.actions.size());
  double to_go = 0;
  for (size_t t = returns.size(); t-- > 0;) {
    to_go = static_cast<double>(trajectory.rho[t]) - static_cast<double>(trajectory.rho[t + 1]) + discount * to_go;
    returns[t] = static_cast<float>(to_go);
  }
  return returns;
}

Baselines::Baselines(size_t graphs, BaselineKind kind, int64_t window, double discount)
    : kind_(kind),
      window_(kind == BaselineKind::kGraph ? window : 0),
      discount_(discount),
      simulated_(graphs),
      measured_(graphs) {}

Baselines::Window& Baselines::WindowOf(const Trajectory& episode) {
  return (episode.claim == Claim::kMeasured ? measured_ : simulated_)[episode.graph];
}

std::vector<std::vector<float>> Baselines::AdvantagesThenAdd(const std::vector<Trajectory>& batch) {
  // What is compared with one another: episodes with a graph and a claim, or with a graph, a claim and a start.
  struct Sum {
    std::vector<double> returns;  // [n]
    double episodes = 0;
    void Add(const std::vector<float>& episode) {
      returns.resize(episode.size());
      for (size_t t = 0; t < episode.size(); ++t) returns[t] += static_cast<double>(episode[t]);
      ++episodes;
    }
  };
  std::map<std::tuple<GraphId, Claim, std::vector<uint8_t>>, Sum> sums;
  const auto sum_of = [&](const Trajectory& episode) -> Sum& {
    return sums[{episode.graph, episode.claim,
                 kind_ == BaselineKind::kBatch ? episode.start_placement : std::vector<uint8_t>()}];
  };
  std::vector<std::vector<float>> returns;
  for (const Trajectory& trajectory : batch) {
    returns.push_back(ReturnsToGo(trajectory, discount_));
    Sum& sum = sum_of(trajectory);
    if (sum.episodes == 0) {
      for (const std::vector<float>& old : WindowOf(trajectory)) sum.Add(old);
    }
    sum.Add(returns.back());
  }

  std::vector<std::vector<float>> advantages;
  for (size_t i = 0; i < batch.size(); ++i) {
    const Sum& sum = sum_of(batch[i]);
    const double others = sum.episodes - 1;
    advantages.emplace_back(returns[i].size(), 0.0F);
    for (size_t t = 0; others > 0 && t < returns[i].size(); ++t) {
      const double own = static_cast<double>(returns[i][t]);
      advantages[i][t] = static_cast<float>(own - (sum.returns[t] - own) / others);
    }
  }
  for (size_t i = 0; i < batch.size(); ++i) {
    // A difference of two finite rhos may overflow; the update is then skipped, and must not spoil the ones after it.
    if (!std::ranges::all_of(returns[i], [](float value) { return std::isfinite(value); })) continue;
    Window& window = WindowOf(batch[i]);
    window.push_back(std::move(returns[i]));
    while (static_cast<int64_t>(window.size()) > window_) window.pop_front();
  }
  return advantages;
}

Baselines::Returns Baselines::Save() const { return {Joined(simulated_), Joined(measured_)}; }

void Baselines::Load(const Returns& saved, const std::vector<int32_t>& steps) {
  EMPLACE_CHECK(steps.size() == simulated_.size());
  CheckSizes(saved.simulated, steps, "baselines");
  CheckSizes(saved.measured, steps, "baselines of measured rewards");
  Divide(saved.simulated, steps, simulated_);
  Divide(saved.measured, steps, measured_);
}

}  // namespace emplace
