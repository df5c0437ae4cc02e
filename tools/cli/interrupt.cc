#include "tools/cli/interrupt.h"

#include <csignal>

namespace emplace {
namespace {

// A signal handler can reach nothing but a global.
std::atomic<bool> interrupted = false;
void Interrupt(int signal) {
  interrupted = true;
  std::signal(signal, SIG_DFL);
}

}  // namespace

const std::atomic<bool>& Interrupted() { return interrupted; }

void CatchInterrupts() {
  std::signal(SIGINT, Interrupt);
  std::signal(SIGTERM, Interrupt);
}

}  // namespace emplace
