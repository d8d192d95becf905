#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "autograd/base/index.h"
#include "train/data/corpus.h"

namespace dikkat {

/// Where a document or a line stands.
struct TextPlace {
  std::size_t file = 0;  ///< in Corpus::files
  index line = 0;        ///< from 1; 0: the whole file

  bool operator==(const TextPlace&) const = default;
};

/// What a corpus consists of.
struct CorpusStatistics {
  /// A document that is there several times, byte for byte.
  struct Repeated {
    TextPlace first, second;  ///< the first two
    index bytes = 0;          ///< of one of them
    index times = 0;          ///< 2 or more
  };
  struct Line {
    TextPlace place;    ///< of JSONL the line of the file that has the document
    index bytes = 0;    ///< without the line break
    std::string begin;  ///< the first bytes, valid UTF-8
  };

  std::map<index, index> lengths;  ///< bytes of a document -> how many have that many
  index repeats = 0;               ///< documents that an earlier one equals
  index repeated_bytes = 0;        ///< of these
  std::vector<Repeated> repeated;  ///< those with the most bytes in copies, most first
  std::vector<Line> longest_lines;
  std::vector<std::pair<char32_t, index>> characters;  ///< each with its count, by code point
  index invalid = 0;                                   ///< places that are not UTF-8
};

/// Reads the corpus once. `progress` gets the bytes of text done. Documents are compared by their SHA-256; it takes about 100 bytes of
/// memory for each. Throws InputError, which names the file, if it cannot be read as text.
CorpusStatistics statistics_of(const Corpus& corpus, const std::function<void(index)>& progress = {});

/// The length below or at which a share (0 to 1) of all documents is; 0 if there are none.
index length_at(const std::map<index, index>& lengths, double share);

}  // namespace dikkat
