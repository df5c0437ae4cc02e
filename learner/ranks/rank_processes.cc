#include "learner/ranks/rank_processes.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <thread>

#include "common/error.h"
#include "common/strings.h"
#include "common/threads/host_name.h"

extern char** environ;

namespace emplace {
namespace {

constexpr char kThisProgram[] = "/proc/self/exe";
constexpr int kCannotStart = 127;  // Exit code of a process that did not become the program, as in a shell.
constexpr std::chrono::milliseconds kLookAgain(10);

std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// Everything is prepared before the fork: other threads may hold locks of the heap, which the child would wait for.
pid_t StartProcess(std::vector<std::string> arguments, std::vector<std::string> environment, const std::string& log) {
  const std::vector<char*> argv = Pointers(arguments);
  const std::vector<char*> envp = Pointers(environment);
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child != 0) return child;
  // Nothing but calls that are safe after a fork from here on.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(kCannotStart);  // It has ended before.
  const int out = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
  const int in = ::open("/dev/null", O_RDONLY);
  if (out < 0 || in < 0) ::_exit(kCannotStart);
  ::dup2(in, STDIN_FILENO);
  ::dup2(out, STDOUT_FILENO);
  ::dup2(out, STDERR_FILENO);
  ::execve(kThisProgram, argv.data(), envp.data());
  ::_exit(kCannotStart);
}

std::vector<std::string> EnvironmentWith(const std::string& setting) {
  const std::string name = setting.substr(0, setting.find('=') + 1);
  std::vector<std::string> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (!std::string(*entry).starts_with(name)) environment.emplace_back(*entry);
  }
  environment.push_back(setting);
  return environment;
}

std::string HowEnded(int status) {
  if (WIFSIGNALED(status)) return StrCat("was killed by signal ", WTERMSIG(status));
  return StrCat("has ended with exit code ", WEXITSTATUS(status));
}

}  // namespace

RankProcesses::RankProcesses(int64_t ranks, const std::string& leader, const std::filesystem::path& keys,
                             const std::filesystem::path& logs)
    : ranks_(ranks) {
  const std::vector<std::string> environment = EnvironmentWith(StrCat("EMPLACE_KEYS=", keys.string()));
  for (int64_t rank = 1; rank < ranks; ++rank) {
    const std::filesystem::path log = logs / StrCat("rank-", rank, ".log");
    const pid_t pid =
        StartProcess({"emplace-learner", "--rank", StrCat(rank), "--leader", leader, "--gpu", StrCat(rank)},
                     environment, log.string());
    if (pid < 0) throw RunFailed(StrCat("rank ", rank, " of ", ranks, " cannot be started: ", std::strerror(errno)));
    processes_.push_back({rank, pid, log});
  }
}

RankProcesses::~RankProcesses() {
  for (const Process& process : processes_) {
    if (process.pid > 0) ::kill(process.pid, SIGKILL);
  }
  for (const Process& process : processes_) {
    if (process.pid > 0) ::waitpid(process.pid, nullptr, 0);
  }
}

std::optional<std::string> RankProcesses::FirstEnded() {
  for (Process& process : processes_) {
    int status = 0;
    if (process.pid == 0 || ::waitpid(process.pid, &status, WNOHANG) != process.pid) continue;
    const pid_t pid = process.pid;
    process.pid = 0;
    return StrCat("rank ", process.rank, " of ", ranks_, " on ", HostName(), " (process ", pid, ") ", HowEnded(status),
                  "; its log is ", process.log.string());
  }
  return std::nullopt;
}

void RankProcesses::Wait(std::chrono::milliseconds timeout) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  for (Process& process : processes_) {
    while (process.pid > 0 && ::waitpid(process.pid, nullptr, WNOHANG) == 0) {
      if (std::chrono::steady_clock::now() >= deadline) return;
      std::this_thread::sleep_for(kLookAgain);
    }
    process.pid = 0;
  }
}

}  // namespace emplace
