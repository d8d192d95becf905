#include "train/system/nearest_word.h"

#include <algorithm>
#include <string>
#include <vector>

namespace dikkat {

namespace {

/// Returns a word in lower case and without separators, so that maxSteps, max-steps and MAX_STEPS are equal.
std::string plain_word(std::string_view word) {
  std::string letters;
  for (const char c : word) {
    if (c != '_' && c != '-') {
      letters += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    }
  }
  return letters;
}

}  // namespace

int edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<int>> cost(a.size() + 1, std::vector<int>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        cost[i][j] = static_cast<int>(i + j);
        continue;
      }
      const int change = a[i - 1] == b[j - 1] ? 0 : 1;
      cost[i][j] = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1, cost[i - 1][j - 1] + change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
      }
    }
  }
  return cost[a.size()][b.size()];
}

int unlikeness(std::string_view known, std::string_view word) {
  if (word.empty() || word.size() > kLongestMisspelling) {
    return kUnlike;
  }
  const std::string a = plain_word(known);
  const std::string b = plain_word(word);
  const int distance = edit_distance(a, b);
  const auto shorter = static_cast<int>(std::min(a.size(), b.size()));
  if (distance <= std::clamp(shorter / 3, 1, 3)) {
    return shorter > distance ? distance : kUnlike;
  }
  constexpr std::size_t kTellingStart = 4;  // such as "warmup" for warmup_steps
  const bool is_start = b.size() >= kTellingStart && a.starts_with(b);
  const bool goes_on = a.size() >= kTellingStart && b.starts_with(a);
  return is_start || goes_on ? distance + 10 : kUnlike;
}

std::string_view nearest_word(std::span<const std::string_view> words, std::string_view word) {
  int least = kUnlike;
  std::string_view nearest;
  for (const std::string_view known : words) {
    if (const int distance = unlikeness(known, word); distance < least) {
      least = distance;
      nearest = known;
    }
  }
  return nearest;
}

}  // namespace dikkat
