#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "autograd/base/error.h"
#include "autograd/base/index.h"

namespace dikkat {

/// Thrown for a text that is not a table. The message continues a sentence that begins with the place of the row: "has 3 fields, ...".
class BadTable : public InputError {
 public:
  using InputError::InputError;
};

/// Reads a table row by row from a text that arrives in parts: CSV (RFC 4180), also with semicolons or tabs between fields. The first row
/// names the columns. A field in quotes may have separators, line breaks, and quotes, which are written twice. A row ends with LF, CRLF or
/// CR. A byte order mark is skipped.
class TableReader {
 public:
  /// Appends more text to its argument. Returns false at the end of the text.
  using Source = std::function<bool(std::string&)>;

  /// Reads the header. The separator is the comma, semicolon or tab that it has most of outside of quotes. Throws BadTable for an empty
  /// text and for a name that occurs twice, and as next() does.
  explicit TableReader(Source source);

  /// Returns the names of the columns, without spaces around them. A name may be empty.
  const std::vector<std::string>& columns() const { return columns_; }
  /// Reads the next row. Returns false at the end. Skips rows whose fields are all empty, but with `with_empty` only empty lines, which are
  /// rows of a table with one column. Throws BadTable for a row that has another number of fields than the header, a quote
  /// that never closes, text after a closing quote, NUL bytes, text that is not UTF-8, and a row of more than 64 MiB.
  bool next(bool with_empty = false);
  /// Returns the fields of that row, one for each column, valid until the next call of next().
  std::span<const std::string_view> fields() const { return fields_; }
  /// Returns the number of that row as spreadsheets count it: the header is row 1.
  index row() const { return row_; }
  /// Returns the line on which the row begins, from 1.
  index line() const { return line_; }

 private:
  bool fill();
  void read_field();
  bool read_row();

  Source source_;
  char separator_ = ',';
  std::string text_;    // a part of the text
  std::size_t at_ = 0;  // the text before it has been read
  std::string cells_;   // the row's fields, one after another
  std::vector<std::size_t> ends_;
  std::vector<std::string_view> fields_;
  std::vector<std::string> columns_;
  index row_ = 0, line_ = 1, next_line_ = 1;
};

}  // namespace dikkat
