// Reads and writes emplace.graph/1 files; docs/placing.md describes the format.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "simulator/graph/op_graph.h"

namespace emplace {

// Reads *.graph.json or *.graph.json.zst. Throws BadInput "path:line:col: ..." for text that is not JSON, and
// "path: op 'x': ..." for an op with an error.
OpGraph LoadGraph(const std::filesystem::path& path);
OpGraph ParseGraph(std::string_view json, const std::string& source);  // `source` names the text in errors.

// Whether it is named as such a file.
bool IsGraphFile(const std::filesystem::path& path);

// Writes one op per line. Equal graphs give equal bytes.
std::string GraphToJson(const OpGraph& graph);

}  // namespace emplace
