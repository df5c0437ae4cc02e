#include "tests/actor/fake_learner.h"

#include <future>
#include <utility>

#include "common/files/content_hash.h"
#include "policy/policy_weights.h"
#include "simulator/task/task_bundle.h"
#include "tests/actor/small_tasks.h"

namespace emplace {

using std::chrono::milliseconds;

FakeLearner::FakeLearner(FakeLearnerOptions options) : options_(std::move(options)) {
  std::promise<std::string> address;
  std::future<std::string> ready = address.get_future();
  thread_ = std::jthread([this, promise = std::move(address)](const std::stop_token& stop) mutable {
    NetworkOptions network;
    network.port = options_.port;
    network.trajectory_queue = 4;
    LearnerEndpoint endpoint(network);
    promise.set_value(endpoint.control_address());
    while (!stop.stop_requested()) {
      const auto received = endpoint.Receive(milliseconds(5), accept_);
      if (received) {
        if (const auto* from = std::get_if<FromActor>(&*received)) {
          Answer(endpoint, *from);
        } else {
          const MutexLock lock(mu_);
          received_.trajectories.push_back(std::get<SentTrajectory>(*received).trajectory);
        }
      }
      if (version_ > noticed_ || sequence_limit_ > noticed_limit_ || stop_actors_) {
        noticed_ = version_.load();
        noticed_limit_ = sequence_limit_;
        for (const PeerId& peer : peers_) {
          endpoint.Send(peer, MakeNotice());
          if (stop_actors_) endpoint.Send(peer, Stop{});
        }
      }
    }
  });
  address_ = ready.get();
}

FakeLearner::~FakeLearner() = default;

int FakeLearner::port() const { return std::stoi(address_.substr(address_.rfind(':') + 1)); }

void FakeLearner::AnnounceQuietly(PolicyVersion version) {
  noticed_ = version;
  version_ = version;
}

FakeLearner::Received FakeLearner::received() const {
  const MutexLock lock(mu_);
  return received_;
}

bool FakeLearner::Await(const std::function<bool(const Received&)>& condition) const {
  for (int i = 0; i < 1000; ++i) {
    if (condition(received())) return true;
    std::this_thread::sleep_for(milliseconds(5));
  }
  return false;
}

Notice FakeLearner::MakeNotice() const {
  return {.session = options_.session, .version = version_, .measuring = false, .sequence_limit = sequence_limit_};
}

void FakeLearner::Answer(LearnerEndpoint& endpoint, const FromActor& from) {
  const MutexLock lock(mu_);
  if (const auto* hello = std::get_if<Hello>(&from.message)) {
    received_.hellos.push_back(*hello);
    if (options_.refusal) {
      endpoint.Send(from.peer, Refusal{*options_.refusal});
      return;
    }
    const auto next = options_.incarnation + static_cast<uint32_t>(incarnation_of_nonce_.size());
    Welcome welcome;
    welcome.actor = {options_.actor_id, incarnation_of_nonce_.emplace(hello->nonce, next).first->second};
    welcome.session = options_.session;
    welcome.first_sequence = options_.first_sequence;
    welcome.config_yaml = options_.config_yaml;
    welcome.trajectories_endpoint = endpoint.trajectories_address();
    for (const PlacementTask& task : SmallTasks(options_.seed, 3)) welcome.tasks.push_back(ToBundle(task));
    if (options_.damage_tasks) welcome.tasks[1].arrays()[0].name = "nonsense";
    endpoint.Send(from.peer, welcome);
    peers_.insert(from.peer);
  } else if (const auto* heartbeat = std::get_if<Heartbeat>(&from.message)) {
    if (heartbeat->session == options_.session) received_.heartbeats.push_back(*heartbeat);
    endpoint.Send(from.peer, MakeNotice());
  } else if (std::holds_alternative<WeightsRequest>(from.message)) {
    const std::string blob = SerializePolicy(*SmallWeights(options_.seed, version_));
    const bool damage = options_.damage_first_weights && !std::exchange(damaged_, true);
    endpoint.Send(from.peer, WeightsReply{version_, Hash64(blob) + (damage ? 1 : 0), blob});
    ++received_.weights_served;
  } else {
    received_.goodbyes.push_back(std::get<Goodbye>(from.message));
  }
}

}  // namespace emplace
