#include "common/wire/messages/codec_parts.h"

#include <bit>

#include "common/error.h"

namespace emplace::codec {
namespace {

static_assert(std::endian::native == std::endian::little, "raw frames are little-endian");

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

}  // namespace

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

void Fill(const Refusal& refusal, schema::Message::Builder message, Frames& /*raw*/) {
  const std::string reason = refusal.reason.substr(0, kMaxTextBytes);
  message.initRefusal().setReason(Text(reason));
}

void Fill(const Stop& /*stop*/, schema::Message::Builder message, Frames& /*raw*/) { message.setStop(); }

ActorKey Take(schema::ActorKey::Reader in) { return {in.getActorId(), in.getIncarnation()}; }

bool Take(capnp::Text::Reader in, std::string& out, size_t most) {
  if (in.size() > most) return false;
  out.assign(in.cStr(), in.size());
  return true;
}

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

std::optional<Refusal> Take(schema::Refusal::Reader in) {
  Refusal refusal;
  if (!Take(in.getReason(), refusal.reason)) return std::nullopt;
  return refusal;
}

}  // namespace emplace::codec
