#include "actor/hardware/measuring/measuring_process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "actor/hardware/measuring/step_messages.h"
#include "actor/reward_source.h"
#include "common/error.h"
#include "common/files/json_text.h"
#include "common/log.h"
#include "common/strings.h"
#include "simulator/graph/graph_io.h"

namespace emplace {
namespace {

using Json = nlohmann::json;

constexpr std::chrono::milliseconds kAskAgain(1);
constexpr std::chrono::minutes kToGetReady(5);  // For a fresh process to load LibTorch and look at all graphs.

// Starts the program with the socket as its standard input and the pipe as its standard output, and closes both here.
// It gets no SIGINT or SIGTERM from its first instruction on: Ctrl-C in a terminal, or a signal to all processes of a
// job, is for the process that started it, which then ends it.
pid_t Spawn(const std::vector<std::string>& command, FileDescriptor socket, FileDescriptor pipe) {
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, socket.get(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, pipe.get(), STDOUT_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t blocked;
  ::sigemptyset(&blocked);
  ::sigaddset(&blocked, SIGINT);
  ::sigaddset(&blocked, SIGTERM);
  posix_spawnattr_setsigmask(&attributes, &blocked);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  pid_t pid = -1;
  const int error = ::posix_spawn(&pid, command[0].c_str(), &actions, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw RunFailed(StrCat(command[0], ": cannot be started: ", std::strerror(error)));
  return pid;
}

// Whether anything has come, which is then taken.
bool TakeAll(int pipe) {
  char bytes[256];
  bool any = false;
  while (::read(pipe, bytes, sizeof(bytes)) > 0) any = true;
  return any;
}

std::string HowItEnded(int status) {
  if (WIFSIGNALED(status)) return StrCat("its process was ended by signal ", WTERMSIG(status));
  return StrCat("its process ended with exit code ", WEXITSTATUS(status));
}

}  // namespace

MeasuringProcess::MeasuringProcess(const std::vector<OpGraph>& graphs, const Cluster& machine,
                                   const std::vector<DeviceIndex>& references, Options options)
    : options_(std::move(options)),
      step_limit_(
          std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::duration<double>(options_.step_limit_s))) {
  EMPLACE_CHECK(graphs.size() == references.size());
  Json setup = {{"machine", ClusterToYaml(machine)},
                {"references", references},
                {"graphs", Json::array()},
                {"times_parts", options_.times_parts}};
  for (const OpGraph& graph : graphs) setup["graphs"].push_back(GraphToJson(graph));
  setup_ = setup.dump();
  try {
    Start();
  } catch (const StepFailed& failure) {
    throw RunFailed(StrCat("the measuring process: ", failure.what()));
  }
}

MeasuringProcess::~MeasuringProcess() { End(); }

void MeasuringProcess::Start() {
  int sockets[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0) {
    throw RunFailed(StrCat("a socket for the measuring process: ", std::strerror(errno)));
  }
  channel_.emplace(FileDescriptor(sockets[0]));
  FileDescriptor its_socket(sockets[1]);
  // The process must not wait for us to read.
  int pipes[2];
  if (::pipe2(pipes, O_CLOEXEC | O_NONBLOCK) != 0) {
    throw RunFailed(StrCat("a pipe for the measuring process: ", std::strerror(errno)));
  }
  finished_steps_ = FileDescriptor(pipes[0]);
  pid_ = Spawn(options_.command, std::move(its_socket), FileDescriptor(pipes[1]));
  Ask(setup_, kToGetReady);
}

void MeasuringProcess::End() {
  channel_.reset();
  finished_steps_ = FileDescriptor();
  if (pid_ < 0) return;
  ::kill(pid_, SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
}

std::optional<int> MeasuringProcess::StatusBy(std::chrono::steady_clock::time_point deadline) {
  int status = 0;
  while (true) {
    if (::waitpid(pid_, &status, WNOHANG) == pid_) {
      pid_ = -1;
      return status;
    }
    if (std::chrono::steady_clock::now() >= deadline) break;
    std::this_thread::sleep_for(kAskAgain);
  }
  End();
  return std::nullopt;
}

Json MeasuringProcess::Ask(const std::string& request, std::chrono::milliseconds limit) {
  auto deadline = std::chrono::steady_clock::now() + limit;
  const auto is_over = [&] {
    if (TakeAll(finished_steps_.get())) deadline = std::chrono::steady_clock::now() + limit;
    return (options_.is_over && options_.is_over()) || std::chrono::steady_clock::now() >= deadline;
  };
  const MessageChannel::Wait wait{.is_over = is_over};
  std::string answer;
  MessageChannel::Result result = channel_->Send(request, wait);
  if (result == MessageChannel::Result::kDone) result = channel_->Receive(answer, wait);
  if (result == MessageChannel::Result::kLate) {
    End();
    if (options_.is_over && options_.is_over()) throw MeasurementCancelled();
    throw StepFailed(
        StrCat("it has not ended within its limit of ", std::chrono::duration<double>(limit).count(), " s"));
  }
  if (result == MessageChannel::Result::kClosed) {
    channel_.reset();
    const std::optional<int> status = StatusBy(deadline);
    End();
    throw StepFailed(status ? HowItEnded(*status) : "it has closed its connection and has not ended");
  }
  Json parsed = ParseJson(answer, "answer of the measuring process");
  if (const auto bad = parsed.find("bad_input"); bad != parsed.end()) {
    End();
    throw BadInput(bad->get<std::string>());
  }
  if (const auto failed = parsed.find("failed"); failed != parsed.end()) {
    End();
    throw StepFailed(failed->get<std::string>());
  }
  return parsed;
}

void MeasuringProcess::Prepare(size_t graph, const OrderedPlacement& placement) {
  // By itself: where the reference cannot be run, nothing can be said about any placement of the graph.
  const std::string reference = Json{{"reference", graph}}.dump();
  try {
    if (pid_ < 0) Start();
    Ask(reference, step_limit_);
  } catch (const StepFailed& failure) {
    LogWarning(StrCat("the reference placement of graph ", graph, ", all on one device: ", failure.what(),
                      "; it is tried once more"));
    try {
      Start();
      Ask(reference, step_limit_);
    } catch (const StepFailed& again) {
      throw RunFailed(StrCat("the reference placement of graph ", graph, ", all on one device: ", again.what()));
    }
  }
  Ask(Json{{"prepare", graph}, {"ops", placement.placement}, {"orders", placement.orders}}.dump(), step_limit_);
}

StepSamples MeasuringProcess::Time(const StepPlan& plan) {
  if (pid_ < 0) throw StepFailed("it was not prepared");
  const Json answer =
      Ask(Json{{"warmup", plan.warmup}, {"steps", plan.steps}, {"window_s", plan.window_s}}.dump(), step_limit_);
  return {.reference = StepSeriesFromJson(answer.at("reference")),
          .placement = StepSeriesFromJson(answer.at("placement"))};
}

}  // namespace emplace
