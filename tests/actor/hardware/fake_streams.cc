#include "tests/actor/hardware/fake_streams.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace emplace {

FakeStreams::FakeStreams(std::vector<char> has_streams, uint64_t seed, std::function<void(int32_t, StreamId)> on_use)
    : has_streams_(std::move(has_streams)), rng_(seed), on_use_(std::move(on_use)) {}

FakeStreams::~FakeStreams() {
  std::vector<std::thread*> threads;
  {
    const MutexLock lock(mu_);
    ended_ = true;
    for (auto& [id, stream] : streams_) threads.push_back(&stream->thread);
  }
  changed_.NotifyAll();
  for (std::thread* const thread : threads) thread->join();
}

DeviceIndex FakeStreams::OwnerOf(StreamId id) const {
  return has_streams_[static_cast<size_t>(id.from)] != 0 ? id.from : id.to;
}

void FakeStreams::Add(StreamId id, Task task) {
  EXPECT_TRUE(has_streams_[static_cast<size_t>(OwnerOf(id))]);
  std::unique_ptr<Stream>& stream = streams_[id];
  if (stream == nullptr) {
    stream = std::make_unique<Stream>(rng_.Fork("stream", static_cast<uint64_t>(id.from * 100 + id.to)));
    stream->thread = std::thread([this, its_stream = stream.get()] { Work(*its_stream); });
  }
  stream->tasks.push_back(std::move(task));
  changed_.NotifyAll();
}

void FakeStreams::Work(Stream& stream) {
  for (;;) {
    Task task;
    {
      const MutexLock lock(mu_);
      stream.busy = false;
      changed_.NotifyAll();
      while (stream.tasks.empty() && !ended_) changed_.Wait(mu_);
      if (stream.tasks.empty()) return;
      task = std::move(stream.tasks.front());
      stream.tasks.pop_front();
      stream.busy = true;
    }
    if (stream.rng.UniformInt(0, 3) == 0) {
      std::this_thread::sleep_for(std::chrono::microseconds(stream.rng.UniformInt(1, 300)));
    }
    if (task.work) task.work();
    const MutexLock lock(mu_);
    stream.us += task.us;
    if (task.awaits != kNone) {
      const Mark& mark = marks_[task.awaits];
      while (mark.reached < task.times) changed_.Wait(mu_);
      stream.us = std::max(stream.us, mark.us);
    }
    if (task.reaches != kNone) {
      ++marks_[task.reaches].reached;
      marks_[task.reaches].us = stream.us;
      changed_.NotifyAll();
    }
  }
}

void FakeStreams::Give(StreamId stream, std::function<void()> work, double us) {
  const MutexLock lock(mu_);
  Add(stream, {.work = std::move(work), .us = us});
}

void FakeStreams::Put(int32_t mark, StreamId stream) {
  const MutexLock lock(mu_);
  ++marks_[mark].put;
  marks_[mark].stream = stream;
  Add(stream, {.work = nullptr, .reaches = mark});
}

void FakeStreams::Wait(StreamId stream, int32_t mark) {
  const MutexLock lock(mu_);
  Add(stream, {.work = nullptr, .awaits = mark, .times = marks_[mark].put});
}

void FakeStreams::WaitOnHost(int32_t mark) {
  const MutexLock lock(mu_);
  const Mark& awaited = marks_[mark];
  const int64_t times = awaited.put;
  while (awaited.reached < times) changed_.Wait(mu_);
}

void FakeStreams::Drain(StreamId id) {
  const MutexLock lock(mu_);
  const auto found = streams_.find(id);
  if (found == streams_.end()) return;  // It was never given anything.
  while (!found->second->tasks.empty() || found->second->busy) changed_.Wait(mu_);
}

double FakeStreams::MicrosBetween(int32_t first, int32_t second) const {
  const MutexLock lock(mu_);
  const Mark& a = marks_.at(first);
  const Mark& b = marks_.at(second);
  EXPECT_EQ(OwnerOf(a.stream), OwnerOf(b.stream));
  EXPECT_EQ(a.reached, a.put);
  EXPECT_EQ(b.reached, b.put);
  return b.us - a.us;
}

}  // namespace emplace
