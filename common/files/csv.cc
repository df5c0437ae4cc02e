#include "common/files/csv.h"

#include <algorithm>

#include "common/strings.h"

namespace emplace {
namespace {

class Reader {
 public:
  Reader(std::string_view text, const std::string& source) : text_(text), source_(source) {
    constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
    if (text_.starts_with(kByteOrderMark)) text_.remove_prefix(kByteOrderMark.size());
  }

  // The next line that is not blank; empty at the end of the text.
  CsvRow NextRow() {
    while (TakeLineEnd()) {
    }
    CsvRow row;
    if (AtEnd()) return row;
    do {
      row.push_back(TakeField());
    } while (Take(','));
    TakeLineEnd();
    return row;
  }

 private:
  bool AtEnd() const { return at_ == text_.size(); }
  bool Sees(std::string_view next) const { return text_.substr(at_).starts_with(next); }
  bool SeesFieldEnd() const { return AtEnd() || Sees(",") || Sees("\n") || Sees("\r\n"); }
  CsvField Here() const { return {"", line_, static_cast<int32_t>(at_ - line_begin_) + 1}; }

  bool Take(char c) {
    if (AtEnd() || text_[at_] != c) return false;
    ++at_;
    if (c == '\n') {
      ++line_;
      line_begin_ = at_;
    }
    return true;
  }

  bool TakeLineEnd() {
    if (Sees("\r\n")) ++at_;
    return Take('\n');
  }

  CsvField TakeField() {
    CsvField field = Here();
    if (Take('"')) {
      TakeQuoted(field);
      if (!SeesFieldEnd())
        throw CsvError(source_, Here(), "text after a closing quote, expected a comma or the line's end");
      return field;
    }
    while (!SeesFieldEnd()) {
      if (Sees("\"")) throw CsvError(source_, Here(), "a quote inside a field, expected the whole field in quotes");
      field.text += text_[at_++];
    }
    return field;
  }

  // The opening quote is taken; takes up to and with the closing one.
  void TakeQuoted(CsvField& field) {
    while (!AtEnd()) {
      if (Take('"') && !Sees("\"")) return;  // A doubled quote stands for one: its second half is text.
      field.text += text_[at_];
      Take(text_[at_]);
    }
    throw CsvError(source_, field, "a quote is never closed, expected '\"'");
  }

  std::string_view text_;
  const std::string& source_;
  size_t at_ = 0;
  size_t line_begin_ = 0;
  int32_t line_ = 1;
};

void CheckHeader(const CsvRow& header, const std::string& source) {
  if (header.empty()) throw BadInput(StrCat(source, ":1:1: is empty, expected a line of column names"));
  for (auto field = header.begin(); field != header.end(); ++field) {
    const bool again =
        std::any_of(header.begin(), field, [&](const CsvField& other) { return other.text == field->text; });
    if (again) throw CsvError(source, *field, StrCat("column '", field->text, "' comes twice, expected once"));
  }
}

}  // namespace

Error CsvError(const std::string& source, const CsvField& field, const std::string& what) {
  return BadInput(StrCat(source, ":", field.line, ":", field.column, ": ", what));
}

CsvTable ParseCsv(std::string_view text, const std::string& source) {
  Reader reader(text, source);
  CsvTable table{.header = reader.NextRow(), .rows = {}};
  CheckHeader(table.header, source);
  for (CsvRow row = reader.NextRow(); !row.empty(); row = reader.NextRow()) {
    if (row.size() != table.header.size()) {
      throw CsvError(source, row.front(),
                     StrCat("the row has ", row.size(), " fields, expected ", table.header.size()));
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace emplace
