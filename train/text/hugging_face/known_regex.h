#pragma once

#include <string_view>

namespace dikkat {

/// The rule o200k of OpenAI's gpt-4o and gpt-oss, and of Phi-4-mini: in a word, capital letters come before small ones.
inline constexpr std::string_view kO200k =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
    R"(\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

/// A regular expression by which models split texts, and facts about it. Those with a Splitter are not here. This header is private to its
/// folder.
struct KnownRegex {
  std::string_view regex;
  bool line_breaks;                    // whether a word may have a line break after another character (stable_pieces())
  std::string_view joins_after_break;  // characters that may follow a line break in a word
};

/// Returns the facts about a regular expression; nullptr if it is not known.
const KnownRegex* known_regex(std::string_view regex);

}  // namespace dikkat
