#pragma once

#include <string_view>

#include "train/grammar/grammar.h"

namespace dikkat {

/// Thrown for a regular expression that cannot be used. what() names the problem and its position.
class RegexError : public InputError {
 public:
  /// `at` counts bytes from the start of the pattern.
  RegexError(index at, const std::string& what) : InputError(what), at_(at) {}
  index at() const { return at_; }

 private:
  index at_;
};

/// How a regular expression is read.
struct RegexOptions {
  bool whole = true;  // whether the whole text must match, as between ^ and $; otherwise any part of it
};

/// Matches the texts of a regular expression. It has: characters; escapes \n \t \r \f \v \0 \xHH \uHHHH \u{H...} and \ before punctuation;
/// . (any character except \n); classes [a-z] [^a-z] and \d \w \s \D \W \S (ASCII, but \s is Unicode's white space, as in ECMAScript);
/// groups (...), (?:...) and (?<name>...); alternatives |; * + ? {m} {m,} {m,n}, also lazy, which match the same texts; lookahead (?=...)
/// and (?!...), but not within a part that may repeat; and ^ and $ at the ends of the pattern, of its outermost alternatives, and of a
/// lookahead. Throws RegexError for everything else (references, lookbehind, word boundaries, properties), and for repetitions that are too
/// large.
Grammar regex(std::string_view pattern, const RegexOptions& options = {});

}  // namespace dikkat
