#include "simulator/machine/yaml_reader.h"

#include <yaml-cpp/eventhandler.h>

#include <cmath>
#include <optional>
#include <sstream>

#include "common/strings.h"

namespace emplace {
namespace {

// Where a document begins; what is in it does not matter.
class DocumentStart : public YAML::EventHandler {
 public:
  const YAML::Mark& mark() const { return mark_; }

  void OnDocumentStart(const YAML::Mark& mark) override { mark_ = mark; }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t, const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}

 private:
  YAML::Mark mark_;
};

// Where anything follows the first document. YAML::LoadAll does not end on text such as ",", which belongs to no
// document.
std::optional<YAML::Mark> EndOfFirstDocument(const std::string& yaml) {
  std::istringstream text(yaml);
  YAML::Parser parser(text);
  DocumentStart document;
  if (!parser.HandleNextDocument(document) || !parser.HandleNextDocument(document)) return std::nullopt;
  return document.mark();
}

}  // namespace

Error YamlReader::At(const YAML::Mark& mark, const std::string& what) const {
  const std::string place =
      mark.is_null() ? source_ + ":1:1" : StrCat(source_, ":", mark.line + 1, ":", mark.column + 1);
  return BadInput(StrCat(place, ": ", what));
}

void YamlReader::CheckMap(const YAML::Node& node, const std::string& what, const std::set<std::string>& known) const {
  const std::string expected = Join({known.begin(), known.end()}, ", ");
  if (!node.IsMap()) throw At(node, StrCat(what, ": expected a map with ", expected));
  std::set<std::string> seen;
  for (const auto& entry : node) {
    const std::string key = entry.first.as<std::string>("");
    if (known.count(key) == 0)
      throw At(entry.first, StrCat("unknown key '", key, "' in ", what, ", expected ", expected));
    if (!seen.insert(key).second)
      throw At(entry.first, StrCat("'", key, "' in ", what, " is given twice, expected once"));
  }
}

YAML::Node YamlReader::Member(const YAML::Node& map, const std::string& key, const std::string& expected) const {
  const YAML::Node member = map[key];
  if (!member) throw At(map, StrCat("'", key, "' is missing, expected ", expected));
  return member;
}

double YamlReader::Number(const YAML::Node& map, const std::string& key) const {
  const YAML::Node node = Member(map, key, "a number");
  double value = 0;
  try {
    value = node.as<double>();
  } catch (const YAML::BadConversion&) {
    const std::string found = node.IsScalar() ? StrCat("'", node.Scalar(), "'")
                              : node.IsNull() ? "nothing"
                                              : "a list or a map";
    throw At(node, StrCat(key, " is ", found, ", expected a number of at least 0"));
  }
  if (!std::isfinite(value) || value < 0) {
    throw At(node, StrCat(key, " is ", value, ", expected a finite number of at least 0"));
  }
  return value;
}

double YamlReader::Positive(const YAML::Node& map, const std::string& key) const {
  const double value = Number(map, key);
  if (value == 0) throw At(map[key], StrCat(key, " is 0, expected a number above 0"));
  return value;
}

double YamlReader::Share(const YAML::Node& map, const std::string& key) const {
  const double value = Number(map, key);
  if (value > 1) throw At(map[key], StrCat(key, " is ", value, ", expected at most 1"));
  return value;
}

double YamlReader::PositiveShare(const YAML::Node& map, const std::string& key) const {
  Positive(map, key);
  return Share(map, key);
}

std::string YamlReader::Text(const YAML::Node& map, const std::string& key) const {
  return Name(Member(map, key, "a name"), key);
}

std::string YamlReader::Name(const YAML::Node& node, const std::string& what) const {
  if (!node.IsScalar() || node.Scalar().empty()) throw At(node, StrCat(what, ": expected a name"));
  if (!IsUnicodeText(node.Scalar())) throw At(node, StrCat(what, " is '", node.Scalar(), "', expected text in UTF-8"));
  return node.Scalar();
}

YAML::Node LoadYaml(std::string_view yaml, const std::string& source) {
  const YamlReader reader(source);
  const std::string text(yaml);
  try {
    const std::optional<YAML::Mark> end = EndOfFirstDocument(text);
    if (end) throw reader.At(*end, "more follows the YAML document that ends here, expected one document");
    return YAML::Load(text);
  } catch (const YAML::Exception& error) {
    throw reader.At(error.mark, "not valid YAML: " + error.msg);
  }
}

}  // namespace emplace
