// Fuzzes a table: CSV, whole and in parts.

#include "tests/fuzz/fuzz.h"
#include "train/text/table_reader.h"
#include "train/text/utf8.h"

namespace dikkat {
namespace {

using Rows = std::vector<std::vector<std::string>>;

/// Reads a table that arrives in parts of `step` bytes; no rows if it is refused.
Rows rows_of(std::string_view text, std::size_t step) {
  Rows rows;
  const bool is_read = fuzz::accepts([&] {
    TableReader table([&](std::string& out) {
      out += text.substr(0, step);
      text.remove_prefix(std::min(step, text.size()));
      return !text.empty();
    });
    rows.push_back(table.columns());
    for (index row = 1, line = 1; table.next(); row = table.row(), line = table.line()) {
      fuzz::hold(row < table.row() && line < table.line(), "rows and lines are counted");
      rows.emplace_back(table.fields().begin(), table.fields().end());
      fuzz::hold(rows.back().size() == rows.front().size(), "a row has a field for each column");
    }
  });
  return is_read ? rows : Rows();
}

/// Writes rows with quotes around each field.
std::string text_of(const Rows& rows) {
  std::string text;
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      text += i == 0 ? "\"" : ",\"";
      for (const char c : row[i]) {
        text += c == '"' ? std::string("\"\"") : std::string(1, c);
      }
      text += '"';
    }
    text += "\r\n";
  }
  return text;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::text_of(data, size);
  const Rows rows = rows_of(text, std::size_t{1} << 20);
  fuzz::hold(rows == rows_of(text, 1) && rows == rows_of(text, 3), "parts do not matter");
  for (const auto& row : rows) {
    for (const std::string& field : row) {
      fuzz::hold(!utf8::first_invalid(field) && field.find('\0') == std::string::npos, "a field is text");
    }
  }
  fuzz::hold(rows.empty() || rows == rows_of(text_of(rows), std::size_t{1} << 20), "what is written is read");
  return 0;
}

}  // namespace dikkat
