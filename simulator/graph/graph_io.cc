#include "simulator/graph/graph_io.h"

#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "common/error.h"
#include "common/error_place.h"
#include "common/files/file_io.h"
#include "common/files/json_document.h"
#include "common/files/json_text.h"
#include "common/parse_number.h"
#include "common/strings.h"
#include "simulator/graph/op_names.h"

namespace emplace {
namespace {

using simdjson::dom::element_type;

constexpr char kGraphFormat[] = "emplace.graph/1";

Error Unexpected(const JsonElement& value, const JsonPlace& place, std::string_view expected) {
  return BadInput(StrCat(place.Words(), " is ", ShownJson(value), ", expected ", expected));
}

// The value as a T, such as a double.
template <typename T>
T Get(const JsonElement& value, const JsonPlace& place, std::string_view expected) {
  T found;
  if (value.get(found) != simdjson::SUCCESS) throw Unexpected(value, place, expected);
  return found;
}

double Number(const JsonElement& value, const JsonPlace& place) {
  const auto number = Get<double>(value, place, "a number");
  if (number < 0) throw Unexpected(value, place, "a finite number of at least 0");
  return number;
}

int64_t Bytes(const JsonElement& value, const JsonPlace& place) {
  const double number = Number(value, place);
  int64_t whole = 0;
  if (value.get(whole) == simdjson::SUCCESS) return whole;
  if (number >= 0x1p63) throw Unexpected(value, place, "less than 2^63");
  if (number != std::floor(number)) throw Unexpected(value, place, "a whole number");
  return static_cast<int64_t>(number);
}

std::string_view Text(const JsonElement& value, const JsonPlace& place) {
  return Get<std::string_view>(value, place, "a string");
}

bool Flag(const JsonElement& value, const JsonPlace& place) { return Get<bool>(value, place, "true or false"); }

JsonList List(const JsonElement& value, const JsonPlace& place) { return Get<JsonList>(value, place, "a list"); }

void CheckIsObject(const JsonElement& value, const JsonPlace& place, std::string_view expected = "an object") {
  if (value.type() != element_type::OBJECT) throw Unexpected(value, place, expected);
}

// The object under `key` as compact JSON text; empty where there is none.
std::string ObjectText(const JsonElement& value, std::string_view key, const JsonPlace& place, JsonWriter& writer) {
  const auto found = FindMember(value, key);
  if (!found) return "";
  CheckIsObject(*found, place.At(": ", key));
  return writer.Write(*found);
}

// last: as in OpCost::ByKind.
OpCost ReadCost(const JsonElement& value, const JsonPlace& place, KindNames& last) {
  if (!value.is_object()) return OpCost::Everywhere(Number(value, place));
  std::vector<KindCost> costs;
  for (const JsonMember& us : MembersByKey(value))
    costs.emplace_back(us.key, Number(us.value, place.At(" of '", us.key, "'")));
  if (costs.empty()) {
    throw BadInput(StrCat(place.Words(), " is an empty map, expected a cost for at least one device kind"));
  }
  return OpCost::ByKind(costs, last);
}

OpOutput ReadOutput(const JsonElement& value, const JsonPlace& place) {
  CheckIsObject(value, place);
  CheckKeys(value, {"bytes", "shape", "dtype", "resident"}, place);
  OpOutput output;
  output.bytes = Bytes(RequiredMember(value, "bytes", place, "a whole number"), place.At(" bytes"));
  if (const auto shape = FindMember(value, "shape")) {
    output.shape.emplace();
    for (const JsonElement size : List(*shape, place.At(" shape"))) {
      output.shape->push_back(Bytes(size, place.At(" shape")));
    }
  }
  if (const auto dtype = FindMember(value, "dtype")) output.dtype = Text(*dtype, place.At(" dtype"));
  if (const auto flag = FindMember(value, "resident")) output.resident = Flag(*flag, place.At(" resident"));
  return output;
}

std::vector<OpOutput> ReadOutputs(const JsonElement& value, const JsonPlace& place) {
  std::vector<OpOutput> outputs;
  for (const JsonElement output : List(value, place.At(": outputs"))) {
    const std::string index = std::to_string(outputs.size());
    outputs.push_back(ReadOutput(output, place.At(": output ", index)));
  }
  return outputs;
}

std::vector<std::string> ReadAllowed(const JsonElement& value, const JsonPlace& place) {
  std::vector<std::string> allowed;
  for (const JsonElement kind : List(value, place)) allowed.emplace_back(Text(kind, place));
  if (allowed.empty()) throw BadInput(StrCat(place.Words(), " is empty, expected at least one device kind"));
  return allowed;
}

std::string_view ReadName(const JsonElement& value, size_t index, const JsonPlace& source) {
  const std::string number = std::to_string(index);
  const JsonPlace place = source.At(": op ", number);
  CheckIsObject(value, place);
  return Text(RequiredMember(value, "name", place, "a string"), place.At(": name"));
}

// What one op after the other makes use of.
struct OpReader {
  JsonWriter attrs;
  JsonWriter call;
  KindNames kinds;  // Of the last cost by kind.
};

// Everything but the inputs and copy_of, which need the names of all ops.
Op ReadOp(const JsonElement& value, std::string_view name, const JsonPlace& place, OpReader& reader) {
  CheckKeys(value,
            {"name", "type", "cost_us", "inputs", "outputs", "flops", "param_bytes", "temp_bytes", "group", "allowed",
             "copy_of", "attrs", "call"},
            place);
  Op op;
  op.name = name;
  if (const auto type = FindMember(value, "type")) op.type = Text(*type, place.At(": type"));
  op.cost =
      ReadCost(RequiredMember(value, "cost_us", place, "a number, or an object with a number for each device kind"),
               place.At(": cost_us"), reader.kinds);
  if (const auto outputs = FindMember(value, "outputs")) op.outputs = ReadOutputs(*outputs, place);
  if (const auto flops = FindMember(value, "flops")) op.flops = Number(*flops, place.At(": flops"));
  if (const auto size = FindMember(value, "param_bytes")) op.param_bytes = Bytes(*size, place.At(": param_bytes"));
  if (const auto size = FindMember(value, "temp_bytes")) op.temp_bytes = Bytes(*size, place.At(": temp_bytes"));
  if (const auto group = FindMember(value, "group")) op.group = Text(*group, place.At(": group"));
  if (const auto allowed = FindMember(value, "allowed")) op.allowed = ReadAllowed(*allowed, place.At(": allowed"));
  op.attrs_json = ObjectText(value, "attrs", place, reader.attrs);
  op.call_json = ObjectText(value, "call", place, reader.call);
  return op;
}

Error NoSuchOp(const JsonPlace& place, std::string_view name) {
  return BadInput(StrCat(place.Words(), ": there is no op '", name, "', expected the name of an op of this graph"));
}

OpIndex FindOp(std::string_view name, const OpNames& names, const JsonPlace& place) {
  const auto found = names.Find(name);
  if (!found) throw NoSuchOp(place, name);
  return *found;
}

// "producer:output", "^producer", or "producer" for its output 0. Names may hold ':' themselves: the last one counts,
// unless what stands before it is no op or what follows is no number.
OpInput ReadInput(std::string_view text, const OpNames& names, const JsonPlace& op) {
  const JsonPlace place = op.At(": input '", text, "'");
  if (text.starts_with('^')) return {FindOp(text.substr(1), names, place), OpInput::kControl};
  const size_t colon = text.rfind(':');
  const auto before_colon = colon == std::string::npos ? std::nullopt : names.Find(text.substr(0, colon));
  if (before_colon) {
    // Unsigned: a minus sign is no number here.
    const std::optional<uint32_t> output = ParseNumber<uint32_t>(text.substr(colon + 1));
    if (output && *output <= std::numeric_limits<int32_t>::max()) return {*before_colon, static_cast<int32_t>(*output)};
  }
  if (const auto whole = names.Find(text)) return {*whole, 0};
  if (before_colon) {
    throw BadInput(
        StrCat(place.Words(), ": '", text.substr(colon + 1), "' is no output index, expected a whole number from 0"));
  }
  throw NoSuchOp(place, text.substr(0, colon));
}

// What an op says about others.
void ReadLinks(const JsonElement& value, const OpNames& names, const JsonPlace& place, Op& op) {
  if (const auto original = FindMember(value, "copy_of")) {
    const JsonPlace copy_of = place.At(": copy_of");
    op.copy_of = FindOp(Text(*original, copy_of), names, copy_of);
  }
  if (const auto inputs = FindMember(value, "inputs")) {
    for (const JsonElement input : List(*inputs, place.At(": inputs"))) {
      op.inputs.push_back(ReadInput(Text(input, place.At(": input")), names, place));
    }
  }
}

std::vector<Op> ReadOps(const JsonList& list, const JsonPlace& source) {
  std::vector<Op> ops;
  ops.reserve(list.size());
  OpNames names;
  OpReader reader;
  for (const JsonElement value : list) {
    const std::string_view name = ReadName(value, ops.size(), source);
    const JsonPlace place = source.At(": op '", name, "'");
    ops.push_back(ReadOp(value, name, place, reader));
    if (!names.Add(name))
      throw BadInput(StrCat(place.Words(), ": the name is used twice, expected another name for each op"));
  }
  auto op = ops.begin();
  for (const JsonElement value : list) {
    ReadLinks(value, names, source.At(": op '", op->name, "'"), *op);
    ++op;
  }
  return ops;
}

// "in op 'b': " where the byte at `offset` of a graph file lies inside an op. Works on broken JSON, up to the break.
std::string OpAt(std::string_view text, size_t offset) {
  int depth = 0;
  int64_t index = -1;
  std::string_view last_key;  // Of the root object.
  std::string_view name;
  bool name_comes = false;
  for (size_t i = 0; i < offset; ++i) {
    const char c = text[i];
    if (c == '{' || c == '[') {
      if (++depth == 3) {
        ++index;
        name = {};
      }
    } else if (c == '}' || c == ']') {
      --depth;
    } else if (c == '"') {
      size_t end = i + 1;
      while (end < text.size() && text[end] != '"') end += text[end] == '\\' ? size_t{2} : size_t{1};
      if (end >= text.size()) break;
      const std::string_view token = text.substr(i + 1, end - i - 1);
      if (depth == 1) last_key = token;
      if (depth == 3 && name_comes) name = token;
      name_comes = depth == 3 && token == "name" && text.substr(end + 1, 1) == ":";
      i = end;
    }
  }
  if (depth < 3 || last_key != "ops") return "";
  return name.empty() ? StrCat("in op ", index, ": ") : StrCat("in op '", name, "': ");
}

// Writes the members of an op in the order of the format's example, as text: a document of each op took most of the
// time of writing a graph.
class OpWriter {
 public:
  OpWriter(const OpGraph& graph, std::string& out) : graph_(graph), out_(out) {}

  void Write(const Op& op) {
    out_ += "{\"name\":";
    AppendJson(op.name, out_);
    Key("type");
    AppendJson(op.type, out_);
    WriteCost(op.cost);
    Key("inputs");
    WriteList(op.inputs, [&](const OpInput& input) { WriteInput(input); });
    Key("outputs");
    WriteList(op.outputs, [&](const OpOutput& output) { WriteOutput(output); });
    if (op.flops != 0) {
      Key("flops");
      AppendJson(op.flops, out_);
    }
    WriteBytes("param_bytes", op.param_bytes);
    WriteBytes("temp_bytes", op.temp_bytes);
    WriteText("group", op.group);
    if (!op.allowed.empty()) {
      Key("allowed");
      WriteList(op.allowed, [&](const std::string& kind) { AppendJson(kind, out_); });
    }
    if (op.copy_of != Op::kNoCopy) WriteText("copy_of", graph_.op(op.copy_of).name);
    WriteJson("attrs", op.attrs_json);
    WriteJson("call", op.call_json);
    out_ += '}';
  }

 private:
  void Key(std::string_view key) {
    out_ += ",\"";
    out_ += key;
    out_ += "\":";
  }

  template <typename List, typename WriteItem>
  void WriteList(const List& items, const WriteItem& write) {
    out_ += '[';
    for (const auto& item : items) {
      if (&item != &items.front()) out_ += ',';
      write(item);
    }
    out_ += ']';
  }

  void WriteCost(const OpCost& cost) {
    Key("cost_us");
    if (cost.is_uniform()) return AppendJson(cost.everywhere_us(), out_);
    char before = '{';
    for (size_t kind = 0; kind < cost.kinds().size(); ++kind) {
      out_ += std::exchange(before, ',');
      AppendJson(cost.kinds()[kind], out_);
      out_ += ':';
      AppendJson(cost.us_by_kind()[kind], out_);
    }
    out_ += '}';
  }

  void WriteInput(const OpInput& input) {
    const std::string& producer = graph_.op(input.producer).name;
    AppendJson(input.output == OpInput::kControl ? StrCat("^", producer) : StrCat(producer, ":", input.output), out_);
  }

  void WriteOutput(const OpOutput& output) {
    out_ += "{\"bytes\":";
    out_ += std::to_string(output.bytes);
    if (output.shape) {
      Key("shape");
      WriteList(*output.shape, [&](int64_t size) { out_ += std::to_string(size); });
    }
    WriteText("dtype", output.dtype);
    if (output.resident) WriteJson("resident", "true");
    out_ += '}';
  }

  void WriteBytes(std::string_view key, int64_t bytes) {
    if (bytes != 0) WriteJson(key, std::to_string(bytes));
  }

  void WriteText(std::string_view key, const std::string& text) {
    if (text.empty()) return;
    Key(key);
    AppendJson(text, out_);
  }

  void WriteJson(std::string_view key, const std::string& json) {
    if (json.empty()) return;
    Key(key);
    out_ += json;
  }

  const OpGraph& graph_;
  std::string& out_;
};

}  // namespace

OpGraph ParseGraph(std::string_view text, const std::string& source) {
  const JsonPlace place(source);
  const JsonDocument document(text, source, [text](size_t offset) { return OpAt(text, offset); });
  const JsonElement root = document.root();
  CheckIsObject(root, place.At(":"), StrCat("an object with '", kGraphFormat, "'"));
  const std::string_view format =
      Text(RequiredMember(root, "format", place, StrCat("'", kGraphFormat, "'")), place.At(": format"));
  if (format != kGraphFormat)
    throw BadInput(StrCat(source, ": format is '", format, "', expected '", kGraphFormat, "'"));
  CheckKeys(root, {"format", "name", "ops", "meta"}, place);
  const auto given_name = FindMember(root, "name");
  const std::string name(given_name ? Text(*given_name, place.At(": name")) : source);
  JsonWriter writer;
  const std::string meta = ObjectText(root, "meta", place, writer);
  std::vector<Op> ops = ReadOps(List(RequiredMember(root, "ops", place, "a list"), place.At(": ops")), place);
  return WithPlace(source, [&] { return OpGraph(name, std::move(ops), meta); });
}

OpGraph LoadGraph(const std::filesystem::path& path) {
  return ParseGraph(ReadMaybeCompressedFile(path), path.string());
}

bool IsGraphFile(const std::filesystem::path& path) {
  const std::string name = path.filename().string();
  return name.ends_with(".graph.json") || name.ends_with(".graph.json.zst");
}

std::string GraphToJson(const OpGraph& graph) {
  std::string out = StrCat("{\"format\": \"", kGraphFormat, "\", \"name\": ", JsonLine(graph.name()), ", ");
  if (!graph.meta_json().empty()) out += StrCat("\"meta\": ", graph.meta_json(), ", ");
  out += "\"ops\": [\n";
  OpWriter writer(graph, out);
  for (OpIndex o = 0; o < graph.num_ops(); ++o) {
    writer.Write(graph.op(o));
    out += o + 1 < graph.num_ops() ? ",\n" : "\n";
  }
  out += "]}\n";
  return out;
}

}  // namespace emplace
