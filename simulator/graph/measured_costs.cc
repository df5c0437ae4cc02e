#include "simulator/graph/measured_costs.h"

#include <algorithm>
#include <cmath>

#include "common/files/csv.h"
#include "common/parse_number.h"
#include "common/quantile.h"
#include "common/strings.h"

namespace emplace {
namespace {

constexpr char kScalar[] = "()";

// "20x1440;()" -> {{20, 1440}, {}}; nullopt where that is not what the text is.
std::optional<InputShapes> ParseShapes(const std::string& text) {
  InputShapes shapes;
  for (const std::string& shape : Split(text, ';')) {
    shapes.emplace_back();
    if (shape == kScalar) continue;
    for (const std::string& size : Split(shape, 'x')) {
      const std::optional<int64_t> number = ParseNumber<int64_t>(size);
      if (!number || *number < 0) return std::nullopt;
      shapes.back().push_back(*number);
    }
  }
  return shapes;
}

// Where each column of a table stands.
class Columns {
 public:
  Columns(const CsvRow& header, const std::string& source) : source_(source) {
    const std::vector<std::string> names = {"type", "shapes", "kind", "us"};
    for (const CsvField& field : header) {
      if (std::find(names.begin(), names.end(), field.text) == names.end()) {
        throw CsvError(source, field, StrCat("unknown column '", field.text, "', expected ", Join(names, ", ")));
      }
    }
    for (const std::string& name : names) {
      const auto found = std::find_if(header.begin(), header.end(), [&](const CsvField& f) { return f.text == name; });
      if (found == header.end()) {
        throw CsvError(source, header.front(), StrCat("column '", name, "' is missing, expected ", Join(names, ", ")));
      }
      position_[name] = static_cast<size_t>(found - header.begin());
    }
  }

  CostKey Key(const CsvRow& row) const {
    CostKey key = {.type = Name(row, "type"), .kind = Name(row, "kind"), .shapes = std::nullopt};
    const CsvField& shapes = row[position_.at("shapes")];
    if (shapes.text.empty()) return key;
    key.shapes = ParseShapes(shapes.text);
    if (!key.shapes)
      throw Wrong(shapes, "shapes", "sizes like '20x1440;1440x1440' ('()' is a scalar, nothing any shapes)");
    return key;
  }

  double Microseconds(const CsvRow& row) const {
    const CsvField& us = row[position_.at("us")];
    const std::optional<double> number = ParseNumber<double>(us.text);
    if (!number || !std::isfinite(*number) || *number < 0) throw Wrong(us, "us", "a finite number of at least 0");
    if (*number >= 0x1p63) throw Wrong(us, "us", "less than 2^63, which no sum of costs may reach");
    return *number;
  }

 private:
  std::string Name(const CsvRow& row, const std::string& column) const {
    const CsvField& field = row[position_.at(column)];
    if (field.text.empty()) throw Wrong(field, column, "a name");
    return field.text;
  }

  Error Wrong(const CsvField& field, const std::string& column, const std::string& expected) const {
    return CsvError(source_, field, StrCat(column, " is '", field.text, "', expected ", expected));
  }

  const std::string& source_;
  std::map<std::string, size_t> position_;
};

// An op's cost as a map, a plain number written out for each kind.
std::map<std::string, double> ByKind(const OpCost& cost, const std::set<std::string>& kinds) {
  if (!cost.is_uniform()) return cost.by_kind();
  std::map<std::string, double> by_kind;
  for (const std::string& kind : kinds) by_kind[kind] = *cost.On(kind);
  return by_kind;
}

void Count(const Op& op, bool measured, KindCoverage& coverage) {
  if (!op.AllowedOn(coverage.kind)) return;
  const double us = *op.cost.On(coverage.kind);
  ++coverage.runnable_ops;
  coverage.runnable_us += us;
  if (measured) {
    ++coverage.measured_ops;
    coverage.measured_us += us;
  } else {
    TypeCost& rest = coverage.unmeasured[op.type];
    ++rest.ops;
    rest.us += us;
  }
}

}  // namespace

std::optional<InputShapes> ShapesOfInputs(const OpGraph& graph, const Op& op) {
  InputShapes shapes;
  for (const OpInput& input : op.inputs) {
    if (input.output == OpInput::kControl) continue;
    const OpOutput& output = graph.op(input.producer).outputs[static_cast<size_t>(input.output)];
    if (!output.shape) return std::nullopt;
    shapes.push_back(*output.shape);
  }
  return shapes;
}

std::string ShapesToText(const std::optional<InputShapes>& shapes) {
  if (!shapes) return "";
  std::vector<std::string> texts;
  for (const std::vector<int64_t>& shape : *shapes) {
    std::vector<std::string> sizes;
    for (const int64_t size : shape) sizes.push_back(std::to_string(size));
    texts.push_back(sizes.empty() ? kScalar : Join(sizes, "x"));
  }
  return Join(texts, ";");
}

MeasuredCosts MeasuredCosts::Parse(std::string_view csv, const std::string& source) {
  const CsvTable table = ParseCsv(csv, source);
  const Columns columns(table.header, source);
  if (table.rows.empty())
    throw CsvError(source, table.header.front(), "no row follows the header, expected at least one");
  MeasuredCosts measured;
  std::vector<std::vector<double>> runs;  // By index into costs_.
  for (const CsvRow& row : table.rows) {
    const CostKey key = columns.Key(row);
    const auto [entry, is_new] = measured.index_.emplace(key, measured.costs_.size());
    if (is_new) {
      measured.costs_.push_back({.key = key, .us = 0, .lines = {}});
      measured.kinds_.insert(key.kind);
      runs.emplace_back();
    }
    measured.costs_[entry->second].lines.push_back(row.front().line);
    runs[entry->second].push_back(columns.Microseconds(row));
  }
  for (size_t i = 0; i < runs.size(); ++i) measured.costs_[i].us = Median(std::move(runs[i]));
  return measured;
}

std::optional<size_t> MeasuredCosts::Find(const std::string& type, const std::optional<InputShapes>& shapes,
                                          const std::string& kind) const {
  auto found = index_.find({.type = type, .kind = kind, .shapes = shapes});
  if (found == index_.end()) found = index_.find({.type = type, .kind = kind, .shapes = std::nullopt});
  return found == index_.end() ? std::nullopt : std::optional<size_t>(found->second);
}

MeasuredGraph ApplyMeasuredCosts(const OpGraph& graph, const MeasuredCosts& measured,
                                 const std::set<std::string>& other_kinds) {
  std::set<std::string> kinds = graph.DeviceKinds();
  kinds.insert(other_kinds.begin(), other_kinds.end());
  kinds.insert(measured.kinds().begin(), measured.kinds().end());

  std::vector<KindCoverage> coverage;
  for (const std::string& kind : measured.kinds()) coverage.push_back({.kind = kind, .unmeasured = {}});
  std::set<size_t> used;
  std::vector<Op> ops = graph.ops();
  for (Op& op : ops) {
    const std::optional<InputShapes> shapes = ShapesOfInputs(graph, op);
    std::map<std::string, double> replaced;
    for (const std::string& kind : measured.kinds()) {
      const std::optional<size_t> found = measured.Find(op.type, shapes, kind);
      if (!found || !op.AllowsKind(kind)) continue;
      replaced[kind] = measured.costs()[*found].us;
      used.insert(*found);
    }
    if (!replaced.empty()) {
      std::map<std::string, double> cost = replaced;
      cost.merge(ByKind(op.cost, kinds));  // Keeps what `cost` has already.
      op.cost = OpCost::ByKind(cost);
    }
    for (KindCoverage& of_kind : coverage) Count(op, replaced.contains(of_kind.kind), of_kind);
  }
  return {OpGraph(graph.name(), std::move(ops), graph.meta_json()), std::move(coverage), std::move(used)};
}

}  // namespace emplace
