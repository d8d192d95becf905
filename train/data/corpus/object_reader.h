#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "autograd/base/error.h"
#include "autograd/base/index.h"
#include "train/data/corpus/object_form.h"
#include "train/data/corpus/table_fields.h"
#include "train/text/table_reader.h"

namespace dikkat {

/// Thrown for a text that is not an array or a table, or has an object that does not end. The message continues a sentence that begins with
/// the place.
class BrokenObjects : public InputError {
 public:
  using InputError::InputError;
};

/// Cuts a text that arrives in parts into its objects. Of JSON it finds only where each begins and ends. A row of a table becomes an object
/// whose values are strings, except that "label", "weight", "train" and "loss" may be true or false.
class ObjectReader {
 public:
  /// Appends more text to its argument. Returns false at the end of the text.
  using Source = std::function<bool(std::string&)>;

  /// `form` must not be `none`. `names` chooses the fields of objects.
  ObjectReader(ObjectForm form, FieldNames names, Source source) : form_(form), names_(std::move(names)), source_(std::move(source)) {}

  /// Returns the JSON of the next object, valid until the next call; nullopt at the end. Blank lines of JSONL are skipped. Throws
  /// BrokenObjects.
  std::optional<std::string_view> next();
  /// Makes next() return the empty rows of a table too (TableReader::next()).
  void keep_empty_rows() { keeps_empty_rows_ = true; }
  /// Returns that object. Throws BadJson.
  nlohmann::ordered_json object() const;

  /// Returns the place of that object: "FILE: line 7" in JSONL, "FILE: row 7 (line 9)" in a table, otherwise "FILE: object 7".
  std::string place(const std::string& file) const;
  /// Returns the number of that line, row or object, from 1.
  index number() const { return number_; }
  /// Returns the note on the columns of a table; empty for JSON.
  const std::string& note() const { return fields_.note; }

 private:
  bool read_more();
  char skip_space();
  std::string_view cut_value();
  std::optional<std::string_view> next_line();
  std::optional<std::string_view> next_value();
  std::optional<std::string_view> next_row();

  ObjectForm form_;
  FieldNames names_;
  Source source_;
  std::optional<TableReader> table_;
  TableFields fields_;
  std::string_view object_;  // the JSON that next() returned
  std::string text_;         // of a table: the JSON of its row
  std::size_t at_ = 0;       // the text before it has been returned
  index number_ = 0;
  bool has_begun_ = false, has_ended_ = false;  // whether the text has begun, and has ended
  bool is_over_ = false;                        // the array has ended
  bool keeps_empty_rows_ = false;
};

}  // namespace dikkat
