// Parses the command line of a program, with the errors that all of them have. Include this in .cc files only: CLI11 is
// a large header.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "common/error.h"
#include "common/parse_number.h"
#include "common/strings.h"

namespace emplace {

// Returns the exit code if the program has only been asked for its help or version, which it has printed then. Throws
// BadInput for a wrong command line.
inline std::optional<int> ParseCommandLine(CLI::App& app, int argc, const char* const* argv) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& help) {
    std::ostringstream text;
    const int exit_code = app.exit(help, text, text);
    std::fputs(text.str().c_str(), stdout);  // RunMain sees what becomes of it.
    return exit_code;
  } catch (const CLI::RequiredError& error) {
    std::vector<std::string> names;  // Of the subcommands that help shows.
    for (const CLI::App* const command : app.get_subcommands([](const CLI::App*) { return true; })) {
      if (!command->get_group().empty()) names.push_back(command->get_name());
    }
    const std::vector<std::string> rest = app.remaining();
    if (names.empty() || rest.empty() || !app.get_subcommands().empty()) {
      throw BadInput(std::string(error.what()) + " (see --help)");
    }
    throw BadInput(StrCat("there is no subcommand '", rest.front(), "', expected one of: ", Join(names, ", ")));
  } catch (const CLI::ParseError& error) {
    throw BadInput(std::string(error.what()) + " (see --help)");
  }
  return std::nullopt;
}

// For an option that is a number from `low` to `high`. CLI::Range, which it is like, takes nan for one.
inline CLI::Validator NumberIn(double low, double high) {
  const auto check = [low, high](const std::string& text) -> std::string {
    double value = 0;
    if (CLI::detail::lexical_cast(text, value) && value >= low && value <= high) return "";
    return StrCat("Value ", text, " not in range ", low, " to ", high);
  };
  return {check, StrCat("FLOAT in [", low, " - ", high, "]")};
}

// For an option that names a file: an unset variable of the shell would leave nothing of it, and nothing written.
inline CLI::Validator NotEmpty() {
  return {[](const std::string& text) -> std::string { return text.empty() ? "it is empty, expected a file" : ""; },
          ""};
}

// For an option that is a seed: a whole number below 2^64. By itself CLI11 takes -1 for 2^64 - 1.
inline CLI::Validator Seed() {
  const auto check = [](const std::string& text) -> std::string {
    if (ParseNumber<uint64_t>(text)) return "";
    return StrCat("Value ", text, " is no whole number from 0 to 2^64 - 1");
  };
  return {check, ""};
}

}  // namespace emplace
