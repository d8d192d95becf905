#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace dikkat {

/// A pattern of a tokenizer.json: a literal string, or a regular expression in Oniguruma's syntax (that of Ruby), as Hugging Face's
/// tokenizers compile it. Immutable: threads may share a pattern.
class TextPattern {
 public:
  /// Returns the pattern that matches this string, which must not be empty.
  static TextPattern literal(std::string text);
  /// Throws InputError for an expression that is invalid, or that PCRE2 would understand in another way; the message names its part.
  static TextPattern regex(std::string_view oniguruma);

  /// Calls f(first, last) for each match, from left to right. A match may be empty, but not directly after another match. `text` must be
  /// valid UTF-8. Throws InputError if a search takes too many steps.
  void for_matches(std::string_view text, const std::function<void(std::size_t, std::size_t)>& f) const;

  /// Returns the string of a literal(); empty for a regex().
  const std::string& text() const { return text_; }

 private:
  struct Code;
  std::string text_;
  std::shared_ptr<const Code> code_;  // null for a literal
};

/// Translates a regular expression from Oniguruma's syntax to that of PCRE2 with the options UTF, UCP and MULTILINE. Throws InputError for
/// parts that mean something else in PCRE2 and are not translated.
std::string pcre2_pattern_of(std::string_view oniguruma);

}  // namespace dikkat
