#pragma once

#include <array>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "train/text/hugging_face/text_pattern.h"

namespace dikkat {

/// The pre_tokenizer of a tokenizer.json: steps that split a normalized text into words, which are merged separately. Immutable: threads
/// may share one.
class PreTokenizer {
 public:
  /// Makes one without steps, for which a text is one word.
  PreTokenizer() = default;
  /// Reads the field "pre_tokenizer" of a file. Throws InputError, which names it, for a step that this program does not know.
  explicit PreTokenizer(const nlohmann::json& description);

  /// The words of a text. They are views into the text or into `texts`.
  struct Words {
    std::vector<std::string_view> words{};
    std::deque<std::string> texts{};
  };
  /// Splits a normalized text, which must be valid UTF-8. `lead` counts its first bytes that come from the original text's first character;
  /// 0 if it begins later or the character was removed. A word that begins within them is the first one, before which Metaspace may put a
  /// space (prepend_scheme "first").
  Words split(std::string_view text, std::size_t lead) const;
  /// Returns whether `lead` changes the words.
  bool marks_first() const;

  bool is_empty() const { return steps_.empty(); }
  /// Returns whether the words hold bytes in the printable characters of byte_level.h.
  bool is_byte_level() const;
  /// Returns whether the words together are the text, or the text in the characters of byte_level.h.
  bool keeps_text() const;
  /// Returns the only regular expression that splits the text. nullopt unless the steps are one Split by it (Isolated) and a ByteLevel that
  /// does not split.
  std::optional<std::string> only_regex() const;

  /// Returns whether a cut before the character `after` keeps the words, except for a further cut there; false if that is not known.
  bool allows_cut(char32_t after) const;

 private:
  enum class Kind : std::uint8_t { split, byte_level, metaspace };
  enum class Behavior : std::uint8_t { removed, isolated, merged_with_previous, merged_with_next, contiguous };
  enum class Prepend : std::uint8_t { always, first, never };
  struct Step {
    Kind kind;
    TextPattern pattern{};
    std::string regex{};  // the source of a regular expression from the file
    Behavior behavior = Behavior::isolated;
    bool invert = false;
    bool splits = true;              // byte_level and metaspace
    bool single_characters = false;  // whether a match is one character, whatever its neighbors are
    std::string replacement{};       // metaspace: replaces a space
    Prepend prepend = Prepend::never;
  };
  static Step read_step(const nlohmann::json& step);
  static void split_word(const Step& step, std::string_view word, std::vector<std::string_view>& out);

  std::vector<Step> steps_;
};

}  // namespace dikkat
