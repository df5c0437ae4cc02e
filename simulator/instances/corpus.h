// Captured graphs, of which instances are made.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/rng.h"
#include "simulator/graph/op_graph.h"
#include "simulator/instances/instance_config.h"

namespace emplace {

// Constant after construction; any thread may call it. Keeps graphs as JSON text without calls and shapes, which takes
// less memory than ops do and is read sooner than the files.
class Corpus {
 public:
  // Reads the files *.graph.json and *.graph.json.zst in the folder of this part; an empty path or a part without a
  // folder has none. Graphs of fewer than min_ops or more than most_ops ops are left out. Throws BadInput for a folder
  // or a file that cannot be read, and in the part kTrain for a file of an architecture that is for judging
  // (IsReserved).
  Corpus(const std::string& folder, InstancePart part, int32_t min_ops, int32_t most_ops);

  size_t size() const { return files_.size(); }
  // The name of a file that is drawn, without its endings, and its ops in a topological order, with costs in us that
  // are the same on all devices: those of one of the device kinds of the file, which is drawn too. REQUIRES: size() >
  // 0.
  struct Draw {
    std::string name;
    std::vector<Op> ops;
  };
  Draw DrawOps(Rng& rng) const;

 private:
  struct File {
    std::string path;
    std::string name;  // Of the file, without .graph.json and .zst.
    std::string json;  // Ops are in a topological order.
  };
  std::vector<File> files_;  // By path.
};

// Whether the name of a graph has the name of an architecture that no training may see.
bool IsReserved(const std::string& graph_name);

}  // namespace emplace
