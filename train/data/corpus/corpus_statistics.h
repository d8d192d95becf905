#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "autograd/base/index.h"
#include "train/data/corpus/corpus.h"

namespace dikkat {

/// The place of a document or a line.
struct TextPlace {
  std::size_t file = 0;  ///< index in Corpus::files
  index line = 0;        ///< from 1; 0: the whole file

  bool operator==(const TextPlace&) const = default;
};

/// Statistics of the documents, lines and characters of a corpus.
struct CorpusStatistics {
  /// A document that occurs several times, byte for byte.
  struct Repeated {
    TextPlace first, second;  ///< the first two copies
    index bytes = 0;          ///< bytes of one copy
    index times = 0;          ///< 2 or more
  };
  struct Line {
    TextPlace place;    ///< in JSONL, the line of the file that holds the document
    index bytes = 0;    ///< without the line break
    std::string begin;  ///< the first bytes, valid UTF-8
  };

  std::map<index, index> lengths;  ///< bytes of a document -> number of documents with that length
  index repeats = 0;               ///< documents that equal an earlier one
  index repeated_bytes = 0;        ///< bytes of these
  std::vector<Repeated> repeated;  ///< the documents with the most bytes in copies, in descending order
  std::vector<Line> longest_lines;
  std::vector<std::pair<char32_t, index>> characters;  ///< each character with its count, by code point
  index invalid = 0;                                   ///< places that are not UTF-8
};

/// Reads the corpus once. `progress` gets the bytes of text done. Documents are compared by their SHA-256, which takes about 100 bytes of
/// memory per document. Throws InputError, which names the file, if it cannot be read as text.
CorpusStatistics statistics_of(const Corpus& corpus, const std::function<void(index)>& progress = {});

/// Returns the share of a corpus's bytes in documents that equal an earlier one. Reads the corpus once, as statistics_of() does.
double share_of_repeats(const Corpus& corpus);

/// Returns the smallest length that a share (0 to 1) of all documents does not exceed; 0 if there are no documents.
index length_at(const std::map<index, index>& lengths, double share);

}  // namespace dikkat
