#include "train/text/tokenizer_json.h"

#include <vector>

#include "train/system/json.h"

namespace dikkat {
namespace {

/// Finds the values of model.vocab and model.merges in a text, in linear time and without parsing them. Follows only the syntax that it
/// needs: the parser refuses a text that is not JSON.
class LargeValues {
 public:
  explicit LargeValues(std::string_view text) : text_(text) {
    const std::size_t first = after_space(0);
    if (at(first) == '{') {
      object(first, Place::top);
    }
  }

  struct Range {
    std::size_t first, last;
  };
  const std::vector<Range>& ranges() const { return ranges_; }
  Range vocabulary{}, merges{};

 private:
  enum class Place : std::uint8_t { top, inner, model };

  char at(std::size_t i) const { return i < text_.size() ? text_[i] : '\0'; }
  std::size_t after_space(std::size_t i) const {
    while (at(i) == ' ' || at(i) == '\n' || at(i) == '\r' || at(i) == '\t') {
      ++i;
    }
    return i;
  }
  /// Returns the place after the string that begins at `i`.
  std::size_t after_string(std::size_t i) const {
    for (++i; i < text_.size() && text_[i] != '"'; ++i) {
      i += text_[i] == '\\' ? 1U : 0U;
    }
    return std::min(i + 1, text_.size());
  }
  /// Returns the place after the value that begins at `i`; npos if the text ends before it does.
  std::size_t after_value(std::size_t i) const {
    int level = 0;
    for (; i < text_.size(); ++i) {
      switch (text_[i]) {
        case '"':
          i = after_string(i) - 1;
          if (level == 0) {
            return i + 1;
          }
          break;
        case '{':
        case '[': ++level; break;
        case '}':
        case ']':
          if (level == 0) {
            return i;
          }
          if (--level == 0) {
            return i + 1;
          }
          break;
        case ',':
          if (level == 0) {
            return i;
          }
          break;
        default: break;
      }
    }
    return std::string_view::npos;
  }

  /// Goes through the members of the object that begins at `i`. Returns the place after it; npos if anything is unexpected.
  std::size_t object(std::size_t i, Place place) {
    for (i = after_space(i + 1); at(i) == '"'; i = after_space(i + 1)) {
      const std::size_t key_end = after_string(i);
      const std::string_view key = text_.substr(i, key_end - i);
      i = after_space(key_end);
      if (at(i) != ':') {
        return std::string_view::npos;
      }
      const std::size_t first = after_space(i + 1);
      const bool is_object = at(first) == '{';
      if (place != Place::model && is_object && key == R"("model")") {
        i = object(first, Place::model);
      } else if (place == Place::top && is_object && key == R"("tokenizer")") {
        i = object(first, Place::inner);
      } else {
        i = after_value(first);
        Range* const wanted = place != Place::model  ? nullptr
                              : key == R"("vocab")"  ? &vocabulary
                              : key == R"("merges")" ? &merges
                                                     : nullptr;
        if (wanted != nullptr && i != std::string_view::npos) {
          ranges_.push_back({first, i});
          *wanted = ranges_.back();
        }
      }
      i = i == std::string_view::npos ? i : after_space(i);
      if (at(i) != ',') {
        break;
      }
    }
    return at(i) == '}' ? i + 1 : std::string_view::npos;
  }

  std::string_view text_;
  std::vector<Range> ranges_;
};

nlohmann::json parse(std::string_view text) {
  return parse_json_object(text, "tokenizer: its description", "a tokenizer that dikkat or Hugging Face's library wrote", {});
}

}  // namespace

TokenizerJson parse_tokenizer(std::string_view text) {
  const LargeValues large(text);
  std::string rest;
  std::size_t done = 0;
  for (const auto& [first, last] : large.ranges()) {
    rest += text.substr(done, first - done);
    rest += "null";
    done = last;
  }
  rest += text.substr(done);
  const auto part = [&](LargeValues::Range range) { return text.substr(range.first, range.last - range.first); };
  try {
    return {.object = parse(rest), .vocabulary = part(large.vocabulary), .merges = part(large.merges)};
  } catch (const InputError&) {
    parse(text);  // names the place of the error in the whole text
    throw;
  }
}

}  // namespace dikkat
