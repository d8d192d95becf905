#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

// What a person meant who misspelt a word.
namespace dikkat {

inline constexpr std::size_t kLongestMisspelling = 40;  // longer words are none, and distances cost their square
inline constexpr int kUnlike = 1000;

/// Edits (a letter more, less or other, or two neighbours swapped) that turn one word into the other.
int edit_distance(std::string_view a, std::string_view b);
/// A word in lower case and without separators, so that maxSteps, max-steps and MAX_STEPS are one word.
std::string plain_word(std::string_view word);
/// How unlike two words are, written plainly; kUnlike if nobody would write one for the other.
int unlikeness(std::string_view known, std::string_view word);
/// The word that was probably meant; empty if none is near. Case, underscores and hyphens count for nothing.
std::string_view nearest_word(std::span<const std::string_view> words, std::string_view word);

}  // namespace dikkat
