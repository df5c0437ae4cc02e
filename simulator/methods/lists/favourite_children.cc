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

// Columns: s of each op, then w, then x of each dependency that may need a transfer.
struct FavouritesProgram {
  Rows rows;
  int num_columns;
  int w;
  std::vector<int> x_of;  // By dependency: its column, -1 where it needs no transfer.
};

FavouritesProgram ProgramOf(const ScheduleGraph& graph, const std::vector<Dependency>& dependencies) {
  const int n = graph.num_ops();
  FavouritesProgram program = {
      .rows = {}, .num_columns = n + 1, .w = n, .x_of = std::vector<int>(dependencies.size(), -1)};
  std::vector<std::vector<int>> readers(static_cast<size_t>(n));    // Of an op: its x as producer.
  std::vector<std::vector<int>> producers(static_cast<size_t>(n));  // ... as reader.
  Rows& rows = program.rows;
  for (OpIndex op = 0; op < n; ++op) rows.Add({{program.w, 1}, {op, -1}}, graph.MeanCostUs(op));
  for (size_t i = 0; i < dependencies.size(); ++i) {
    const auto [from, to, transfer_us] = dependencies[i];
    if (transfer_us == 0) {
      rows.Add({{to, 1}, {from, -1}}, graph.MeanCostUs(from));
      continue;
    }
    const int x = program.x_of[i] = program.num_columns++;
    rows.Add({{to, 1}, {from, -1}, {x, -transfer_us}}, graph.MeanCostUs(from));
    readers[static_cast<size_t>(from)].push_back(x);
    producers[static_cast<size_t>(to)].push_back(x);
  }
  for (const auto& side : {readers, producers}) {
    for (const std::vector<int>& xs : side) {
      if (xs.size() < 2) continue;  // Met by any x.
      for (const int x : xs) rows.Put(x, 1);
      rows.End(static_cast<double>(xs.size() - 1));
    }
  }
  return program;
}

// The value of each column. Throws Stopped once `stop` says so, and RunFailed where there is no solution.
std::vector<double> Solve(const FavouritesProgram& program, const StopSignal& stop) {
  const auto columns = static_cast<size_t>(program.num_columns);
  std::vector<double> lower(columns, 0.0);
  std::vector<double> upper(columns, COIN_DBL_MAX);
  std::fill(upper.begin() + program.w + 1, upper.end(), 1.0);
  std::vector<double> cost(columns, 0.0);
  cost[static_cast<size_t>(program.w)] = 1;
  const auto solve = [matrix = program.rows.Matrix(program.num_columns), bounds = program.rows.bounds(), lower, upper,
                      cost] {
    const std::vector<double> row_upper(bounds.size(), COIN_DBL_MAX);
    ClpSimplex simplex;
    simplex.setLogLevel(0);
    simplex.loadProblem(matrix, lower.data(), upper.data(), cost.data(), bounds.data(), row_upper.data());
    ClpSolve options;
    options.setSolveType(ClpSolve::useDual);
    options.setSpecialOption(2, 1);  // No handler for SIGINT: Ctrl-C is the program's.
    simplex.initialSolve(options);
    if (!simplex.isProvenOptimal()) throw RunFailed("the linear program of m-sct has no solution");
    return std::vector<double>(simplex.getColSolution(), simplex.getColSolution() + cost.size());
  };
  return RunOrAbandon(solve, stop);
}

}  // namespace

std::vector<OpIndex> FavouriteChildren(const ScheduleGraph& graph) {
  const std::vector<Dependency> dependencies = Dependencies(graph);
  const FavouritesProgram program = ProgramOf(graph, dependencies);
  const std::vector<double> solution = Solve(program, graph.stop());
  const auto value = [&](size_t i) { return solution[static_cast<size_t>(program.x_of[i])]; };
  // Half and half would give two favourites: the smaller x wins, then the earlier dependency.
  std::vector<size_t> candidates;
  for (size_t i = 0; i < dependencies.size(); ++i) {
    if (program.x_of[i] >= 0 && value(i) < kFavourite) candidates.push_back(i);
  }
  std::ranges::stable_sort(candidates, {}, value);
  std::vector<OpIndex> favourite(static_cast<size_t>(graph.num_ops()), -1);
  std::vector<bool> taken(favourite.size());
  for (const size_t i : candidates) {
    const auto [from, to, transfer_us] = dependencies[i];
    if (favourite[static_cast<size_t>(from)] >= 0 || taken[static_cast<size_t>(to)]) continue;
    favourite[static_cast<size_t>(from)] = to;
    taken[static_cast<size_t>(to)] = true;
  }
  return favourite;
}

}  // namespace emplace
