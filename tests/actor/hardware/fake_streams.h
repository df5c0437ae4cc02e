// Streams made of threads, which rest between one piece of work and the next for times that are left to chance.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <thread>
#include <vector>

#include "actor/hardware/devices/stream_order.h"
#include "common/rng.h"
#include "common/threads/mutex.h"

namespace emplace {

// Times are made up: a stream's clock goes on by what its work is said to take, and by waiting for another stream's
// mark to the clock of that one. So tests can check them to the last digit.
class FakeStreams : public Streams {
 public:
  // on_use: what Use does.
  FakeStreams(std::vector<char> has_streams, uint64_t seed, std::function<void(int32_t, StreamId)> on_use);
  ~FakeStreams() override;  // After all work is done.
  FakeStreams(const FakeStreams&) = delete;
  FakeStreams& operator=(const FakeStreams&) = delete;

  // Has the stream do the work in turn. us: what that takes by its clock.
  void Give(StreamId stream, std::function<void()> work, double us = 0);

  void Put(int32_t mark, StreamId stream) override;
  void Wait(StreamId stream, int32_t mark) override;
  void WaitOnHost(int32_t mark) override;
  void Drain(StreamId stream) override;
  void Use(int32_t value, StreamId stream) override { on_use_(value, stream); }
  double MicrosBetween(int32_t first, int32_t second) const override;

 private:
  struct Mark {
    int64_t put = 0;      // How often it was put,
    int64_t reached = 0;  // and how often reached.
    double us = 0;        // By the clock of the stream, when it was reached last.
    StreamId stream;
  };
  struct Task {
    std::function<void()> work;
    double us = 0;
    int32_t reaches = kNone;  // The mark that it is; kNone: none.
    int32_t awaits = kNone;   // The mark that it waits for,
    int64_t times = 0;        // to have been reached this often.
  };
  struct Stream {
    explicit Stream(Rng of_its_own) : rng(of_its_own) {}

    std::deque<Task> tasks;
    bool busy = false;
    double us = 0;  // Its clock.
    Rng rng;        // Used by its thread alone.
    std::thread thread;
  };
  static constexpr int32_t kNone = -1;

  void Add(StreamId id, Task task) EMPLACE_REQUIRES(mu_);
  void Work(Stream& stream);
  DeviceIndex OwnerOf(StreamId id) const;

  const std::vector<char> has_streams_;
  const Rng rng_;
  const std::function<void(int32_t, StreamId)> on_use_;
  mutable Mutex mu_;
  CondVar changed_;
  bool ended_ EMPLACE_GUARDED_BY(mu_) = false;
  std::map<int32_t, Mark> marks_ EMPLACE_GUARDED_BY(mu_);
  std::map<StreamId, std::unique_ptr<Stream>> streams_ EMPLACE_GUARDED_BY(mu_);
};

}  // namespace emplace
