// What the codecs share: frame 0, a header of Cap'n Proto, and the parts of it that several messages have. Its types
// are Cap'n Proto's, so only the codecs' sources include it.
#pragma once

#include <capnp/message.h>
#include <capnp/serialize.h>
#include <kj/exception.h>

#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "common/array_bundle.h"
#include "common/trajectory.h"
#include "common/wire/messages/frames.h"
#include "common/wire/messages/messages.capnp.h"
#include "common/wire/messages/messages.h"

namespace emplace::codec {

using Frames = std::vector<Frame>;

// --- Encoding: Fill and Put write into a message under construction, and append the raw frames that follow it ---

Frame HeaderFrame(capnp::MallocMessageBuilder& builder);

template <typename T>
Frame BytesOf(const std::vector<T>& values) {
  Frame frame(values.size() * sizeof(T), '\0');
  if (!values.empty()) std::memcpy(frame.data(), values.data(), frame.size());
  return frame;
}

// Whole, zero bytes included; the implicit conversion would end at the first one.
inline capnp::Text::Reader Text(const std::string& text) { return {text.data(), text.size()}; }

void Put(const ActorKey& key, schema::ActorKey::Builder out);
// Appends a frame for each array.
void Put(const ArrayBundle& bundle, schema::Bundle::Builder out, Frames& raw);
void Put(const std::vector<ArrayBundle>& bundles, capnp::List<schema::Bundle>::Builder out, Frames& raw);

// Learners send these to actors, and to ranks.
void Fill(const Refusal& refusal, schema::Message::Builder message, Frames& raw);
void Fill(const Stop& stop, schema::Message::Builder message, Frames& raw);

// Makes a message. fill(message, raw) fills its header and appends its raw frames.
template <typename Filler>
Frames MakeFrames(Filler fill) {
  capnp::MallocMessageBuilder builder;
  Frames raw;
  fill(builder.initRoot<schema::Message>(), raw);
  Frames frames;
  frames.reserve(1 + raw.size());
  frames.push_back(HeaderFrame(builder));
  for (Frame& frame : raw) frames.push_back(std::move(frame));
  return frames;
}

// --- Decoding: Take returns false, or nullopt, where the bytes are not valid ---

// Message, a struct of it, its lists and texts: four deep at most.
inline constexpr int kMaxNesting = 8;

// What `read` makes of the header, or nullopt where Cap'n Proto finds it damaged. ZeroMQ frames are not aligned, so the
// header is copied; the traversal limit is what one reading of all of it takes, so that overlapping pointers cannot
// make a small header look large.
template <typename Read>
auto ReadHeader(FrameView frame, Read read) -> std::invoke_result_t<Read, schema::Message::Reader> {
  if (frame.empty() || frame.size() % sizeof(capnp::word) != 0 || frame.size() > kMaxLearnerControlBytes) {
    return std::nullopt;
  }
  kj::Array<capnp::word> words = kj::heapArray<capnp::word>(frame.size() / sizeof(capnp::word));
  std::memcpy(words.asBytes().begin(), frame.data(), frame.size());
  capnp::ReaderOptions options;
  options.traversalLimitInWords = 2 * words.size();
  options.nestingLimit = kMaxNesting;
  try {
    capnp::FlatArrayMessageReader reader(words, options);
    return read(reader.getRoot<schema::Message>());
  } catch (const kj::Exception&) {
    return std::nullopt;
  }
}

ActorKey Take(schema::ActorKey::Reader in);
bool Take(capnp::Text::Reader in, std::string& out, size_t most = kMaxTextBytes);
// Takes the frames of the arrays off the front of `raw`. False where they are not those that the header names.
bool Take(schema::Bundle::Reader in, std::span<const FrameView>& raw, ArrayBundle& bundle);
bool Take(capnp::List<schema::Bundle>::Reader in, std::span<const FrameView>& raw, std::vector<ArrayBundle>& bundles);
std::optional<Refusal> Take(schema::Refusal::Reader in);

// False unless the frame holds whole elements.
template <typename T>
bool TakeAll(FrameView frame, std::vector<T>& out) {
  if (frame.size() % sizeof(T) != 0) return false;
  out.resize(frame.size() / sizeof(T));
  if (!out.empty()) std::memcpy(out.data(), frame.data(), frame.size());
  return true;
}

inline std::string TextOf(FrameView frame) { return std::string(frame.begin(), frame.end()); }

}  // namespace emplace::codec
