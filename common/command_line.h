// Parses the command line of a program, with the errors that all of them have. Include this in .cc files only: CLI11 is
// a large header.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "common/error.h"

namespace emplace {

// Returns the exit code if the program has only been asked for its help or version, which it has printed then. Throws
// BadInput for a wrong command line.
inline std::optional<int> ParseCommandLine(CLI::App& app, int argc, const char* const* argv) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    throw BadInput(std::string(error.what()) + " (see --help)");
  }
  return std::nullopt;
}

}  // namespace emplace
