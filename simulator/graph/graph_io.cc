#include "simulator/graph/graph_io.h"

#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include "common/error.h"
#include "common/files/file_io.h"
#include "common/files/json_text.h"
#include "common/files/json_tree.h"
#include "common/strings.h"
#include "simulator/graph/op_names.h"

namespace emplace {
namespace {

constexpr char kGraphFormat[] = "emplace.graph/1";

Error Unexpected(const JsonValue& value, const JsonPlace& place, std::string_view expected) {
  return BadInput(StrCat(place.Words(), " is ", ShownJson(value), ", expected ", expected));
}

void CheckKind(const JsonValue& value, JsonKind kind, const JsonPlace& place, std::string_view expected) {
  if (value.kind() != kind) throw Unexpected(value, place, expected);
}

double Number(const JsonValue& value, const JsonPlace& place) {
  CheckKind(value, JsonKind::kNumber, place, "a number");
  const double number = value.Number();
  if (number < 0) throw Unexpected(value, place, "a finite number of at least 0");
  return number;
}

int64_t Bytes(const JsonValue& value, const JsonPlace& place) {
  const double number = Number(value, place);
  if (const auto whole = value.WholeNumber()) return *whole;
  if (number >= 0x1p63) throw Unexpected(value, place, "less than 2^63");
  if (number != std::floor(number)) throw Unexpected(value, place, "a whole number of bytes");
  return static_cast<int64_t>(number);
}

std::string Text(const JsonValue& value, const JsonPlace& place) {
  CheckKind(value, JsonKind::kString, place, "a string");
  return std::string(value.text());
}

bool Flag(const JsonValue& value, const JsonPlace& place) {
  CheckKind(value, JsonKind::kBoolean, place, "true or false");
  return value.text() == "true";
}

const JsonValue& List(const JsonValue& value, const JsonPlace& place) {
  CheckKind(value, JsonKind::kList, place, "a list");
  return value;
}

// The object under `key` as compact JSON text; empty where there is none.
std::string ObjectText(const JsonValue& value, std::string_view key, const JsonPlace& place) {
  const JsonValue* const found = value.Find(key);
  if (found == nullptr) return "";
  CheckKind(*found, JsonKind::kObject, place.At(": ", key), "an object");
  return found->Dump();
}

OpCost ReadCost(const JsonValue& value, const JsonPlace& place) {
  if (!value.is_object()) return OpCost::Everywhere(Number(value, place));
  std::map<std::string, double> by_kind;
  for (const JsonValue* const us : value.ByKey()) {
    by_kind.emplace_hint(by_kind.end(), us->key(), Number(*us, place.At(" of '", us->key(), "'")));
  }
  if (by_kind.empty()) {
    throw BadInput(StrCat(place.Words(), " is an empty map, expected a cost for at least one device kind"));
  }
  return OpCost::ByKind(std::move(by_kind));
}

OpOutput ReadOutput(const JsonValue& value, const JsonPlace& place) {
  CheckKind(value, JsonKind::kObject, place, "an object");
  CheckKeys(value, {"bytes", "shape", "dtype", "resident"}, place);
  OpOutput output;
  output.bytes = Bytes(RequiredMember(value, "bytes", place), place.At(" bytes"));
  if (const JsonValue* const shape = value.Find("shape")) {
    output.shape.emplace();
    for (const JsonValue& size : List(*shape, place.At(" shape"))) {
      output.shape->push_back(Bytes(size, place.At(" shape")));
    }
  }
  if (const JsonValue* const dtype = value.Find("dtype")) output.dtype = Text(*dtype, place.At(" dtype"));
  if (const JsonValue* const flag = value.Find("resident")) output.resident = Flag(*flag, place.At(" resident"));
  return output;
}

std::vector<OpOutput> ReadOutputs(const JsonValue& value, const JsonPlace& place) {
  std::vector<OpOutput> outputs;
  for (const JsonValue& output : List(value, place.At(": outputs"))) {
    const std::string index = std::to_string(outputs.size());
    outputs.push_back(ReadOutput(output, place.At(": output ", index)));
  }
  return outputs;
}

std::vector<std::string> ReadAllowed(const JsonValue& value, const JsonPlace& place) {
  std::vector<std::string> allowed;
  for (const JsonValue& kind : List(value, place)) allowed.push_back(Text(kind, place));
  if (allowed.empty()) throw BadInput(StrCat(place.Words(), " is empty, expected at least one device kind"));
  return allowed;
}

// Everything but the inputs and copy_of, which need the names of all ops.
Op ReadOp(const JsonValue& value, size_t index, const JsonPlace& source) {
  const std::string number = std::to_string(index);
  const JsonPlace by_index = source.At(": op ", number);
  CheckKind(value, JsonKind::kObject, by_index, "an object");
  Op op;
  op.name = Text(RequiredMember(value, "name", by_index), by_index.At(": name"));
  const JsonPlace place = source.At(": op '", op.name, "'");
  CheckKeys(value,
            {"name", "type", "cost_us", "inputs", "outputs", "flops", "param_bytes", "temp_bytes", "group", "allowed",
             "copy_of", "attrs", "call"},
            place);
  if (const JsonValue* const type = value.Find("type")) op.type = Text(*type, place.At(": type"));
  op.cost = ReadCost(RequiredMember(value, "cost_us", place), place.At(": cost_us"));
  if (const JsonValue* const outputs = value.Find("outputs")) op.outputs = ReadOutputs(*outputs, place);
  if (const JsonValue* const flops = value.Find("flops")) op.flops = Number(*flops, place.At(": flops"));
  if (const JsonValue* const size = value.Find("param_bytes")) op.param_bytes = Bytes(*size, place.At(": param_bytes"));
  if (const JsonValue* const size = value.Find("temp_bytes")) op.temp_bytes = Bytes(*size, place.At(": temp_bytes"));
  if (const JsonValue* const group = value.Find("group")) op.group = Text(*group, place.At(": group"));
  if (const JsonValue* const allowed = value.Find("allowed")) op.allowed = ReadAllowed(*allowed, place.At(": allowed"));
  op.attrs_json = ObjectText(value, "attrs", place);
  op.call_json = ObjectText(value, "call", place);
  return op;
}

Error NoSuchOp(const JsonPlace& place, std::string_view name) {
  return BadInput(StrCat(place.Words(), ": there is no op '", name, "'"));
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
    uint32_t output = 0;  // Unsigned: a minus sign is no number here.
    const char* const end = text.data() + text.size();
    const auto parsed = std::from_chars(text.data() + colon + 1, end, output);
    if (parsed.ec == std::errc() && parsed.ptr == end && output <= std::numeric_limits<int32_t>::max()) {
      return {*before_colon, static_cast<int32_t>(output)};
    }
  }
  if (const auto whole = names.Find(text)) return {*whole, 0};
  if (before_colon) {
    throw BadInput(StrCat(place.Words(), ": '", text.substr(colon + 1), "' is no output index"));
  }
  throw NoSuchOp(place, text.substr(0, colon));
}

// Takes the ops as they come. Names of other ops are looked up when all have come, and an error waits until then: that
// the file is no JSON, or of another format, comes first.
class OpsReader {
 public:
  explicit OpsReader(const JsonPlace& source) : source_(source) {}

  void Take(const JsonValue& value) {
    try {
      if (!error_) AddOp(value);
    } catch (const Error& error) {
      error_ = error;
    }
  }

  std::vector<Op> Finish() {
    if (error_) throw *error_;
    for (const Link& link : links_) Resolve(link);
    if (link_error_) throw *link_error_;
    return std::move(ops_);
  }

 private:
  // A name of another op.
  struct Link {
    size_t op = 0;
    bool is_copy_of = false;  // Or an input.
    std::string_view text;
  };

  JsonPlace PlaceOf(const Op& op) const { return source_.At(": op '", op.name, "'"); }

  void AddOp(const JsonValue& value) {
    const Op& op = ops_.emplace_back(ReadOp(value, ops_.size(), source_));
    if (!names_.Add(value.Find("name")->text())) {
      throw BadInput(StrCat(PlaceOf(op).Words(), ": the name is used twice"));
    }
    try {
      if (!link_error_) AddLinks(value, PlaceOf(op));
    } catch (const Error& error) {
      link_error_ = error;
    }
  }

  void AddLinks(const JsonValue& value, const JsonPlace& place) {
    if (const JsonValue* const original = value.Find("copy_of")) AddLink(*original, true, place.At(": copy_of"));
    const JsonValue* const inputs = value.Find("inputs");
    if (inputs == nullptr) return;
    for (const JsonValue& input : List(*inputs, place.At(": inputs"))) AddLink(input, false, place.At(": input"));
  }

  void AddLink(const JsonValue& value, bool is_copy_of, const JsonPlace& place) {
    CheckKind(value, JsonKind::kString, place, "a string");
    links_.push_back({ops_.size() - 1, is_copy_of, value.text()});
  }

  void Resolve(const Link& link) {
    Op& op = ops_[link.op];
    if (link.is_copy_of) {
      op.copy_of = FindOp(link.text, names_, PlaceOf(op).At(": copy_of"));
    } else {
      op.inputs.push_back(ReadInput(link.text, names_, PlaceOf(op)));
    }
  }

  const JsonPlace& source_;
  std::vector<Op> ops_;
  OpNames names_;
  std::optional<Error> error_;
  std::vector<Link> links_;  // All before link_error_.
  std::optional<Error> link_error_;
};

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

void WriteOp(const OpGraph& graph, const Op& op, std::string& out) {
  // Ordered by hand: the keys come in the order of the format's example.
  nlohmann::ordered_json json;
  json["name"] = op.name;
  json["type"] = op.type;
  if (op.cost.is_uniform()) {
    json["cost_us"] = *op.cost.On("");
  } else {
    for (const auto& [kind, us] : op.cost.by_kind()) json["cost_us"][kind] = us;
  }
  json["inputs"] = nlohmann::json::array();
  for (const OpInput& input : op.inputs) {
    const std::string& producer = graph.op(input.producer).name;
    json["inputs"].push_back(input.output == OpInput::kControl ? "^" + producer : StrCat(producer, ":", input.output));
  }
  json["outputs"] = nlohmann::json::array();
  for (const OpOutput& output : op.outputs) {
    nlohmann::ordered_json entry;
    entry["bytes"] = output.bytes;
    if (output.shape) entry["shape"] = *output.shape;
    if (!output.dtype.empty()) entry["dtype"] = output.dtype;
    if (output.resident) entry["resident"] = true;
    json["outputs"].push_back(std::move(entry));
  }
  if (op.flops != 0) json["flops"] = op.flops;
  if (op.param_bytes != 0) json["param_bytes"] = op.param_bytes;
  if (op.temp_bytes != 0) json["temp_bytes"] = op.temp_bytes;
  if (!op.group.empty()) json["group"] = op.group;
  if (!op.allowed.empty()) json["allowed"] = op.allowed;
  if (op.copy_of != Op::kNoCopy) json["copy_of"] = graph.op(op.copy_of).name;
  if (!op.attrs_json.empty()) json["attrs"] = nlohmann::ordered_json::parse(op.attrs_json);
  if (!op.call_json.empty()) json["call"] = nlohmann::ordered_json::parse(op.call_json);
  out += json.dump();
}

}  // namespace

OpGraph ParseGraph(std::string_view text, const std::string& source) {
  const JsonPlace place(source);
  OpsReader ops(place);
  const JsonTree tree(text, source, [text](size_t offset) { return OpAt(text, offset); },
                      {.key = "ops", .take = [&ops](const JsonValue& op) { ops.Take(op); }});
  const JsonValue& root = tree.root();
  CheckKind(root, JsonKind::kObject, place.At(":"), StrCat("an object with '", kGraphFormat, "'"));
  const std::string format = Text(RequiredMember(root, "format", place), place.At(": format"));
  if (format != kGraphFormat)
    throw BadInput(StrCat(source, ": format is '", format, "', expected '", kGraphFormat, "'"));
  CheckKeys(root, {"format", "name", "ops", "meta"}, place);
  const JsonValue* const given_name = root.Find("name");
  const std::string name = given_name == nullptr ? source : Text(*given_name, place.At(": name"));
  const std::string meta = ObjectText(root, "meta", place);
  List(RequiredMember(root, "ops", place), place.At(": ops"));
  std::vector<Op> all = ops.Finish();
  try {
    return OpGraph(name, std::move(all), meta);
  } catch (const Error& error) {
    throw BadInput(StrCat(source, ": ", error.what()));
  }
}

OpGraph LoadGraph(const std::filesystem::path& path) {
  return ParseGraph(ReadMaybeCompressedFile(path), path.string());
}

std::string GraphToJson(const OpGraph& graph) {
  std::string out = StrCat("{\"format\": \"", kGraphFormat, "\", \"name\": ", JsonLine(graph.name()), ", ");
  if (!graph.meta_json().empty()) out += StrCat("\"meta\": ", graph.meta_json(), ", ");
  out += "\"ops\": [\n";
  for (OpIndex o = 0; o < graph.num_ops(); ++o) {
    WriteOp(graph, graph.op(o), out);
    out += o + 1 < graph.num_ops() ? ",\n" : "\n";
  }
  out += "]}\n";
  return out;
}

}  // namespace emplace
