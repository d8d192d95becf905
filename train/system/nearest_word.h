#pragma once

#include <cstddef>
#include <span>
#include <string_view>

// Guesses the word that a user meant when misspelling one.
namespace dikkat {

inline constexpr std::size_t kLongestMisspelling = 40;  // the cost of a distance is quadratic, so longer words are not compared
inline constexpr int kUnlike = 1000;

/// Returns the number of edits that turn one word into the other: a letter added, removed or replaced, or two neighbors swapped.
int edit_distance(std::string_view a, std::string_view b);
/// Returns how much two words differ apart from case, underscores and hyphens; kUnlike if one is not a plausible misspelling of the other.
int unlikeness(std::string_view known, std::string_view word);
/// Returns the word that was probably meant; empty if none is similar. Case, underscores and hyphens are ignored.
std::string_view nearest_word(std::span<const std::string_view> words, std::string_view word);

}  // namespace dikkat
