// Reads comma-separated tables with a header line (RFC 4180). A quoted field may hold commas, line breaks and doubled
// quotes; a doubled quote stands for one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/error.h"

namespace emplace {

struct CsvField {
  std::string text;    // The field without its quotes.
  int32_t line = 1;    // Line of the field's first byte, counted from 1.
  int32_t column = 1;  // Column of the field's first byte, in bytes, counted from 1.
};
using CsvRow = std::vector<CsvField>;

struct CsvTable {
  CsvRow header;
  std::vector<CsvRow> rows;  // Each row has as many fields as the header.
};

// Lines end in LF or CRLF; blank lines and a byte order mark are skipped. Throws BadInput "source:line:col: what is
// wrong, what was expected" for a misplaced quote, for a row whose length differs from the header's, for two columns of
// one name, and for a missing header.
CsvTable ParseCsv(std::string_view text, const std::string& source);

// Makes the BadInput "source:line:col: what" for the field's reader to throw.
Error CsvError(const std::string& source, const CsvField& field, const std::string& what);

}  // namespace emplace
