#include "common/wire/messages/rank_codec.h"

#include <utility>
#include <variant>

#include "common/wire/messages/codec_parts.h"

namespace emplace {
namespace {

using codec::Fill;
using codec::Frames;
using codec::MakeFrames;
using codec::Put;
using codec::ReadHeader;
using codec::Take;
using codec::Text;
using codec::TextOf;

// One overload a message: fills the header, appends the raw frames that follow it.

void Fill(const RankHello& hello, schema::Message::Builder message, Frames&) {
  auto out = message.initRankHello();
  out.setProtocol(hello.protocol);
  out.setRank(hello.rank);
  out.setHost(Text(hello.host));
  out.setProcess(hello.process);
  out.setKernel(Text(hello.kernel));
}

void Fill(const RankFailure& failure, schema::Message::Builder message, Frames&) {
  const std::string reason = failure.reason.substr(0, kMaxTextBytes);
  message.initRankFailure().setReason(Text(reason));
}

void Fill(const RankData& data, schema::Message::Builder message, Frames& raw) {
  auto out = message.initRankData();
  out.setKind(static_cast<schema::RankDataKind>(data.kind));
  out.setStep(data.step);
  out.setMeasuring(data.measuring);
  Put(data.arrays, out.initArrays(), raw);
}

void Fill(const RankWelcome& welcome, schema::Message::Builder message, Frames& raw) {
  auto out = message.initRankWelcome();
  out.setRanks(welcome.ranks);
  raw.push_back(welcome.config_yaml);
  Put(welcome.tasks, out.initTasks(static_cast<unsigned>(welcome.tasks.size())), raw);
  Put(welcome.state, out.initState(), raw);
}

void Fill(const RankPing&, schema::Message::Builder message, Frames&) { message.setRankPing(); }

template <typename Struct>
Frames RankFrames(const Struct& in) {
  return MakeFrames([&](schema::Message::Builder message, Frames& raw) { Fill(in, message, raw); });
}

std::optional<RankHello> ReadRankHello(schema::RankHello::Reader in) {
  RankHello hello;
  hello.protocol = in.getProtocol();
  hello.rank = in.getRank();
  hello.process = in.getProcess();
  if (!Take(in.getHost(), hello.host) || !Take(in.getKernel(), hello.kernel)) return std::nullopt;
  return hello;
}

std::optional<RankData> ReadRankData(schema::RankData::Reader in, std::span<const FrameView> raw) {
  RankData data;
  if (in.getKind() > schema::RankDataKind::SUM) return std::nullopt;  // An enumerant of a newer or of no schema.
  data.kind = static_cast<RankDataKind>(in.getKind());
  data.step = in.getStep();
  data.measuring = in.getMeasuring();
  if (raw.size() > kMaxRankArrays || !Take(in.getArrays(), raw, data.arrays) || !raw.empty()) return std::nullopt;
  return data;
}

std::optional<RankWelcome> ReadRankWelcome(schema::RankWelcome::Reader in, std::span<const FrameView> raw) {
  RankWelcome welcome;
  welcome.ranks = in.getRanks();
  if (raw.empty() || raw.size() - 1 > kMaxArrays) return std::nullopt;
  welcome.config_yaml = TextOf(raw[0]);
  raw = raw.subspan(1);
  const bool whole = Take(in.getTasks(), raw, welcome.tasks) && Take(in.getState(), raw, welcome.state);
  if (!whole || !raw.empty()) return std::nullopt;
  return welcome;
}

}  // namespace

std::vector<Frame> Encode(const RankMessage& message) {
  return std::visit([](const auto& in) { return RankFrames(in); }, message);
}

std::vector<Frame> Encode(const LeaderMessage& message) {
  return std::visit([](const auto& in) { return RankFrames(in); }, message);
}

std::optional<RankMessage> DecodeRankMessage(std::span<const FrameView> frames) {
  if (frames.empty()) return std::nullopt;
  const std::span<const FrameView> raw = frames.subspan(1);
  return ReadHeader(frames[0], [raw](schema::Message::Reader message) -> std::optional<RankMessage> {
    if (message.isRankData()) return ReadRankData(message.getRankData(), raw);
    if (!raw.empty()) return std::nullopt;
    if (message.isRankHello()) return ReadRankHello(message.getRankHello());
    if (!message.isRankFailure()) return std::nullopt;
    RankFailure failure;
    if (!Take(message.getRankFailure().getReason(), failure.reason)) return std::nullopt;
    return failure;
  });
}

std::optional<LeaderMessage> DecodeLeaderMessage(std::span<const FrameView> frames) {
  if (frames.empty()) return std::nullopt;
  const std::span<const FrameView> raw = frames.subspan(1);
  return ReadHeader(frames[0], [raw](schema::Message::Reader message) -> std::optional<LeaderMessage> {
    if (message.isRankData()) return ReadRankData(message.getRankData(), raw);
    if (message.isRankWelcome()) return ReadRankWelcome(message.getRankWelcome(), raw);
    if (!raw.empty()) return std::nullopt;
    if (message.isRankPing()) return RankPing{};
    if (message.isStop()) return Stop{};
    if (!message.isRefusal()) return std::nullopt;
    return Take(message.getRefusal());
  });
}

}  // namespace emplace
