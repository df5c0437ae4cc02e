// Keeps a command from writing over what it reads, from writing two things to one file, and from hours of work whose
// result no file can take.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace emplace {

// A file that a command reads or writes, and the argument that says so.
struct FileArgument {
  std::string argument;        // Such as "--graph"; names the file in errors.
  std::filesystem::path path;  // Empty: the argument is not given.
};

// Throws BadInput, such as "--out is './g.graph.json', which belongs to --graph, expected another file", if an output
// is one of the inputs or another output, under whatever name: ./x, a symbolic link or a hard link. The files need not
// exist. An output that is a device or a pipe, such as /dev/null, may be named more than once. Call it before anything
// is written, with all files of the command.
void CheckFilesDiffer(const std::vector<FileArgument>& outputs, const std::vector<FileArgument>& inputs);

// Does the same, and throws BadInput if an output is a folder, or its folder does not exist.
void CheckOutputFiles(const std::vector<FileArgument>& outputs, const std::vector<FileArgument>& inputs);

}  // namespace emplace
