#include "train/data/corpus/object_reader.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "train/data/corpus/corpus_files.h"
#include "train/system/json.h"
#include "train/text/json_line.h"

namespace dikkat {
namespace {

constexpr std::string_view kSpace = " \t\r\n";

void require_form(bool is_right, const std::string& problem) {
  if (!is_right) {
    throw BrokenObjects(problem);
  }
}

/// Returns the value of a cell: a string, but a boolean where a field marks examples.
nlohmann::ordered_json value_of(std::string_view field, std::string_view cell) {
  constexpr std::string_view kMarks[] = {"label", "weight", "train", "loss"};
  constexpr std::string_view kTrue[] = {"1", "true", "True", "TRUE"}, kFalse[] = {"0", "false", "False", "FALSE"};
  const auto is_in = [](const auto& words, std::string_view word) { return std::ranges::find(words, word) != std::end(words); };
  if (is_in(kMarks, field) && (is_in(kTrue, cell) || is_in(kFalse, cell))) {
    return is_in(kTrue, cell);
  }
  return std::string(cell);
}

}  // namespace

/// Reads more text after the part that has not been returned yet. Returns false at the end.
bool ObjectReader::read_more() {
  if (has_ended_) {
    return false;
  }
  text_.erase(0, at_);
  at_ = 0;
  do {
    has_ended_ = !source_(text_);
  } while (!has_begun_ && !has_ended_ && text_.size() < kByteOrderMark.size());
  if (!has_begun_ && text_.starts_with(kByteOrderMark)) {
    text_.erase(0, kByteOrderMark.size());
  }
  has_begun_ = true;
  return true;
}

/// Skips white space and returns the character after it; 0 at the end of the text.
char ObjectReader::skip_space() {
  do {
    at_ = std::min(text_.find_first_not_of(kSpace, at_), text_.size());
  } while (at_ == text_.size() && read_more());
  return at_ < text_.size() ? text_[at_] : '\0';
}

/// Returns the value that begins here. In an array it ends before a comma or the closing bracket; an object ends with its last brace.
std::string_view ObjectReader::cut_value() {
  int depth = 0;
  bool in_text = false, is_escaped = false;
  for (std::size_t size = 0;; ++size) {
    if (at_ + size == text_.size() && !read_more()) {
      throw BrokenObjects("does not end: the file is cut off, or a quotation mark or a bracket is missing");
    }
    if (at_ + size == text_.size()) {  // an empty part
      --size;
      continue;
    }
    const char c = text_[at_ + size];
    if (in_text) {
      in_text = is_escaped || c != '"';
      is_escaped = !is_escaped && c == '\\';
      continue;
    }
    in_text = c == '"';
    const bool closes = c == '}' || c == ']';
    if (depth == 0 && form_ == ObjectForm::array && (closes || c == ',')) {
      const std::string_view value = std::string_view(text_).substr(at_, size);
      at_ += size;
      return value.substr(0, value.find_last_not_of(kSpace) + 1);
    }
    depth += c == '{' || c == '[' ? 1 : closes ? -1 : 0;
    if (form_ == ObjectForm::stream && (depth < 0 || (depth == 0 && closes))) {
      at_ += size + 1;
      return std::string_view(text_).substr(at_ - size - 1, size + 1);
    }
  }
}

std::optional<std::string_view> ObjectReader::next_line() {
  for (std::size_t searched = at_;;) {
    const std::size_t end = text_.find('\n', searched);
    if (end != std::string::npos || (has_ended_ && at_ < text_.size())) {
      const std::string_view line = std::string_view(text_).substr(at_, end == std::string::npos ? end : end - at_);
      at_ = std::min(text_.size(), at_ + line.size() + 1);
      ++number_;
      if (line.find_first_not_of(kSpace) != std::string_view::npos) {
        return line;
      }
      searched = at_;
      continue;
    }
    searched = text_.size() - at_;
    if (!read_more()) {
      return std::nullopt;
    }
  }
}

std::optional<std::string_view> ObjectReader::next_value() {
  if (is_over_) {
    return std::nullopt;
  }
  const auto end_of_text = [&] {
    const char more = skip_space();
    require_form(more == '\0' && at_ == text_.size(), "is followed by more text after the array, expected one array in the file");
    is_over_ = true;
    return std::nullopt;
  };
  // In an array, expect a bracket before the first value, and a comma before the others.
  if (form_ == ObjectForm::array) {
    const char before = skip_space();
    const char expected = number_ == 0 ? '[' : ',';
    if (number_ > 0 && before == ']') {
      ++at_;
      return end_of_text();
    }
    ++number_;
    require_form(before == expected, concat("does not begin after a ", expected == '[' ? "bracket" : "comma",
                                            ", expected an array of objects: [{...}, {...}]"));
    ++at_;
    if (skip_space() == ']' && expected == '[') {
      ++at_;
      return end_of_text();
    }
  } else {
    // Without an array, expect an object or the end.
    if (skip_space() == '\0' && at_ == text_.size()) {
      is_over_ = true;
      return std::nullopt;
    }
    ++number_;
    require_form(text_[at_] == '{', "does not begin with a brace, expected objects one after another");
  }
  // The value may extend beyond what has been read, and reading more moves it to the front.
  return cut_value();
}

std::optional<std::string_view> ObjectReader::next_row() {
  try {
    if (!table_) {
      fields_ = table_fields(table_.emplace(source_).columns(), names_);
    }
    if (!table_->next(keeps_empty_rows_)) {
      return std::nullopt;
    }
  } catch (const BadTable& error) {
    throw BrokenObjects(error.what());
  }
  number_ = table_->row();
  return text_ = json_text(object());
}

std::optional<std::string_view> ObjectReader::next() {
  const auto object = form_ == ObjectForm::table ? next_row() : form_ == ObjectForm::lines ? next_line() : next_value();
  object_ = object.value_or("");
  return object;
}

nlohmann::ordered_json ObjectReader::object() const {
  if (!table_) {
    auto object = parse_json_line<nlohmann::ordered_json>(object_);
    return names_.columns.empty() ? object : with_field_names(std::move(object), names_);
  }
  nlohmann::ordered_json::object_t object;
  object.reserve(fields_.of_columns.size());
  for (std::size_t i = 0; i < fields_.of_columns.size(); ++i) {
    if (const std::string& field = fields_.of_columns[i]; !field.empty()) {
      object.emplace_back(field, value_of(field, table_->fields()[i]));
    }
  }
  return object;
}

std::string ObjectReader::place(const std::string& file) const {
  if (form_ == ObjectForm::table) {
    return concat(file, ": row ", table_ ? table_->row() : 1, " (line ", table_ ? table_->line() : 1, ')');
  }
  return concat(file, form_ == ObjectForm::lines ? ": line " : ": object ", number_);
}

}  // namespace dikkat
