#pragma once

#include <algorithm>
#include <iterator>
#include <string_view>

// The names of the texts of a pair in files: keys of objects, and columns of tables. The first of each is the one to which data.columns
// refers.
namespace dikkat {

inline constexpr std::string_view kAnchorKeys[] = {"anchor", "query", "question", "sentence1"};
inline constexpr std::string_view kPositiveKeys[] = {"positive", "document", "passage", "answer", "sentence2"};
inline constexpr std::string_view kNegativeKeys[] = {"negative", "negatives", "hard_negatives"};

inline constexpr const char* kHowToEmbed = "; `dikkat finetune --objective embedding` learns vectors from pairs of texts";

inline bool is_text_pair_key(std::string_view key) {
  const auto has = [&](const auto& keys) { return std::ranges::find(keys, key) != std::end(keys); };
  return has(kAnchorKeys) || has(kPositiveKeys) || has(kNegativeKeys);
}

}  // namespace dikkat
