#include "simulator/graph/graph_io.h"

#include <charconv>
#include <cmath>
#include <limits>
#include <unordered_map>

#include "common/error.h"
#include "common/files/file_io.h"
#include "common/files/json_text.h"
#include "common/strings.h"

namespace emplace {
namespace {

using Json = nlohmann::json;

constexpr char kGraphFormat[] = "emplace.graph/1";

double Number(const Json& value, const std::string& place) {
  if (!value.is_number()) throw BadInput(StrCat(place, " is ", ShownJson(value), ", expected a number"));
  const double number = value.get<double>();
  if (!std::isfinite(number) || number < 0) {
    throw BadInput(StrCat(place, " is ", ShownJson(value), ", expected a finite number of at least 0"));
  }
  return number;
}

int64_t Bytes(const Json& value, const std::string& place) {
  const double number = Number(value, place);
  const bool fits = value.is_number_unsigned() ? value.get<uint64_t>() < uint64_t{1} << 63 : number < 0x1p63;
  if (!fits) throw BadInput(StrCat(place, " is ", ShownJson(value), ", expected less than 2^63"));
  if (value.is_number_integer()) return value.get<int64_t>();
  if (number != std::floor(number))
    throw BadInput(StrCat(place, " is ", ShownJson(value), ", expected a whole number of bytes"));
  return static_cast<int64_t>(number);
}

std::string Text(const Json& value, const std::string& place) {
  if (!value.is_string()) throw BadInput(StrCat(place, " is ", ShownJson(value), ", expected a string"));
  return value.get<std::string>();
}

bool Flag(const Json& value, const std::string& place) {
  if (!value.is_boolean()) throw BadInput(StrCat(place, " is ", ShownJson(value), ", expected true or false"));
  return value.get<bool>();
}

const Json& List(const Json& value, const std::string& place) {
  if (!value.is_array()) throw BadInput(StrCat(place, " is ", ShownJson(value), ", expected a list"));
  return value;
}

// The object under `key` as compact JSON text; empty where there is none.
std::string ObjectText(const Json& value, const std::string& key, const std::string& place) {
  const auto found = value.find(key);
  if (found == value.end()) return "";
  if (!found->is_object()) throw BadInput(StrCat(place, ": ", key, " is ", ShownJson(*found), ", expected an object"));
  return found->dump();
}

OpCost ReadCost(const Json& value, const std::string& place) {
  if (!value.is_object()) return OpCost::Everywhere(Number(value, place));
  std::map<std::string, double> by_kind;
  for (const auto& [kind, us] : value.items()) by_kind[kind] = Number(us, StrCat(place, " of '", kind, "'"));
  if (by_kind.empty()) throw BadInput(StrCat(place, " is an empty map, expected a cost for at least one device kind"));
  return OpCost::ByKind(std::move(by_kind));
}

OpOutput ReadOutput(const Json& value, const std::string& place) {
  if (!value.is_object()) throw BadInput(StrCat(place, " is ", ShownJson(value), ", expected an object"));
  CheckKeys(value, {"bytes", "shape", "dtype", "resident"}, place);
  OpOutput output;
  output.bytes = Bytes(RequiredMember(value, "bytes", place), place + " bytes");
  if (value.contains("shape")) {
    std::vector<int64_t>& shape = output.shape.emplace();
    for (const Json& size : List(value["shape"], place + " shape")) shape.push_back(Bytes(size, place + " shape"));
  }
  if (value.contains("dtype")) output.dtype = Text(value["dtype"], place + " dtype");
  if (value.contains("resident")) output.resident = Flag(value["resident"], place + " resident");
  return output;
}

// Everything but the inputs and copy_of, which need the names of all ops.
Op ReadOp(const Json& value, size_t index, const std::string& source) {
  const std::string by_index = source + ": op " + std::to_string(index);
  if (!value.is_object()) throw BadInput(StrCat(by_index, " is ", ShownJson(value), ", expected an object"));
  Op op;
  op.name = Text(RequiredMember(value, "name", by_index), by_index + ": name");
  const std::string place = StrCat(source, ": op '", op.name, "'");
  CheckKeys(value,
            {"name", "type", "cost_us", "inputs", "outputs", "flops", "param_bytes", "temp_bytes", "group", "allowed",
             "copy_of", "attrs", "call"},
            place);
  if (value.contains("type")) op.type = Text(value["type"], place + ": type");
  op.cost = ReadCost(RequiredMember(value, "cost_us", place), place + ": cost_us");
  if (value.contains("outputs")) {
    size_t i = 0;
    for (const Json& output : List(value["outputs"], place + ": outputs")) {
      op.outputs.push_back(ReadOutput(output, place + ": output " + std::to_string(i++)));
    }
  }
  if (value.contains("flops")) op.flops = Number(value["flops"], place + ": flops");
  if (value.contains("param_bytes")) op.param_bytes = Bytes(value["param_bytes"], place + ": param_bytes");
  if (value.contains("temp_bytes")) op.temp_bytes = Bytes(value["temp_bytes"], place + ": temp_bytes");
  if (value.contains("group")) op.group = Text(value["group"], place + ": group");
  if (value.contains("allowed")) {
    for (const Json& kind : List(value["allowed"], place + ": allowed")) {
      op.allowed.push_back(Text(kind, place + ": allowed"));
    }
    if (op.allowed.empty()) throw BadInput(StrCat(place, ": allowed is empty, expected at least one device kind"));
  }
  op.attrs_json = ObjectText(value, "attrs", place);
  op.call_json = ObjectText(value, "call", place);
  return op;
}

using OpNames = std::unordered_map<std::string, OpIndex>;

// "producer:output", "^producer", or "producer" for its output 0. Names may hold ':' themselves: the last one counts,
// unless what stands before it is no op or what follows is no number.
OpInput ReadInput(const std::string& text, const OpNames& names, const std::string& place) {
  const auto unknown = [&](const std::string& producer) {
    return BadInput(StrCat(place, ": input '", text, "': there is no op '", producer, "'"));
  };
  if (text.starts_with('^')) {
    const auto found = names.find(text.substr(1));
    if (found == names.end()) throw unknown(text.substr(1));
    return {found->second, OpInput::kControl};
  }
  const size_t colon = text.rfind(':');
  const auto before_colon = colon == std::string::npos ? names.end() : names.find(text.substr(0, colon));
  if (before_colon != names.end()) {
    uint32_t output = 0;  // Unsigned: a minus sign is no number here.
    const char* const end = text.data() + text.size();
    const auto parsed = std::from_chars(text.data() + colon + 1, end, output);
    if (parsed.ec == std::errc() && parsed.ptr == end && output <= std::numeric_limits<int32_t>::max()) {
      return {before_colon->second, static_cast<int32_t>(output)};
    }
  }
  const auto whole = names.find(text);
  if (whole != names.end()) return {whole->second, 0};
  if (before_colon != names.end()) {
    throw BadInput(StrCat(place, ": input '", text, "': '", text.substr(colon + 1), "' is no output index"));
  }
  throw unknown(text.substr(0, colon));
}

OpIndex ReadCopyOf(const std::string& original, const OpNames& names, const std::string& place) {
  const auto found = names.find(original);
  if (found == names.end()) throw BadInput(StrCat(place, ": copy_of: there is no op '", original, "'"));
  return found->second;
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
  json["inputs"] = Json::array();
  for (const OpInput& input : op.inputs) {
    const std::string& producer = graph.op(input.producer).name;
    json["inputs"].push_back(input.output == OpInput::kControl ? "^" + producer : StrCat(producer, ":", input.output));
  }
  json["outputs"] = Json::array();
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
  const Json root = ParseJson(text, source, [text](size_t offset) { return OpAt(text, offset); });
  if (!root.is_object())
    throw BadInput(StrCat(source, ": is ", ShownJson(root), ", expected an object with '", kGraphFormat, "'"));
  const std::string format = Text(RequiredMember(root, "format", source), source + ": format");
  if (format != kGraphFormat)
    throw BadInput(StrCat(source, ": format is '", format, "', expected '", kGraphFormat, "'"));
  CheckKeys(root, {"format", "name", "ops", "meta"}, source);
  const std::string name = root.contains("name") ? Text(root["name"], source + ": name") : source;

  const std::string meta = ObjectText(root, "meta", source);

  const Json& list = List(RequiredMember(root, "ops", source), source + ": ops");
  std::vector<Op> ops;
  ops.reserve(list.size());
  OpNames names;
  for (const Json& entry : list) {
    ops.push_back(ReadOp(entry, ops.size(), source));
    if (!names.emplace(ops.back().name, static_cast<OpIndex>(ops.size() - 1)).second) {
      throw BadInput(StrCat(source, ": op '", ops.back().name, "': the name is used twice"));
    }
  }
  for (size_t o = 0; o < ops.size(); ++o) {
    const std::string place = source + ": op '" + ops[o].name + "'";
    if (list[o].contains("copy_of")) {
      ops[o].copy_of = ReadCopyOf(Text(list[o]["copy_of"], place + ": copy_of"), names, place);
    }
    if (!list[o].contains("inputs")) continue;
    for (const Json& input : List(list[o]["inputs"], place + ": inputs")) {
      ops[o].inputs.push_back(ReadInput(Text(input, place + ": input"), names, place));
    }
  }
  try {
    return OpGraph(name, std::move(ops), meta);
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
