// Op costs measured on hardware, which replace those of a cost model. They come as a CSV table of four columns:
//
//   type,shapes,kind,us
//   aten.mm,20x1440;1440x1440,k80,410.5     these input shapes
//   aten.mm,,k80,95                         any input shapes, unless a row names them
//   aten.mean,64,k80,8.25                   one input of one dimension; a scalar is written ()
//
// `shapes` are those of an op's data inputs, in order, as their producers made them; `us` is microseconds. Rows of
// equal type, shapes and kind are runs of one thing: their median counts.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/op_graph.h"

namespace emplace {

// The shapes of an op's data inputs, in order.
using InputShapes = std::vector<std::vector<int64_t>>;

struct CostKey {
  std::string type;                   // "aten.mm"
  std::string kind;                   // Of device.
  std::optional<InputShapes> shapes;  // nullopt: any, unknown ones included.

  auto operator<=>(const CostKey&) const = default;
};
// As a table writes it; "" for any.
std::string ShapesToText(const std::optional<InputShapes>& shapes);

struct MeasuredCost {
  CostKey key;
  double us = 0;               // Median over its rows; of an even number, the mean of the middle two.
  std::vector<int32_t> lines;  // Of the table, where those rows begin.
};

// Immutable once parsed; any thread may read one.
class MeasuredCosts {
 public:
  // Throws BadInput "source:line:col: what, expected": a broken table, an unknown or missing column, no row, no type or
  // kind, unreadable shapes, a time that is not a finite number of at least 0.
  static MeasuredCosts Parse(std::string_view csv, const std::string& source);

  const std::vector<MeasuredCost>& costs() const { return costs_; }  // In the order of their first rows.
  const std::set<std::string>& kinds() const { return kinds_; }
  // Index into costs() of what an op costs whose inputs have these shapes (nullopt: not all known). A cost for just
  // these shapes comes before one for any.
  std::optional<size_t> Find(const std::string& type, const std::optional<InputShapes>& shapes,
                             const std::string& kind) const;

 private:
  std::vector<MeasuredCost> costs_;
  std::map<CostKey, size_t> index_;  // Into costs_.
  std::set<std::string> kinds_;
};

struct TypeCost {
  int64_t ops = 0;
  double us = 0;  // Sum.
};

// How much of a graph's cost on one device kind is measured.
struct KindCoverage {
  std::string kind;
  int64_t runnable_ops = 0;  // May run on the kind, measurements applied.
  int64_t measured_ops = 0;
  double runnable_us = 0;                      // Cost of the former.
  double measured_us = 0;                      // And of the latter.
  std::map<std::string, TypeCost> unmeasured;  // By op type: the rest.
};

struct MeasuredGraph {
  OpGraph graph;
  std::vector<KindCoverage> coverage;  // By kind of the table, ascending.
  std::set<size_t> used;               // Indices into costs() that gave some op its cost.
};

// The graph with every measured cost in place of what was there.
//  - A cost by kind keeps its other kinds, and gains a measured one that it lacked, unless the op's `allowed` excludes
//  it.
//  - A plain number means "the same on every device", which stops being true: it becomes a cost by kind, and the number
//    stays for every other kind that the graph, the table or `other_kinds` name.
// Throws BadInput naming the op when the costs add up to 2^63 us or more.
MeasuredGraph ApplyMeasuredCosts(const OpGraph& graph, const MeasuredCosts& measured,
                                 const std::set<std::string>& other_kinds = {});

}  // namespace emplace
