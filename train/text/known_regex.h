#pragma once

#include <string_view>

namespace dikkat {

/// A regular expression by which models split texts, and facts about it. Those with a Splitter are not here. This header is private to its
/// folder.
struct KnownRegex {
  std::string_view regex;
  std::string_view gguf;               // tokenizer.ggml.pre
  bool line_breaks;                    // whether a word may have a line break after another character (stable_pieces())
  std::string_view joins_after_break;  // characters that may follow a line break in a word
  bool ignore_merges;                  // whether llama.cpp makes a word that is a token this token
};

/// Returns what is known of a regular expression; nullptr if nothing is.
const KnownRegex* known_regex(std::string_view regex);
/// Returns the regular expression of a tokenizer.ggml.pre; nullptr if it is none of these.
const KnownRegex* known_regex_of_gguf(std::string_view pre);

}  // namespace dikkat
