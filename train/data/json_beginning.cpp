#include "train/data/json_beginning.h"

#include <algorithm>

#include "autograd/base/error.h"
#include "train/system/json.h"

namespace dikkat {
namespace {

constexpr std::string_view kFields[] = {"messages", "prompt", "completion", "text", "conversations"};
constexpr std::size_t kMost = std::size_t{1} << 16;  // the number of bytes to look at

/// Looks for a known field in an object, or in the first object of an array.
class FieldFinder final : public JsonWalker {
 public:
  /// With `more`, anything may follow the JSON.
  FieldFinder(std::string_view text, std::string_view text_field, bool more) : text_field_(text_field) {
    bad_byte_ = walk_json(text, *this, !more);
  }

  bool has_found() const { return found_ && !has_other_; }
  /// Returns the byte, from 1, at which the text is not JSON; 0 if all of it is.
  std::size_t bad_byte() const { return bad_byte_; }

 private:
  void on_object() override {
    ++level_;
    objects_ += objects_ == 0 ? level_ : 0;
  }
  void on_key(std::string_view name) override {
    found_ |= level_ == objects_ && (name == text_field_ || std::ranges::find(kFields, name) != std::end(kFields));
  }
  void on_object_end() override { --level_; }
  void on_array() override { has_other_ |= ++level_ > 1 && objects_ == 0; }
  void on_array_end() override { --level_; }
  void on_text(std::string_view) override { on_other(); }
  void on_number(std::optional<std::uint64_t>) override { on_other(); }
  void on_other() override { has_other_ |= objects_ == 0; }

  std::string_view text_field_;
  int level_ = 0, objects_ = 0;  // objects_: the level of the objects that count; 0 before the first
  bool found_ = false;
  bool has_other_ = false;  // a value, or an array in an array, before the first object
  std::size_t bad_byte_ = 0;
};

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
    return finder.has_found() && (finder.bad_byte() == 0 || (goes_on && finder.bad_byte() >= size));
  };
  const FieldFinder whole(text, text_field, true);
  if (text.starts_with('[')) {
    return has_it(whole, text.size(), is_cut) ? JsonBeginning::list : JsonBeginning::none;
  }
  const std::string_view line = text.substr(0, text.find('\n'));
  const FieldFinder first(line, text_field, false);
  if (has_it(first, line.size(), is_cut && line.size() == text.size())) {
    return JsonBeginning::line;
  }
  const bool goes_on = first.bad_byte() > line.size();
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
