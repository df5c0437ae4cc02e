#include "common/wire/messages/control_codec.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <variant>

#include "common/error.h"
#include "common/wire/messages/codec_parts.h"

namespace emplace {
namespace {

using codec::BytesOf;
using codec::Fill;
using codec::Frames;
using codec::HeaderFrame;
using codec::MakeFrames;
using codec::Put;
using codec::ReadHeader;
using codec::Take;
using codec::TakeAll;
using codec::Text;
using codec::TextOf;

// One overload a message: fills the header, appends the raw frames that follow it.

void Fill(const Hello& hello, schema::Message::Builder message, Frames&) {
  auto out = message.initHello();
  out.setProtocol(hello.protocol);
  out.setName(Text(hello.name));
  out.setNonce(hello.nonce);
  const size_t count = std::min(hello.earlier.size(), kMaxEarlier);
  auto earlier = out.initEarlier(static_cast<unsigned>(count));
  for (unsigned i = 0; i < earlier.size(); ++i) {
    earlier[i].setNumber(hello.earlier[i].number);
    earlier[i].setNonce(hello.earlier[i].nonce);
  }
  out.setMeasures(hello.measures);
}

void Fill(const Heartbeat& heartbeat, schema::Message::Builder message, Frames&) {
  auto out = message.initHeartbeat();
  Put(heartbeat.actor, out.initActor());
  out.setSession(heartbeat.session);
  out.setProduced(heartbeat.produced);
  out.setVersion(heartbeat.version);
  out.setWindowUs(heartbeat.window_us);
}

void Fill(const WeightsRequest& request, schema::Message::Builder message, Frames&) {
  Put(request.actor, message.initWeightsRequest());
}

void Fill(const WorkRequest& request, schema::Message::Builder message, Frames&) {
  auto out = message.initWorkRequest();
  Put(request.actor, out.initActor());
  out.setSession(request.session);
  out.setVersion(request.version);
}

void Fill(const Goodbye& goodbye, schema::Message::Builder message, Frames&) {
  auto out = message.initGoodbye();
  Put(goodbye.actor, out.initActor());
  out.setProduced(goodbye.produced);
}

void Fill(const MeasureReply& reply, schema::Message::Builder message, Frames&) {
  auto out = message.initMeasureReply();
  Put(reply.actor, out.initActor());
  out.setId(reply.id);
  out.setMakespanUs(reply.makespan_us);
}

void Fill(const Welcome& welcome, schema::Message::Builder message, Frames& raw) {
  auto out = message.initWelcome();
  Put(welcome.actor, out.initActor());
  out.setSession(welcome.session);
  out.setFirstSequence(welcome.first_sequence);
  out.setTrajectoriesEndpoint(Text(welcome.trajectories_endpoint));
  raw.push_back(welcome.config_yaml);
  Put(welcome.tasks, out.initTasks(static_cast<unsigned>(welcome.tasks.size())), raw);
  EMPLACE_CHECK(welcome.machine.size() <= kMaxMachineBytes);
  out.setMachine(Text(welcome.machine));
  out.setNumGraphs(static_cast<uint32_t>(welcome.graphs.size()));
  raw.insert(raw.end(), welcome.graphs.begin(), welcome.graphs.end());
}

void Fill(const Notice& notice, schema::Message::Builder message, Frames&) {
  auto out = message.initNotice();
  out.setSession(notice.session);
  out.setVersion(notice.version);
  out.setMeasuring(notice.measuring);
  out.setSequenceLimit(notice.sequence_limit);
}

void Fill(const WeightsReply& reply, schema::Message::Builder message, Frames& raw) {
  auto out = message.initWeightsReply();
  out.setVersion(reply.version);
  out.setHash(reply.hash);
  raw.push_back(reply.blob);
}

void Fill(const Work& work, schema::Message::Builder message, Frames&) {
  EMPLACE_CHECK(work.episodes.size() <= kMaxWork);
  auto out = message.initWork();
  out.setSession(work.session);
  out.setVersion(work.version);
  auto episodes = out.initEpisodes(static_cast<unsigned>(work.episodes.size()));
  for (unsigned i = 0; i < episodes.size(); ++i) episodes.set(i, work.episodes[i]);
}

void Fill(const MeasureRequest& request, schema::Message::Builder message, Frames& raw) {
  EMPLACE_CHECK(request.groups.size() <= kMaxSteps);
  auto out = message.initMeasureRequest();
  out.setId(request.id);
  out.setGraph(request.graph);
  raw.push_back(BytesOf(request.groups));
}

template <typename Struct>
Frames ControlFrames(const Struct& in) {
  return MakeFrames([&](schema::Message::Builder message, Frames& raw) { Fill(in, message, raw); });
}

std::optional<Hello> ReadHello(schema::Hello::Reader in) {
  Hello hello;
  hello.protocol = in.getProtocol();
  hello.nonce = in.getNonce();
  if (!Take(in.getName(), hello.name)) return std::nullopt;
  const auto earlier = in.getEarlier();
  if (earlier.size() > kMaxEarlier) return std::nullopt;
  for (const schema::Incarnation::Reader incarnation : earlier) {
    hello.earlier.push_back({incarnation.getNumber(), incarnation.getNonce()});
  }
  hello.measures = in.getMeasures();
  return hello;
}

std::optional<Work> ReadWork(schema::Work::Reader in) {
  Work work;
  work.session = in.getSession();
  work.version = in.getVersion();
  const auto episodes = in.getEpisodes();
  if (episodes.size() > kMaxWork) return std::nullopt;
  for (const uint32_t episode : episodes) work.episodes.push_back(episode);
  return work;
}

std::optional<Welcome> ReadWelcome(schema::Welcome::Reader in, std::span<const FrameView> raw) {
  Welcome welcome;
  welcome.actor = Take(in.getActor());
  welcome.session = in.getSession();
  welcome.first_sequence = in.getFirstSequence();
  if (!Take(in.getTrajectoriesEndpoint(), welcome.trajectories_endpoint)) return std::nullopt;
  if (raw.empty() || raw.size() - 1 > kMaxArrays) return std::nullopt;
  welcome.config_yaml = TextOf(raw[0]);
  raw = raw.subspan(1);
  if (!Take(in.getTasks(), raw, welcome.tasks)) return std::nullopt;
  if (!Take(in.getMachine(), welcome.machine, kMaxMachineBytes)) return std::nullopt;
  if (raw.size() != in.getNumGraphs()) return std::nullopt;
  for (const FrameView graph : raw) welcome.graphs.push_back(TextOf(graph));
  return welcome;
}

}  // namespace

std::vector<Frame> Encode(const ActorMessage& message) {
  return std::visit([](const auto& in) { return ControlFrames(in); }, message);
}

std::vector<Frame> Encode(const LearnerMessage& message) {
  return std::visit([](const auto& in) { return ControlFrames(in); }, message);
}

Frame WelcomeFor(const ActorKey& actor, const Frame& header) {
  kj::Array<capnp::word> words = kj::heapArray<capnp::word>(header.size() / sizeof(capnp::word));
  std::memcpy(words.asBytes().begin(), header.data(), words.size() * sizeof(capnp::word));
  capnp::ReaderOptions options;
  options.traversalLimitInWords = 2 * words.size();
  capnp::FlatArrayMessageReader reader(words, options);
  capnp::MallocMessageBuilder builder;
  builder.setRoot(reader.getRoot<schema::Message>());
  auto message = builder.getRoot<schema::Message>();
  EMPLACE_CHECK(message.isWelcome());
  Put(actor, message.getWelcome().getActor());
  return HeaderFrame(builder);
}

std::optional<ActorMessage> DecodeActorMessage(std::span<const FrameView> frames) {
  if (frames.size() != 1 || frames[0].size() > kMaxActorControlBytes) return std::nullopt;
  return ReadHeader(frames[0], [](schema::Message::Reader message) -> std::optional<ActorMessage> {
    switch (message.which()) {
      case schema::Message::HELLO:
        return ReadHello(message.getHello());
      case schema::Message::HEARTBEAT: {
        const auto in = message.getHeartbeat();
        return Heartbeat{Take(in.getActor()), in.getSession(), in.getProduced(), in.getVersion(), in.getWindowUs()};
      }
      case schema::Message::WEIGHTS_REQUEST:
        return WeightsRequest{Take(message.getWeightsRequest())};
      case schema::Message::WORK_REQUEST: {
        const auto in = message.getWorkRequest();
        return WorkRequest{Take(in.getActor()), in.getSession(), in.getVersion()};
      }
      case schema::Message::GOODBYE: {
        const auto in = message.getGoodbye();
        return Goodbye{Take(in.getActor()), in.getProduced()};
      }
      case schema::Message::MEASURE_REPLY: {
        const auto in = message.getMeasureReply();
        return MeasureReply{Take(in.getActor()), in.getId(), in.getMakespanUs()};
      }
      default:
        return std::nullopt;
    }
  });
}

std::optional<LearnerMessage> DecodeLearnerMessage(std::span<const FrameView> frames) {
  if (frames.empty()) return std::nullopt;
  const std::span<const FrameView> raw = frames.subspan(1);
  return ReadHeader(frames[0], [raw](schema::Message::Reader message) -> std::optional<LearnerMessage> {
    const auto which = message.which();
    if (which == schema::Message::WELCOME) return ReadWelcome(message.getWelcome(), raw);
    if (which == schema::Message::WEIGHTS_REPLY) {
      if (raw.size() != 1) return std::nullopt;
      const auto in = message.getWeightsReply();
      return WeightsReply{in.getVersion(), in.getHash(), TextOf(raw[0])};
    }
    if (which == schema::Message::MEASURE_REQUEST) {
      const auto in = message.getMeasureRequest();
      MeasureRequest request{in.getId(), in.getGraph(), {}};
      if (raw.size() != 1 || raw[0].size() > kMaxSteps || !TakeAll(raw[0], request.groups)) return std::nullopt;
      return request;
    }
    if (!raw.empty()) return std::nullopt;
    switch (which) {
      case schema::Message::NOTICE: {
        const auto in = message.getNotice();
        return Notice{in.getSession(), in.getVersion(), in.getMeasuring(), in.getSequenceLimit()};
      }
      case schema::Message::WORK:
        return ReadWork(message.getWork());
      case schema::Message::REFUSAL:
        return Take(message.getRefusal());
      case schema::Message::STOP:
        return Stop{};
      default:
        return std::nullopt;
    }
  });
}

}  // namespace emplace
