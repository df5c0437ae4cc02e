// What a program does at Ctrl-C (SIGINT) and SIGTERM. Each program calls one of the three functions below, once: a
// command ends quickly, a process of a training run ends in its own time, and a process that belongs to another one is
// ended by that. Any thread may call Interrupted and FinishDespiteInterrupt.
#pragma once

#include <atomic>
#include <string>

namespace emplace {

// Whether a signal came since CatchInterrupts or NoteInterrupts was called.
const std::atomic<bool>& Interrupted();
// For commands. From now on, the two signals set the flag. A command that has not ended a third of a second later, or
// at a second signal, ends then with the exit code 1: with one line on stderr that begins with the program's name, and
// without files that are half written. Processes that are started later have the two signals blocked. REQUIRES: the
// process has no other thread yet.
void CatchInterrupts(const std::string& program);
// For a command that has its result: from now on only a second signal ends it early, so that the result is written,
// however long that takes.
void FinishDespiteInterrupt();
// For programs that look at the flag and end well, however long that takes: from now on, the two signals set the flag,
// and do nothing else.
void NoteInterrupts();
// For a process that another one ends: from now on, the two signals do nothing. Ctrl-C in a terminal, or a signal to
// all processes of a job, reaches both.
void IgnoreInterrupts();

}  // namespace emplace
