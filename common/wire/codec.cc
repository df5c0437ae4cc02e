#include "common/wire/codec.h"

#include <capnp/message.h>
#include <capnp/serialize.h>
#include <kj/exception.h>
#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>
#include <utility>

#include "common/error.h"
#include "common/wire/messages.capnp.h"

namespace emplace {
namespace {

static_assert(std::endian::native == std::endian::little, "raw frames are little-endian");

// Message, a struct of it, its lists and texts: four deep at most.
constexpr int kMaxNesting = 8;

// --- Encoding ---

template <typename T>
Frame BytesOf(const std::vector<T>& values) {
  Frame frame(values.size() * sizeof(T), '\0');
  if (!values.empty()) std::memcpy(frame.data(), values.data(), frame.size());
  return frame;
}

Frame HeaderFrame(capnp::MallocMessageBuilder& builder) {
  const kj::Array<capnp::word> words = capnp::messageToFlatArray(builder);
  const auto bytes = words.asBytes();
  Frame frame(bytes.size(), '\0');
  std::memcpy(frame.data(), bytes.begin(), bytes.size());
  return frame;
}

void Put(const ActorKey& key, schema::ActorKey::Builder out) {
  out.setActorId(key.actor_id);
  out.setIncarnation(key.incarnation);
}

schema::ElementType ToSchema(ArrayType type) {
  switch (type) {
    case ArrayType::kUint8:
      return schema::ElementType::UINT8;
    case ArrayType::kInt32:
      return schema::ElementType::INT32;
    case ArrayType::kInt64:
      return schema::ElementType::INT64;
    case ArrayType::kUint64:
      return schema::ElementType::UINT64;
    case ArrayType::kFloat32:
      return schema::ElementType::FLOAT32;
    case ArrayType::kFloat64:
      return schema::ElementType::FLOAT64;
  }
  CheckFailed(__FILE__, __LINE__, "array type is known", "");
}

// Whole, zero bytes included; the implicit conversion would end at the first one.
capnp::Text::Reader Text(const std::string& text) { return {text.data(), text.size()}; }

using Frames = std::vector<Frame>;

// Appends a frame for each array.
void Put(const ArrayBundle& bundle, schema::Bundle::Builder out, Frames& raw) {
  const std::vector<NamedArray>& arrays = bundle.arrays();
  EMPLACE_CHECK(!arrays.empty());  // A bundle without arrays does not decode.
  auto specs = out.initArrays(static_cast<unsigned>(arrays.size()));
  for (unsigned a = 0; a < specs.size(); ++a) {
    const NamedArray& array = arrays[a];
    EMPLACE_CHECK(array.bytes.size() % SizeOf(array.type) == 0);
    specs[a].setName(Text(array.name));
    specs[a].setType(ToSchema(array.type));
    specs[a].setCount(array.bytes.size() / SizeOf(array.type));
    raw.push_back(BytesOf(array.bytes));
  }
}

void Put(const std::vector<ArrayBundle>& bundles, capnp::List<schema::Bundle>::Builder out, Frames& raw) {
  for (unsigned i = 0; i < out.size(); ++i) Put(bundles[i], out[i], raw);
}

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

void Fill(const Refusal& refusal, schema::Message::Builder message, Frames&) {
  const std::string reason = refusal.reason.substr(0, kMaxTextBytes);
  message.initRefusal().setReason(Text(reason));
}

void Fill(const Stop&, schema::Message::Builder message, Frames&) { message.setStop(); }

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

// A log-probability for each decision, and rewards for each or for the end.
bool HasLegalSizes(const Trajectory& trajectory) {
  const size_t decisions = trajectory.actions.size();
  const bool has_start = !trajectory.start_placement.empty();
  return decisions <= kMaxSteps && (!has_start || trajectory.start_placement.size() == decisions) &&
         trajectory.behaviour_log_prob.size() == decisions &&
         (trajectory.rho.size() == decisions + 1 || trajectory.rho.size() == 1);
}

void Fill(const Trajectory& trajectory, schema::Message::Builder message, Frames& raw) {
  EMPLACE_CHECK(HasLegalSizes(trajectory));
  auto out = message.initTrajectory();
  out.setGraph(trajectory.graph);
  Put(trajectory.actor, out.initActor());
  out.setSequence(trajectory.sequence);
  out.setPolicyVersion(trajectory.policy_version);
  out.setIndex(trajectory.index);
  out.setClaim(trajectory.claim == Claim::kMeasured ? schema::Claim::MEASURED : schema::Claim::SIMULATED);
  raw.push_back(BytesOf(trajectory.start_placement));
  raw.push_back(BytesOf(trajectory.actions));
  raw.push_back(BytesOf(trajectory.behaviour_log_prob));
  raw.push_back(BytesOf(trajectory.rho));
}

template <typename Struct>
Frames EncodeStruct(const Struct& in) {
  capnp::MallocMessageBuilder builder;
  Frames raw;
  Fill(in, builder.initRoot<schema::Message>(), raw);
  Frames frames;
  frames.reserve(1 + raw.size());
  frames.push_back(HeaderFrame(builder));
  for (Frame& frame : raw) frames.push_back(std::move(frame));
  return frames;
}

template <typename... Structs>
Frames EncodeVariant(const std::variant<Structs...>& message) {
  return std::visit([](const auto& in) { return EncodeStruct(in); }, message);
}

// --- Decoding ---

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

bool Take(capnp::Text::Reader in, std::string& out, size_t most = kMaxTextBytes) {
  if (in.size() > most) return false;
  out.assign(in.cStr(), in.size());
  return true;
}

ActorKey Take(schema::ActorKey::Reader in) { return {in.getActorId(), in.getIncarnation()}; }

std::optional<ArrayType> FromSchema(schema::ElementType type) {
  switch (type) {
    case schema::ElementType::UINT8:
      return ArrayType::kUint8;
    case schema::ElementType::INT32:
      return ArrayType::kInt32;
    case schema::ElementType::INT64:
      return ArrayType::kInt64;
    case schema::ElementType::UINT64:
      return ArrayType::kUint64;
    case schema::ElementType::FLOAT32:
      return ArrayType::kFloat32;
    case schema::ElementType::FLOAT64:
      return ArrayType::kFloat64;
  }
  return std::nullopt;  // An enumerant of a newer or of no schema.
}

// False unless the frame holds whole elements.
template <typename T>
bool TakeAll(FrameView frame, std::vector<T>& out) {
  if (frame.size() % sizeof(T) != 0) return false;
  out.resize(frame.size() / sizeof(T));
  if (!out.empty()) std::memcpy(out.data(), frame.data(), frame.size());
  return true;
}

std::string TextOf(FrameView frame) { return std::string(frame.begin(), frame.end()); }

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

// Takes the frames of the arrays off the front of `raw`. False where they are not those that the header names.
bool Take(schema::Bundle::Reader in, std::span<const FrameView>& raw, ArrayBundle& bundle) {
  const auto specs = in.getArrays();
  if (specs.size() == 0 || specs.size() > raw.size()) return false;
  std::vector<NamedArray>& arrays = bundle.arrays();
  for (const schema::ArraySpec::Reader spec : specs) {
    const std::optional<ArrayType> type = FromSchema(spec.getType());
    if (!type) return false;
    NamedArray& array = arrays.emplace_back();
    array.type = *type;
    if (!Take(spec.getName(), array.name)) return false;
    const size_t element = SizeOf(*type);
    if (raw[0].size() % element != 0 || raw[0].size() / element != spec.getCount()) return false;
    array.bytes.assign(raw[0].begin(), raw[0].end());
    raw = raw.subspan(1);
  }
  return true;
}

bool Take(capnp::List<schema::Bundle>::Reader in, std::span<const FrameView>& raw, std::vector<ArrayBundle>& bundles) {
  // An empty list of structs may claim any length for free; a task without arrays is none, so frames bound the tasks.
  if (in.size() > raw.size()) return false;
  for (const schema::Bundle::Reader bundle : in) {
    if (!Take(bundle, raw, bundles.emplace_back())) return false;
  }
  return true;
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

std::vector<Frame> Encode(const ActorMessage& message) { return EncodeVariant(message); }
std::vector<Frame> Encode(const LearnerMessage& message) { return EncodeVariant(message); }
std::vector<Frame> Encode(const RankMessage& message) { return EncodeVariant(message); }
std::vector<Frame> Encode(const LeaderMessage& message) { return EncodeVariant(message); }
std::vector<Frame> Encode(const Trajectory& trajectory) { return EncodeStruct(trajectory); }

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
        return Notice{in.getSession(), in.getVersion(), in.getMeasuring()};
      }
      case schema::Message::WORK:
        return ReadWork(message.getWork());
      case schema::Message::REFUSAL: {
        Refusal refusal;
        if (!Take(message.getRefusal().getReason(), refusal.reason)) return std::nullopt;
        return refusal;
      }
      case schema::Message::STOP:
        return Stop{};
      default:
        return std::nullopt;
    }
  });
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
    Refusal refusal;
    if (!Take(message.getRefusal().getReason(), refusal.reason)) return std::nullopt;
    return refusal;
  });
}

std::optional<Trajectory> DecodeTrajectory(std::span<const FrameView> frames) {
  if (frames.size() != 5) return std::nullopt;
  return ReadHeader(frames[0], [frames](schema::Message::Reader message) -> std::optional<Trajectory> {
    if (message.which() != schema::Message::TRAJECTORY) return std::nullopt;
    const auto in = message.getTrajectory();
    Trajectory trajectory;
    trajectory.graph = in.getGraph();
    trajectory.actor = Take(in.getActor());
    trajectory.sequence = in.getSequence();
    trajectory.policy_version = in.getPolicyVersion();
    trajectory.index = in.getIndex();
    if (in.getClaim() > schema::Claim::MEASURED) return std::nullopt;  // An enumerant of a newer or of no schema.
    trajectory.claim = in.getClaim() == schema::Claim::MEASURED ? Claim::kMeasured : Claim::kSimulated;
    const bool whole = TakeAll(frames[1], trajectory.start_placement) && TakeAll(frames[2], trajectory.actions) &&
                       TakeAll(frames[3], trajectory.behaviour_log_prob) && TakeAll(frames[4], trajectory.rho);
    if (!whole || !HasLegalSizes(trajectory)) return std::nullopt;
    return trajectory;
  });
}

uint64_t WeightsHash(std::string_view blob) { return XXH3_64bits(blob.data(), blob.size()); }

}  // namespace emplace
