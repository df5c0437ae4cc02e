// What `emplace place` prints of a placed graph.
#pragma once

#include <optional>
#include <string>

#include "api/place_graph.h"
#include "api/serving.h"

namespace emplace {

class PlaceReport {
 public:
  // method: the one that was asked for. Throws BadInput for a `meta.llm` of the graph that cannot be read. REQUIRES:
  // all of them outlive the report.
  PlaceReport(const OpGraph& graph, const Cluster& cluster, const std::string& method, Objective objective,
              const PlacedGraph& placed);

  std::string Json() const;  // One line.
  std::string Text() const;

 private:
  int64_t LeftBytes(size_t device) const {
    return cluster_.devices[device].memory_bytes - placed_.chosen.score.peak_bytes[device];
  }
  // Why everything is on one device although another method was asked for.
  std::string Fallback() const;
  std::string SingleDevice() const;
  std::string Devices() const;
  // Which devices lack memory, and how much.
  std::string MissingMemory() const;

  const OpGraph& graph_;
  const Cluster& cluster_;
  const std::string& method_;
  const Objective objective_;
  const PlacedGraph& placed_;
  std::optional<ServingFigures> serving_;  // Of a language model.
};

}  // namespace emplace
