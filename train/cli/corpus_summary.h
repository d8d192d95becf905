#pragma once

#include <array>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "train/data/corpus/corpus_statistics.h"
#include "train/data/tokens/tokenize.h"

namespace dikkat {

/// The facts about a corpus that `corpus inspect` prints.
struct CorpusSummary {
  std::vector<std::string> paths;  ///< as the user named them
  Corpus corpus;
  CorpusFacts facts{};
  CorpusStatistics statistics{};
  std::string not_utf8{};  ///< where the text is not UTF-8, and why; empty if it is
  std::string tokenizer_kind{};
  index vocab_size = 0;
  /// Counts for each part: training and validation.
  std::array<index, kParts> bytes{}, documents{}, tokens{};
  FileSplit split{};     ///< the bytes of each file that are for training
  std::string sample{};  ///< the beginning of the text, as valid UTF-8

  double bytes_per_token() const;
  /// Returns the names of the files.
  std::vector<std::string> names() const;
  /// Returns a place as the user reads it: the file, and the line if there is one.
  std::string describe(const TextPlace& place) const;
};

/// Returns the object for --json, which the page draws too (train/web/report/page/corpus.js).
nlohmann::ordered_json to_json(const CorpusSummary& summary);
/// Returns the summary for people.
std::string to_text(const CorpusSummary& summary);

}  // namespace dikkat
