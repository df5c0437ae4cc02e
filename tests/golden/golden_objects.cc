#include "tests/golden/golden_objects.h"

#include <cstdint>
#include <cstring>

#include "common/error.h"
#include "common/files/content_hash.h"
#include "common/wire/messages/control_codec.h"
#include "common/wire/messages/rank_codec.h"
#include "common/wire/messages/trajectory_codec.h"
#include "learner/ledger.h"
#include "policy/placeto/placeto_shape.h"

namespace emplace {
namespace {

constexpr ActorKey kActor{3, 1700000000};

}  // namespace

PolicyWeights GoldenPolicy() {
  PolicyWeights weights;
  const PlacetoShape shape{
      .num_devices = 2, .memory_feature = true, .message_rounds = 2, .message_width = 3, .pooling = true};
  weights.shape = shape;
  weights.values.resize(static_cast<size_t>(NumParameters(shape)));
  for (size_t i = 0; i < weights.values.size(); ++i) weights.values[i] = static_cast<float>(i) / 64 - 1;
  weights.version = 40;
  weights.metadata = {{"run", "golden"}, {"validation_ratio", "0.75"}};
  return weights;
}

Checkpoint GoldenCheckpoint() {
  Checkpoint checkpoint;
  checkpoint.policy = GoldenPolicy();
  const size_t parameters = checkpoint.policy.values.size();
  checkpoint.updater.adam.mean.assign(parameters, 0.25F);
  checkpoint.updater.adam.variance.assign(parameters, 0.5F);
  checkpoint.updater.adam.steps = 120;
  const auto add = [&]<typename T>(const std::string& name, const std::vector<T>& values) {
    checkpoint.updater.objective.tensors.push_back(SafetensorsTensor::Of<T>(name, {std::ssize(values)}, values));
  };
  add("returns.0", std::vector<float>{1, 2, 3, 4});
  add("returns.1", std::vector<float>{});
  add("best.0.start", std::vector<uint8_t>{0, 1});
  add("best.0.actions", std::vector<uint8_t>{1, 1});
  add("best.1.start", std::vector<uint8_t>{});
  add("best.1.actions", std::vector<uint8_t>{});
  add("best.rho", std::vector<float>{2.5F, 0});
  add("advantage_mean_squares", std::vector<double>{0.5, 0});
  add("entropy_weight", std::vector<double>{0.125});
  checkpoint.rng_seed = 7;
  checkpoint.rng_state = {1, 2, 3, 4};
  checkpoint.updates = 40;
  checkpoint.train_seconds = 12.5;
  checkpoint.best_validation = 0.75;
  checkpoint.validation_history = {0.875, 0.75};
  Ledger ledger;
  const ActorKey actor = ledger.Join("node1/0", 5, 1700000000);
  for (const uint64_t sequence : {1U, 2U, 4U}) ledger.Admit(actor, sequence);
  ledger.CountTrained(actor);
  checkpoint.ledger_json = ledger.ToJson();
  checkpoint.kernel_path = "avx2";
  checkpoint.config_yaml = "name: golden\n";
  return checkpoint;
}

std::vector<GoldenMessage> GoldenMessages() {
  Welcome welcome;
  welcome.actor = kActor;
  welcome.session = 11;
  welcome.first_sequence = 1;
  welcome.config_yaml = "name: golden\n";
  welcome.trajectories_endpoint = "tcp://127.0.0.1:4001";
  welcome.tasks.resize(1);
  welcome.tasks[0].PutText("name", "graph");
  welcome.tasks[0].Put("cost", std::vector<double>{1.5, 2});
  welcome.tasks[0].Put("index", std::vector<int32_t>{-1, 7, 9});
  welcome.machine = "devices: []\n";
  welcome.graphs = {"{}"};

  Trajectory trajectory;
  trajectory.graph = 2;
  trajectory.actor = kActor;
  trajectory.sequence = 9;
  trajectory.index = 5;
  trajectory.policy_version = 40;
  trajectory.start_placement = {0, 1, 0};
  trajectory.actions = {1, 1, 0};
  trajectory.behaviour_log_prob = {-0.5F, -0.25F, -1.5F};
  trajectory.rho = {3, 2.5F, 2, 1.5F};

  Trajectory measured = trajectory;
  measured.claim = Claim::kMeasured;

  RankData share{RankDataKind::kShards, 7, {}};
  share.arrays.Put("rows", std::vector<float>{0.5F, -1});
  RankData step{RankDataKind::kStep, 7, share.arrays, true};
  RankWelcome rank_welcome{.ranks = 2, .config_yaml = "name: golden\n", .tasks = welcome.tasks, .state = {}};
  rank_welcome.state.PutText("policy", "blob");

  return {{"hello", Encode(ActorMessage(Hello{kProtocolVersion, "node1/0", 5, {{1699999999, 4}}, true}))},
          {"heartbeat", Encode(ActorMessage(Heartbeat{kActor, 11, 9, 40, 250'000}))},
          {"weights_request", Encode(ActorMessage(WeightsRequest{kActor}))},
          {"work_request", Encode(ActorMessage(WorkRequest{kActor, 11, 40}))},
          {"goodbye", Encode(ActorMessage(Goodbye{kActor, 9}))},
          {"welcome", Encode(LearnerMessage(welcome))},
          {"weights_reply", Encode(LearnerMessage(WeightsReply{40, Hash64("blob"), "blob"}))},
          {"work", Encode(LearnerMessage(Work{11, 40, {0, 5, 6}}))},
          {"refusal", Encode(LearnerMessage(Refusal{"no"}))},
          {"stop", Encode(LearnerMessage(Stop{}))},
          {"notice", Encode(LearnerMessage(Notice{11, 40, true, 70}))},
          {"measure_request", Encode(LearnerMessage(MeasureRequest{6, 2, {0, 1, 1}}))},
          {"measure_reply", Encode(ActorMessage(MeasureReply{kActor, 6, 1500.5}))},
          {"rank_hello", Encode(RankMessage(RankHello{kProtocolVersion, 1, "node1", 99, "avx2"}))},
          {"rank_failure", Encode(RankMessage(RankFailure{"no"}))},
          {"rank_data", Encode(RankMessage(share))},
          {"rank_step", Encode(LeaderMessage(step))},
          {"rank_welcome", Encode(LeaderMessage(rank_welcome))},
          {"rank_ping", Encode(LeaderMessage(RankPing{}))},
          {"trajectory", Encode(trajectory)},
          {"measured_trajectory", Encode(measured)}};
}

std::string JoinedFrames(const std::vector<Frame>& frames) {
  std::string bytes;
  for (const Frame& frame : frames) {
    const uint64_t size = frame.size();
    bytes.append(reinterpret_cast<const char*>(&size), sizeof(size));
    bytes += frame;
  }
  return bytes;
}

std::vector<Frame> SplitIntoFrames(const std::string& bytes) {
  std::vector<Frame> frames;
  for (size_t at = 0; at < bytes.size();) {
    uint64_t size = 0;
    EMPLACE_CHECK(bytes.size() - at >= sizeof(size));
    std::memcpy(&size, bytes.data() + at, sizeof(size));
    at += sizeof(size);
    EMPLACE_CHECK(bytes.size() - at >= size);
    frames.push_back(bytes.substr(at, size));
    at += size;
  }
  return frames;
}

}  // namespace emplace
