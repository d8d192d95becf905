#include "train/data/json_beginning.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "autograd/base/error.h"

namespace dikkat {
namespace {

using nlohmann::json;

constexpr std::string_view kFields[] = {"messages", "prompt", "completion", "text", "conversations"};
constexpr std::size_t kMost = std::size_t{1} << 16;  // the number of bytes to look at

/// Looks for a known field in an object, or in the first object of an array. The parser calls its methods; false ends the parsing.
class FieldFinder : public nlohmann::json_sax<json> {
 public:
  explicit FieldFinder(std::string_view text_field) : text_field_(text_field) {}

  bool has_found() const { return found_; }
  /// Returns the byte, from 1, at which the text is not JSON; 0 if all of it is.
  std::size_t wrong() const { return wrong_; }

  bool null() override { return value(); }
  bool boolean(bool) override { return value(); }
  bool number_integer(number_integer_t) override { return value(); }
  bool number_unsigned(number_unsigned_t) override { return value(); }
  bool number_float(number_float_t, const string_t&) override { return value(); }
  bool string(string_t&) override { return value(); }
  bool binary(binary_t&) override { return value(); }
  bool start_object(std::size_t) override {
    ++level_;
    objects_ += objects_ == 0 ? level_ : 0;
    return true;
  }
  bool key(string_t& name) override {
    found_ |= level_ == objects_ && (name == text_field_ || std::ranges::find(kFields, name) != std::end(kFields));
    return true;
  }
  bool end_object() override {
    --level_;
    return true;
  }
  bool start_array(std::size_t) override { return ++level_ == 1 || value(); }
  bool end_array() override {
    --level_;
    return true;
  }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) override {
    wrong_ = std::max<std::size_t>(position, 1);
    return false;
  }

 private:
  /// Accepts a value only after the first object has begun.
  bool value() const { return objects_ > 0; }

  std::string_view text_field_;
  int level_ = 0, objects_ = 0;  // objects_: the level of the objects that count; 0 before the first
  bool found_ = false;
  std::size_t wrong_ = 0;
};

/// Looks for a known field in a text. With `more`, anything may follow the JSON.
FieldFinder find_field(std::string_view text, std::string_view text_field, bool more) {
  FieldFinder finder(text_field);
  json::sax_parse(text.begin(), text.end(), &finder, json::input_format_t::json, !more);
  return finder;
}

}  // namespace

JsonBeginning json_beginning(std::string_view text, std::string_view text_field) {
  constexpr std::string_view kSpace = " \t\r\n";
  text.remove_prefix(std::min(text.find_first_not_of(kSpace), text.size()));
  if (!text.starts_with('{') && !text.starts_with('[')) {
    return JsonBeginning::none;
  }
  const bool is_cut = text.size() > kMost;
  text = text.substr(0, kMost);
  // If more text follows, an error at the end only means that the JSON continues there.
  const auto has_it = [](const FieldFinder& finder, std::size_t size, bool goes_on) {
    return finder.has_found() && (finder.wrong() == 0 || (goes_on && finder.wrong() >= size));
  };
  const FieldFinder whole = find_field(text, text_field, true);
  if (text.starts_with('[')) {
    return has_it(whole, text.size(), is_cut) ? JsonBeginning::list : JsonBeginning::none;
  }
  const std::string_view line = text.substr(0, text.find('\n'));
  const FieldFinder first = find_field(line, text_field, false);
  if (has_it(first, line.size(), is_cut && line.size() == text.size())) {
    return JsonBeginning::line;
  }
  const bool goes_on = first.wrong() > line.size();
  return goes_on && has_it(whole, text.size(), is_cut) ? JsonBeginning::object : JsonBeginning::none;
}

std::string note_on_json(JsonBeginning beginning, const std::string& name, bool is_named, int others) {
  if (beginning == JsonBeginning::none) {
    return {};
  }
  const bool is_line = beginning == JsonBeginning::line;
  return concat(
      name, " is read as plain text, but ",
      is_line                              ? "its first line is a JSON object: "
      : beginning == JsonBeginning::object ? "it begins with a JSON object of several lines: "
                                           : "it begins with a JSON array: ",
      is_line ? (is_named ? "rename it to .jsonl" : "give it as a .jsonl file") : "write one object on each line of a .jsonl file,",
      " if it holds conversations or documents",
      others == 0 ? "" : concat("; ", others, " other file", others == 1 ? " looks" : "s look", " the same"));
}

}  // namespace dikkat
