// Comma-separated tables with a header line (RFC 4180): a quoted field may hold commas, line breaks and, doubled,
// quotes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/error.h"

namespace emplace {

struct CsvField {
  std::string text;    // Without its quotes.
  int32_t line = 1;    // Of its first byte, from 1.
  int32_t column = 1;  // In bytes, from 1.
};
using CsvRow = std::vector<CsvField>;

struct CsvTable {
  CsvRow header;
  std::vector<CsvRow> rows;  // Each as long as the header.
};

// Lines end in LF or CRLF; blank ones are skipped, and so is a byte order mark. Throws BadInput "source:line:col: what,
// expected" for a quote out of place, a row of another length than the header, a column named twice, or no header.
CsvTable ParseCsv(std::string_view text, const std::string& source);

// BadInput "source:line:col: what" about a field, for what its reader finds wrong with it.
Error CsvError(const std::string& source, const CsvField& field, const std::string& what);

}  // namespace emplace
