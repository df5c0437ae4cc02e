// All that the rest of the program has to know of an architecture: its keys, its sizes, its parameters, what its
// episodes look like, and who acts and learns with it. One object for each kind, in the kind's folder; policy_kinds.h
// lists them. How a policy acts is behind player.h, how it learns behind model.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/config/field_table.h"
#include "common/rng.h"
#include "common/trajectory.h"
#include "policy/config/policy_config.h"
#include "policy/policy_shape.h"
#include "simulator/task/placement_task.h"

namespace emplace {

class Model;
class Player;
struct PlannerParameters;  // simulator/methods/planner_parameters.h
struct PolicyWeights;

// A number of a shape, as policy.safetensors holds it: "shape." + name in its metadata. The range keeps a hostile file
// from asking for absurd work.
struct SizeField {
  std::string name;
  int64_t low = 0;
  int64_t high = 0;
  std::optional<int64_t> if_absent = std::nullopt;  // For files from before it; nullopt: it has to be there.
};

// A size that there no longer is, because one of its values alone was kept. Files of the kind go on saying it, so that
// a policy's bytes stay those that they were, and a file with another value is refused.
struct RetiredSize {
  std::string name;
  int64_t value = 0;  // The one that was kept, and that a file without the size means.
};

// The size of kinds that can make the greedy choices of an episode's first block by balanced_choice.h: 1 if a policy
// does so. Decision i of that block is one of group i.
inline constexpr char kBalanced[] = "balanced";
// Whether the shape has this size, and it is 1.
bool Balances(const PolicyShape& shape);

// A parameter of the network. The flat vector of a policy's parameters holds them one after the other, row-major.
struct ParameterSpec {
  std::string name;
  std::vector<int64_t> shape;
};
size_t NumEntries(const ParameterSpec& parameter);
// Adds the parameters of an affine map, name.weight [out, in] and name.bias [out].
void AddLinear(const std::string& name, int64_t in, int64_t out, std::vector<ParameterSpec>& parameters);

// When an episode is rewarded.
enum class RewardTime {
  kEachDecision,  // Decision t moves group t from where the episode started, and is rewarded by what that changed.
  kEnd,           // Only the placement that all decisions together make is rewarded.
};
const char* ToString(RewardTime time);  // "each_decision" or "end"

class PolicyKind {
 public:
  virtual ~PolicyKind() = default;

  virtual const std::string& name() const = 0;
  // The keys of section `policy` that this kind has beside `kind` and `initial`, over a struct with their defaults.
  virtual const std::vector<ConfigField>& fields() const = 0;
  // The fields' values in a struct with nothing set.
  virtual std::map<std::string, ConfigField::Value> Defaults() const = 0;

  virtual std::vector<SizeField> Sizes() const = 0;
  virtual std::vector<RetiredSize> RetiredSizes() const { return {}; }
  // Throws BadInput "policy.x is ..." for keys that do not go together.
  virtual PolicyShape Shape(const PolicyConfig& config, int32_t num_devices) const = 0;
  virtual std::vector<ParameterSpec> Parameters(const PolicyShape& shape) const = 0;
  // A new policy's parameters, in the order of Parameters.
  virtual std::vector<float> InitialValues(const PolicyShape& shape, const PolicyConfig& config, Rng rng) const = 0;

  // Whether a policy places whole graphs, for any number of devices, in place of deciding for group after group. Then
  // it is a normal distribution over N parameters of a planner (gaussian.h), which evolution trains
  // (training.objective), and has neither players nor models.
  virtual bool plans() const { return false; }
  // The planner with these parameters, [N]. REQUIRES: plans().
  virtual PlannerParameters PlannerOf(std::span<const float> parameters) const;

  // Acting with a policy of this shape, once it is given weights. REQUIRES, as of all that follow: the shape is of this
  // kind, and plans() is false.
  virtual std::unique_ptr<Player> MakePlayer(const PolicyShape& shape) const;
  // Learning on the CPU. `tasks` are those that episodes are of, index = GraphId. REQUIRES: tasks outlive the model.
  virtual std::unique_ptr<Model> MakeModel(const PolicyShape& shape, const std::vector<PlacementTask>& tasks) const;
  // Why no policy of this shape can learn on a GPU of this computer; empty: one can. As it is here, the kind learns on
  // the CPU alone. (Kernels of our own for a GPU, which only the learner links, are listed in models.cc.)
  virtual std::string WhyNoGpu(const PolicyShape& shape) const;
  // Learning on the GPU of this index, as MakeGpuModel in models.h. REQUIRES: WhyNoGpu(shape) is empty.
  virtual std::unique_ptr<Model> MakeGpuModel(const PolicyShape& shape, const std::vector<PlacementTask>& tasks,
                                              int32_t gpu) const;

  // Whether the network can be written as an ONNX model, for runtimes other than ours.
  virtual bool writes_onnx() const { return false; }
  // The bytes of this model; the kind says what goes in and comes out. REQUIRES: writes_onnx(), weights are of this
  // kind.
  virtual std::string ToOnnx(const PolicyWeights& weights) const;

  virtual RewardTime reward_time() const = 0;
  // The most choices that a decision is between.
  virtual int32_t MostChoices(int32_t num_devices) const { return num_devices; }
  // Why the episode's start and decisions are none of this task, from the network as they are; nullopt: they are legal.
  // As it is here, decision t is the device of group t: one that the group may use.
  virtual std::optional<std::string> CheckDecisions(const PlacementTask& task, const Trajectory& trajectory) const;
  // Writes the placement [n] that rho[point] is of. As it is here, decision t is the device of group t.
  // REQUIRES: CheckDecisions has found nothing; point < trajectory.rho.size().
  virtual void PlacementAt(const PlacementTask& task, const Trajectory& trajectory, size_t point,
                           std::span<uint8_t> groups) const;

  // How many entries rho has in an episode of so many decisions, and which is the first that decisions have led to.
  size_t NumRho(size_t decisions) const { return reward_time() == RewardTime::kEachDecision ? decisions + 1 : 1; }
  // How many decisions a model computes at once for a sample of this episode (Sample in model.h).
  size_t DecisionsOfSample(const Trajectory& episode) const {
    return reward_time() == RewardTime::kEachDecision ? 1 : episode.actions.size();
  }
  size_t FirstDecidedRho() const { return reward_time() == RewardTime::kEachDecision ? 1 : 0; }
};

}  // namespace emplace
