// On how many graphs a method is not beaten: what `evaluate` prints and a report shows.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace emplace {

class Wins {
 public:
  // One run, of one seed. makespan_us: infinity without a placement. feasible: it fits the devices' memory.
  void Add(const std::string& graph, const std::string& method, double makespan_us, bool feasible);

  // Graphs on which no other method is faster, by the geometric mean over seeds; one that fits every time beats any
  // that does not, and what does not cannot win. Ties count for all. A method that wins nowhere is left out.
  std::map<std::string, int64_t> ByMethod() const;

 private:
  // A method on one graph, over its seeds.
  struct Standing {
    bool feasible = true;
    double log_sum = 0;
    int64_t runs = 0;

    bool Beats(const Standing& other) const;
  };

  std::map<std::string, std::map<std::string, Standing>> by_graph_;  // Graph -> method.
};

}  // namespace emplace
