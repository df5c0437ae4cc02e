// The files of a run directory that are the run's own, so that no command writes over them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "common/files/output_files.h"

namespace emplace {

// What an argument that takes a file or a run directory reads, for CheckOutputFiles: the file, or all files that the
// run writes, of which some may not exist yet. Other files in the directory, such as a report, are not among them.
std::vector<FileArgument> InputFiles(const std::string& argument, const std::filesystem::path& path);

}  // namespace emplace
