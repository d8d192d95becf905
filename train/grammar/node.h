#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "train/grammar/grammar.h"

namespace dikkat {

/// A part of a grammar. This header is only for the sources of this project.
struct Grammar::Node {
  enum class Kind : std::uint8_t { literal, character, sequence, any_of, repeat, separated, without, reference, rules };

  Kind kind;
  std::string text{};                  // literal, without: the marker
  std::vector<utf8::Range> ranges{};   // character: sorted, apart, of characters only
  std::vector<Grammar> parts{};        // all kinds with parts; separated: the separator comes last; rules: the start comes last
  std::vector<bool> optional_parts{};  // separated
  index least = 0, most = 0;           // repeat; most is -1 for any number
  std::vector<Rule> rules{};           // rules: those of `parts`; reference: one
};

/// Returns the ranges sorted, apart, and without surrogates.
std::vector<utf8::Range> normal_ranges(std::vector<utf8::Range> ranges);
/// Returns all characters that are not in normal ranges.
std::vector<utf8::Range> other_characters(const std::vector<utf8::Range>& ranges);

}  // namespace dikkat
