// emplace.graph/1 files (design, section 3).
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "simulator/op_graph.h"

namespace emplace {

// Reads *.graph.json or *.graph.json.zst. Throws BadInput "path:line:col: ..." for broken JSON, and "path: op 'x': ..."
// for what is wrong with an op.
OpGraph LoadGraph(const std::filesystem::path& path);
OpGraph ParseGraph(std::string_view json, const std::string& source);  // `source` names it in errors.

// Byte-identical for equal graphs; one op a line.
std::string GraphToJson(const OpGraph& graph);

}  // namespace emplace
