#include "train/data/corpus/json_beginning.h"

#include <algorithm>

#include "train/system/json.h"

namespace dikkat {
namespace {

/// Collects the keys of the first object, which may be in an array.
class KeyCollector final : public JsonWalker {
 public:
  /// With `more`, other text may come after the JSON.
  KeyCollector(std::string_view text, bool more) { bad_byte_ = walk_json(text, *this, !more); }

  /// Returns whether the text is an object, or an array of objects.
  bool has_objects() const { return level_of_objects_ > 0 && !has_other_; }
  /// Returns the byte, from 1, at which the text is not JSON; 0 if all of it is.
  std::size_t bad_byte() const { return bad_byte_; }
  std::vector<std::string> take_keys() && { return std::move(keys_); }

 private:
  void on_object() override {
    ++level_;
    level_of_objects_ += level_of_objects_ == 0 ? level_ : 0;
  }
  void on_key(std::string_view name) override {
    if (level_ == level_of_objects_ && !has_first_) {
      keys_.emplace_back(name);
    }
  }
  void on_object_end() override { has_first_ |= level_-- == level_of_objects_; }
  void on_array() override { has_other_ |= ++level_ > 1 && level_of_objects_ == 0; }
  void on_array_end() override { --level_; }
  void on_text(std::string_view) override { on_other(); }
  void on_number(std::optional<std::uint64_t>) override { on_other(); }
  void on_other() override { has_other_ |= level_of_objects_ == 0; }

  int level_ = 0, level_of_objects_ = 0;  // level_of_objects_: 0 before the first object
  bool has_first_ = false;                // the first object has ended
  bool has_other_ = false;                // a value, or an array in an array, comes before the first object
  std::size_t bad_byte_ = 0;
  std::vector<std::string> keys_;
};

}  // namespace

JsonBeginning json_beginning(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  text.remove_prefix(std::min(text.find_first_not_of(kSpace), text.size()));
  if (!text.starts_with('{') && !text.starts_with('[')) {
    return {};
  }
  const bool is_cut = text.size() >= kJsonBeginning;
  text = text.substr(0, kJsonBeginning);
  // If the text was cut, an error at its end only means that the JSON continues there.
  const auto is_whole = [](const KeyCollector& found, std::size_t size, bool continues) {
    return found.bad_byte() == 0 || (continues && found.bad_byte() >= size);
  };
  if (text.starts_with('[')) {
    KeyCollector all(text, false);
    const bool is_json = is_whole(all, text.size(), is_cut), has_objects = all.has_objects();
    return {.is_json = is_json,
            .form = is_json && has_objects ? ObjectForm::array : ObjectForm::none,
            .keys = is_json ? std::move(all).take_keys() : std::vector<std::string>()};
  }
  const std::string_view line = text.substr(0, text.find('\n'));
  KeyCollector first(line, false);
  if (is_whole(first, line.size(), is_cut && line.size() == text.size())) {
    return {.is_json = true, .form = ObjectForm::lines, .keys = std::move(first).take_keys()};
  }
  KeyCollector all(text, true);
  const bool continues = first.bad_byte() > line.size();
  if (!continues || !is_whole(all, text.size(), is_cut)) {
    return {};
  }
  return {.is_json = true, .form = ObjectForm::stream, .keys = std::move(all).take_keys()};
}

}  // namespace dikkat
