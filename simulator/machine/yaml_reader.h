// Reads small YAML files, with errors that name the place: BadInput "path:line:col: ...".
#pragma once

#include <yaml-cpp/yaml.h>

#include <set>
#include <string>
#include <string_view>

#include "common/error.h"

namespace emplace {

class YamlReader {
 public:
  // `source` names the file in errors.
  explicit YamlReader(const std::string& source) : source_(source) {}

  const std::string& source() const { return source_; }
  // Make the BadInput for the reader to throw. An empty file has no mark; its place is line 1, column 1.
  Error At(const YAML::Node& node, const std::string& what) const { return At(node.Mark(), what); }
  Error At(const YAML::Mark& mark, const std::string& what) const;

  // Each throws a BadInput with the place of the node, or of `map` if the key is missing. CheckMap also refuses a key
  // that is given twice.
  void CheckMap(const YAML::Node& node, const std::string& what, const std::set<std::string>& known) const;
  YAML::Node Member(const YAML::Node& map, const std::string& key, const std::string& expected) const;
  double Number(const YAML::Node& map, const std::string& key) const;         // A finite number, at least 0.
  double Positive(const YAML::Node& map, const std::string& key) const;       // A finite number above 0.
  double Share(const YAML::Node& map, const std::string& key) const;          // A number of 0 to 1.
  double PositiveShare(const YAML::Node& map, const std::string& key) const;  // A number above 0 and at most 1.
  std::string Text(const YAML::Node& map, const std::string& key) const;
  std::string Name(const YAML::Node& node, const std::string& what) const;  // Unicode text that is not empty.

 private:
  std::string source_;
};

// The one document of a YAML text; a null node where it is empty. Throws BadInput "source:line:col: ..." for text that
// is no YAML, or holds more documents.
YAML::Node LoadYaml(std::string_view yaml, const std::string& source);

// Calls read(reader, root node) for a YAML text, and turns yaml-cpp's exceptions into BadInput.
template <typename Read>
auto ReadYaml(std::string_view yaml, const std::string& source, Read read) {
  const YamlReader reader(source);
  try {
    return read(reader, LoadYaml(yaml, source));
  } catch (const YAML::Exception& error) {
    throw reader.At(error.mark, "not valid YAML: " + error.msg);
  }
}

}  // namespace emplace
