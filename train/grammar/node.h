#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "train/grammar/grammar.h"

namespace dikkat {

/// A part of a grammar. This header is only for the sources of this project.
struct Grammar::Node {
  enum class Kind : std::uint8_t {
    literal,
    character,
    sequence,
    any_of,
    all_of,
    all_but,
    repeat,
    separated,
    without,
    reference,
    rules,
    spelled,
    named
  };

  Kind kind;
  std::string text{};                  // literal; without: the marker; named: the name
  std::vector<utf8::Range> ranges{};   // character: sorted, apart, of characters only
  std::vector<Grammar> parts{};        // all kinds with parts; separated: the separator comes last; rules: the start comes last
  std::vector<bool> optional_parts{};  // separated
  index least = 0, most = 0;           // repeat; most is -1 for any number. separated: least is 1 if one part must be written
  std::vector<Rule> rules{};           // rules: those of `parts`; reference: one
  Spelling spelling = nullptr;         // spelled
};

/// Returns whether a grammar is any_of() without parts, which matches no text.
bool has_no_text(const Grammar& grammar);
/// Counts literal characters and one_character() parts. A part that is used twice counts once.
std::size_t characters_in(const Grammar& grammar);

/// Lengths of a grammar's texts, in characters.
struct TextLengths {
  index shortest = 0;              // no text is shorter
  std::optional<index> longest{};  // no text is longer; absent: there is no limit
};
/// Returns bounds of a grammar that all_of() may have as a part.
TextLengths text_lengths(const Grammar& grammar);

/// Returns the ranges sorted, apart, and without surrogates.
std::vector<utf8::Range> normal_ranges(std::vector<utf8::Range> ranges);
/// Returns all characters that are not in normal ranges.
std::vector<utf8::Range> other_characters(const std::vector<utf8::Range>& ranges);

}  // namespace dikkat
