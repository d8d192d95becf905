#pragma once

#include <array>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "train/data/corpus_statistics.h"
#include "train/data/tokenize.h"

namespace dikkat {

/// What `corpus inspect` tells of a corpus.
struct CorpusSummary {
  std::vector<std::string> paths;  ///< as the user named them
  Corpus corpus;
  CorpusFacts facts{};
  CorpusStatistics statistics{};
  std::string not_utf8{};  ///< where the text is not UTF-8, and why; empty if it is
  std::string tokenizer_kind{};
  index vocab_size = 0;
  /// Of each part.
  std::array<index, kParts> bytes{}, documents{}, tokens{};
  std::string sample{};  ///< how the text begins, valid UTF-8

  double bytes_per_token() const;
  /// The place of a document or line as the user reads it: the file, and the line if it has one.
  std::string describe(const TextPlace& place) const;
};

/// For --json; the page draws the same object (train/web/report/page/corpus.js).
nlohmann::ordered_json to_json(const CorpusSummary& summary);
/// For the terminal.
std::string to_text(const CorpusSummary& summary);

}  // namespace dikkat
