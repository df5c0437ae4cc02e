// libFuzzer's own mutations, within one frame or of the frames as a whole. Its usual ones would mostly break the
// lengths.
#include <algorithm>
#include <cstring>
#include <random>

#include "tests/fuzz/frames.h"
#include "tests/fuzz/fuzz_target.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned int seed);

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned int seed) {
  using namespace emplace;
  std::minstd_rand random(seed);
  const auto below = [&random](size_t end) { return static_cast<size_t>(random()) % end; };
  std::vector<std::string> frames = SplitFrames(InputText(data, size));
  const size_t kind = below(16);
  if (frames.empty() || kind == 0) return LLVMFuzzerMutate(data, size, max_size);
  const size_t chosen = below(frames.size());
  const auto at = frames.begin() + static_cast<std::ptrdiff_t>(chosen);
  if (kind == 1) {
    frames.erase(at);
  } else if (kind == 2) {
    frames.insert(at, std::string(frames[below(frames.size())]));
  } else if (kind == 3) {
    std::swap(*at, frames[below(frames.size())]);
  } else {
    std::string& frame = *at;
    const size_t room = max_size > size ? max_size - size : 0;
    const size_t before = frame.size();
    frame.resize(before + std::min<size_t>(room, 64) + 1);
    frame.resize(LLVMFuzzerMutate(reinterpret_cast<uint8_t*>(frame.data()), before, frame.size()));
  }
  const std::string mutated = JoinFrames(frames);
  const size_t length = std::min(mutated.size(), max_size);
  std::memcpy(data, mutated.data(), length);
  return length;
}
