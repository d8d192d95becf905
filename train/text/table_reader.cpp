#include "train/text/table_reader.h"

#include <algorithm>
#include <set>
#include <utility>

#include "train/text/utf8.h"

namespace dikkat {
namespace {

constexpr std::string_view kMark = "\xEF\xBB\xBF";
constexpr std::size_t kHeader = std::size_t{1} << 16;  // bytes in which the separator is found
constexpr std::size_t kLongestRow = std::size_t{64} << 20, kMostColumns = std::size_t{1} << 16;

[[noreturn]] void refuse_row(const auto&... parts) { throw BadTable(concat(parts...)); }

/// Returns the separator that a header has most of outside of quotes.
char find_separator(std::string_view text) {
  constexpr std::string_view kSeparators = ",;\t";
  index counts[kSeparators.size()] = {};
  bool in_quotes = false;
  for (std::size_t i = 0; i < text.size() && (in_quotes || (text[i] != '\n' && text[i] != '\r')); ++i) {
    in_quotes = in_quotes != (text[i] == '"');
    const std::size_t one = in_quotes ? std::string_view::npos : kSeparators.find(text[i]);
    if (one != std::string_view::npos) {
      ++counts[one];
    }
  }
  return kSeparators[static_cast<std::size_t>(std::ranges::max_element(counts) - counts)];
}

}  // namespace

TableReader::TableReader(Source source) : source_(std::move(source)) {
  while (text_.size() < kHeader && source_(text_)) {
  }
  at_ = text_.starts_with(kMark) ? kMark.size() : 0;
  separator_ = find_separator(std::string_view(text_).substr(at_));
  read_row();
  std::set<std::string_view> names;
  for (const std::string_view field : fields_) {
    const std::size_t first = std::min(field.find_first_not_of(' '), field.size());
    const std::string_view name = field.substr(first, field.find_last_not_of(' ') + 1 - first);
    if (!name.empty() && !names.insert(name).second) {
      refuse_row("names the column \"", name, "\" twice, expected different names");
    }
    columns_.emplace_back(name);
  }
  if (names.empty()) {
    refuse_row("is empty, expected the names of columns");
  }
}

/// Reads more text if all has been read. Returns false at the end.
bool TableReader::fill() {
  if (cells_.size() > kLongestRow) {
    refuse_row("has more than ", kLongestRow >> 20, " MiB; a quote may never close");
  }
  while (at_ == text_.size()) {
    text_.clear();
    at_ = 0;
    if (!source_(text_) && text_.empty()) {
      return false;
    }
  }
  return true;
}

/// Appends the next field to the row.
void TableReader::read_field() {
  const bool is_quoted = fill() && text_[at_] == '"';
  at_ += is_quoted ? 1 : 0;
  while (fill()) {
    const auto ends = [=, separator = separator_](char c) { return is_quoted ? c == '"' : c == separator || c == '\n' || c == '\r'; };
    const auto begin = text_.cbegin() + static_cast<std::ptrdiff_t>(at_), end = std::find_if(begin, text_.cend(), ends);
    cells_.append(begin, end);
    next_line_ += is_quoted ? std::count(begin, end, '\n') : 0;
    at_ = static_cast<std::size_t>(end - text_.cbegin());
    if (at_ == text_.size()) {
      continue;
    }
    // In quotes, two quotes stand for one.
    if (!is_quoted || (++at_, !fill()) || text_[at_] != '"') {
      return;
    }
    cells_ += text_[at_++];
  }
  if (is_quoted) {
    refuse_row("opens a quote in field ", ends_.size() + 1, " that never closes");
  }
}

/// Reads the next row. Returns false at the end.
bool TableReader::read_row() {
  ++row_;
  line_ = next_line_++;
  cells_.clear();
  ends_.clear();
  if (!fill()) {
    return false;
  }
  // Read its fields.
  for (bool has_more = true; has_more;) {
    if (const std::size_t most = columns_.empty() ? kMostColumns : columns_.size(); ends_.size() == most) {
      refuse_row("has more than ", most, most == 1 ? " field" : " fields, one for each column",
                 ", expected quotes around a field with a separator in it");
    }
    read_field();
    ends_.push_back(cells_.size());
    // Find what follows: a separator, or the end of the row.
    const char after = fill() ? text_[at_++] : '\n';
    has_more = after == separator_;
    if (after == '\r' && fill() && text_[at_] == '\n') {
      ++at_;
    } else if (!has_more && after != '\n' && after != '\r') {
      refuse_row("has text after the closing quote of field ", ends_.size(), ", expected a separator; a quote within quotes is doubled");
    }
  }
  // Cut it, and check that it is text.
  fields_.clear();
  for (std::size_t i = 0, begin = 0; i < ends_.size(); begin = ends_[i++]) {
    const std::string_view field = fields_.emplace_back(std::string_view(cells_).substr(begin, ends_[i] - begin));
    if (const std::size_t nul = field.find('\0'); nul != std::string_view::npos) {
      refuse_row("has a NUL byte at byte ", nul, " of field ", i + 1, ", expected text");
    }
    if (const auto byte = utf8::first_invalid(field)) {
      refuse_row("has at byte ", *byte, " of field ", i + 1, " text that is ", utf8::refusal(field, *byte));
    }
  }
  return true;
}

bool TableReader::next(bool with_empty) {
  const auto is_skipped = [&] { return cells_.empty() && !(with_empty && (fields_.size() > 1 || columns_.size() == 1)); };
  do {
    if (!read_row()) {
      return false;
    }
  } while (is_skipped());
  if (fields_.size() != columns_.size()) {
    refuse_row("has ", fields_.size(), fields_.size() == 1 ? " field" : " fields", ", expected ", columns_.size(),
               ", one for each column of the header");
  }
  return true;
}

}  // namespace dikkat
