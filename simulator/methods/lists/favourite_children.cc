#include "simulator/methods/lists/favourite_children.h"

#include <algorithm>
#include <coin/ClpSimplex.hpp>
#include <coin/ClpSolve.hpp>
#include <coin/CoinPackedMatrix.hpp>
#include <memory>
#include <tuple>
#include <utility>

#include "common/error.h"
#include "common/threads/abandonable.h"

namespace emplace {
namespace {

constexpr double kFavourite = 0.5;

struct Dependency {
  OpIndex from;
  OpIndex to;
  double transfer_us;  // 0 within a unit: these are together anyway.
};

std::vector<Dependency> Dependencies(const ScheduleGraph& graph) {
  std::vector<Dependency> dependencies;
  for (OpIndex op = 0; op < graph.num_ops(); ++op) {
    for (const int32_t tensor : graph.InputsOf(op)) {
      const OpIndex producer = graph.ProducerOf(tensor);
      const double us = graph.UnitOf(producer) == graph.UnitOf(op) ? 0 : graph.MeanTransferUs(tensor);
      dependencies.push_back({producer, op, us});
    }
  }
  // Of several tensors between two ops, the one that takes longest.
  std::ranges::sort(dependencies, {}, [&](const Dependency& d) { return std::tuple(d.from, d.to, -d.transfer_us); });
  const auto repeats = [](const Dependency& a, const Dependency& b) { return a.from == b.from && a.to == b.to; };
  dependencies.erase(std::unique(dependencies.begin(), dependencies.end(), repeats), dependencies.end());
  return dependencies;
}

// Rows as they come: coefficients and a lower bound, row * x >= bound.
class Rows {
 public:
  void Add(std::initializer_list<std::pair<int, double>> entries, double bound) {
    for (const auto& [column, value] : entries) Put(column, value);
    End(bound);
  }
  void Put(int column, double value) {
    row_.push_back(std::ssize(bounds_));
    column_.push_back(column);
    value_.push_back(value);
  }
  void End(double bound) { bounds_.push_back(bound); }

  CoinPackedMatrix Matrix(int columns) const {
    std::vector<int> rows(row_.begin(), row_.end());
    CoinPackedMatrix matrix(true, rows.data(), column_.data(), value_.data(), static_cast<CoinBigIndex>(value_.size()));
    matrix.setDimensions(static_cast<int>(bounds_.size()), columns);
    return matrix;
  }
  const std::vector<double>& bounds() const { return bounds_; }

 private:
  std::vector<std::ptrdiff_t> row_;
  std::vector<int> column_;
  std::vector<double> value_;
  std::vector<double> bounds_;
};

}  // namespace

std::vector<OpIndex> FavouriteChildren(const ScheduleGraph& graph) {
  const int n = graph.num_ops();
  const std::vector<Dependency> dependencies = Dependencies(graph);
  // Columns: s of each op, then w, then x of each dependency that may need a transfer.
  const int w = n;
  int columns = n + 1;
  std::vector<int> x_of(dependencies.size(), -1);
  std::vector<std::vector<int>> readers(static_cast<size_t>(n));    // Of an op: its x as producer.
  std::vector<std::vector<int>> producers(static_cast<size_t>(n));  // ... as reader.
  Rows rows;
  for (OpIndex op = 0; op < n; ++op) rows.Add({{w, 1}, {op, -1}}, graph.MeanCostUs(op));
  for (size_t i = 0; i < dependencies.size(); ++i) {
    const auto [from, to, transfer_us] = dependencies[i];
    if (transfer_us == 0) {
      rows.Add({{to, 1}, {from, -1}}, graph.MeanCostUs(from));
      continue;
    }
    x_of[i] = columns++;
    rows.Add({{to, 1}, {from, -1}, {x_of[i], -transfer_us}}, graph.MeanCostUs(from));
    readers[static_cast<size_t>(from)].push_back(x_of[i]);
    producers[static_cast<size_t>(to)].push_back(x_of[i]);
  }
  for (const auto& side : {readers, producers}) {
    for (const std::vector<int>& xs : side) {
      if (xs.size() < 2) continue;  // Met by any x.
      for (const int x : xs) rows.Put(x, 1);
      rows.End(static_cast<double>(xs.size() - 1));
    }
  }

  std::vector<double> lower(static_cast<size_t>(columns), 0.0);
  std::vector<double> upper(static_cast<size_t>(columns), COIN_DBL_MAX);
  std::fill(upper.begin() + n + 1, upper.end(), 1.0);
  std::vector<double> cost(static_cast<size_t>(columns), 0.0);
  cost[static_cast<size_t>(w)] = 1;
  const auto solve = [matrix = rows.Matrix(columns), bounds = rows.bounds(), lower, upper, cost] {
    const std::vector<double> row_upper(bounds.size(), COIN_DBL_MAX);
    ClpSimplex program;
    program.setLogLevel(0);
    program.loadProblem(matrix, lower.data(), upper.data(), cost.data(), bounds.data(), row_upper.data());
    ClpSolve options;
    options.setSolveType(ClpSolve::useDual);
    options.setSpecialOption(2, 1);  // No handler for SIGINT: Ctrl-C is the program's.
    program.initialSolve(options);
    if (!program.isProvenOptimal()) throw RunFailed("the linear program of m-sct has no solution");
    return std::vector<double>(program.getColSolution(), program.getColSolution() + cost.size());
  };
  const std::vector<double> solution = RunOrAbandon(solve, graph.stop());

  // Half and half would give two favourites: the smaller x wins, then the earlier dependency.
  std::vector<size_t> candidates;
  for (size_t i = 0; i < dependencies.size(); ++i) {
    if (x_of[i] >= 0 && solution[static_cast<size_t>(x_of[i])] < kFavourite) candidates.push_back(i);
  }
  std::stable_sort(candidates.begin(), candidates.end(), [&](size_t a, size_t b) {
    return solution[static_cast<size_t>(x_of[a])] < solution[static_cast<size_t>(x_of[b])];
  });
  std::vector<OpIndex> favourite(static_cast<size_t>(n), -1);
  std::vector<bool> taken(static_cast<size_t>(n));
  for (const size_t i : candidates) {
    const auto [from, to, transfer_us] = dependencies[i];
    if (favourite[static_cast<size_t>(from)] >= 0 || taken[static_cast<size_t>(to)]) continue;
    favourite[static_cast<size_t>(from)] = to;
    taken[static_cast<size_t>(to)] = true;
  }
  return favourite;
}

}  // namespace emplace
