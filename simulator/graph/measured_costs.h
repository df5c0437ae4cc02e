// Op costs measured on hardware, which replace those of a cost model. They come as a CSV table of four columns:
//
//   type,shapes,kind,us
//   aten.mm,20x1440;1440x1440,k80,410.5     these input shapes
//   aten.mm,,k80,95                         any input shapes, unless a row names them
//   aten.mean,64,k80,8.25                   one input of one dimension; a scalar is written ()
//
// `shapes` are the shapes of an op's data inputs, in order, as their producers made them. `us` is microseconds. Rows of
// equal type, shapes and kind are repeated measurements, of which the median counts.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/graph/op_graph.h"

namespace emplace {

// The shapes of an op's data inputs, in order.
using InputShapes = std::vector<std::vector<int64_t>>;

// nullopt where some producer's output has no known shape.
std::optional<InputShapes> ShapesOfInputs(const OpGraph& graph, const Op& op);

struct CostKey {
  std::string type;                   // "aten.mm"
  std::string kind;                   // Device kind.
  std::optional<InputShapes> shapes;  // nullopt: any shapes, unknown ones included.

  auto operator<=>(const CostKey&) const = default;
};
// The shapes as a table writes them; "" for any shapes.
std::string ShapesToText(const std::optional<InputShapes>& shapes);

struct MeasuredCost {
  CostKey key;
  double us = 0;               // Median over the rows; for an even number, the mean of the middle two.
  std::vector<int32_t> lines;  // Lines of the table where the rows begin.
};

// Immutable once parsed; any thread may read one.
class MeasuredCosts {
 public:
  // Throws BadInput "source:line:col: what is wrong, what was expected" for a broken table, an unknown or
  // missing column, a table without rows, an empty type or kind, unreadable shapes, and a time that is not a
  // finite number of at least 0.
  static MeasuredCosts Parse(std::string_view csv, const std::string& source);

  const std::vector<MeasuredCost>& costs() const { return costs_; }  // In the order of their first rows.
  const std::set<std::string>& kinds() const { return kinds_; }
  // Index into costs() of the cost of an op whose inputs have these shapes (nullopt: not all are known). A cost for
  // just these shapes comes before a cost for any shapes. nullopt: no cost was measured.
  std::optional<size_t> Find(const std::string& type, const std::optional<InputShapes>& shapes,
                             const std::string& kind) const;

 private:
  std::vector<MeasuredCost> costs_;
  std::map<CostKey, size_t> index_;  // Indices into costs_.
  std::set<std::string> kinds_;
};

struct TypeCost {
  int64_t ops = 0;
  double us = 0;  // Sum of the ops' costs.
};

// How much of a graph's cost on one device kind is measured.
struct KindCoverage {
  std::string kind;
  int64_t runnable_ops = 0;                    // Ops that may run on the kind after measured costs were applied.
  int64_t measured_ops = 0;                    // Ops whose cost on the kind is measured.
  double runnable_us = 0;                      // Sum of the costs of the runnable ops.
  double measured_us = 0;                      // Sum of the costs of the measured ops.
  std::map<std::string, TypeCost> unmeasured;  // The other runnable ops, by type.
};

struct MeasuredGraph {
  OpGraph graph;
  std::vector<KindCoverage> coverage;  // For each kind in the table, ascending.
  std::set<size_t> used;               // Indices into costs() that gave some op its cost.
};

// Returns the graph with every measured cost in place of the graph's own.
//  - A cost by kind keeps its other kinds. It gains a measured kind that it lacked, unless the op's `allowed` excludes
//    it.
//  - A plain number, the same cost on every device, becomes a cost by kind. The number stays for every other kind that
//    the graph, the table or `other_kinds` name.
// Throws BadInput, which names an op, when the costs add up to 2^63 us or more.
MeasuredGraph ApplyMeasuredCosts(const OpGraph& graph, const MeasuredCosts& measured,
                                 const std::set<std::string>& other_kinds = {});

}  // namespace emplace
