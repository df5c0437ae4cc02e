// Reading small YAML files so that every error names its place: BadInput "path:line:col: ...".
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
  Error At(const YAML::Node& node, const std::string& what) const { return At(node.Mark(), what); }
  // An empty file has no mark of its own: then line and column 1.
  Error At(const YAML::Mark& mark, const std::string& what) const;

  // Each throws At the node, or at `map` where the key is missing. CheckMap also refuses a key given twice.
  void CheckMap(const YAML::Node& node, const std::string& what, const std::set<std::string>& known) const;
  YAML::Node Member(const YAML::Node& map, const std::string& key) const;
  double Number(const YAML::Node& map, const std::string& key) const;    // Finite, at least 0.
  double Positive(const YAML::Node& map, const std::string& key) const;  // Finite, more than 0.
  double Share(const YAML::Node& map, const std::string& key) const;     // More than 0 and at most 1.
  std::string Text(const YAML::Node& map, const std::string& key) const;
  std::string Name(const YAML::Node& node, const std::string& what) const;  // Unicode text that is not empty.

 private:
  std::string source_;
};

// read(reader, root node) of a YAML text, with yaml-cpp's exceptions as BadInput too.
template <typename Read>
auto ReadYaml(std::string_view yaml, const std::string& source, Read read) {
  const YamlReader reader(source);
  try {
    return read(reader, YAML::Load(std::string(yaml)));
  } catch (const YAML::Exception& error) {
    throw reader.At(error.mark, "not valid YAML: " + error.msg);
  }
}

}  // namespace emplace
