// What makes the next version of the policy from a batch of episodes: by a gradient (policy_updater.h), or by evolution
// (evolution/evolution_updater.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/files/safetensors.h"
#include "common/trajectory.h"
#include "policy/adam.h"
#include "policy/policy_weights.h"

namespace emplace {

// By evolution, some of these have other meanings, and those that have none are 0.
struct UpdateStats {
  double loss = 0;     // By evolution: the mean score of the trials, ln(makespan / one device).
  double entropy = 0;  // Mean over states, in nats.
  double entropy_weight = 0;
  double learning_rate = 0;    // By evolution: the root mean square deviation of a parameter, in its steps.
  double gradient_norm = 0;    // Norm of the gradient before clipping. By evolution: by how far the mean has moved.
  double mean_importance = 0;  // Mean importance weight before clipping; 1 when no trajectory lags.
  // Standard deviation of the advantages before normalization. By evolution: of the candidates' losses.
  double advantage_std = 0;
  int64_t states = 0;  // Number of samples, or trials, learned from.
};

// Everything but the policy that the next update depends on. Checkpoints hold it.
struct UpdaterState {
  AdamState adam;             // Empty by CMA-ES.
  SafetensorsFile objective;  // Tensors by name, of which none begins with "adam.".
};

// Not thread-safe.
class Updater {
 public:
  virtual ~Updater() = default;

  // Makes one update from these episodes and raises the version by one. REQUIRES: each episode's shape has been
  // checked.
  virtual UpdateStats Update(const std::vector<Trajectory>& batch) = 0;
  // The policy that the next update goes on from.
  virtual const PolicyWeights& weights() const = 0;
  // The policy to place with, of the same version: what evaluations judge and a run hands out. Nothing: the one above.
  virtual std::optional<PolicyWeights> Averaged() const { return std::nullopt; }
  virtual const std::string& device() const = 0;  // "cpu" or "cuda:0"

  virtual UpdaterState SaveState() const = 0;
  // Throws BadInput when the state does not fit the policy or the graphs; the updater is of no use then.
  virtual void LoadState(const UpdaterState& state) = 0;
  // Forgets the best episodes that it repeats: on another machine others may be better.
  virtual void ForgetBest() {}
};

}  // namespace emplace
