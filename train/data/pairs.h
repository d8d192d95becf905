#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "autograd/base/index.h"

namespace dikkat {

/// One text file, in memory.
struct Document {
  std::string name;  // absolute path
  std::string text;
};

/// One line of a file of pairs: a text to read and the one to write for it. The views live as long as the corpus.
struct Pair {
  std::string_view name;  // of the document
  index line = 0;         // in the document, from 1 on
  index offset = 0;       // of the line in the document, in bytes: where the source begins
  std::string_view source = {};
  std::string_view target = {};
};

/// Where a pair is, for error messages: "FILE: line 7".
void append_to(std::string& out, const Pair& pair);

/// The pairs that an encoder-decoder is trained on or evaluated on, in the order of files and lines. It may be moved; a copy's views
/// would be of the original.
struct PairCorpus {
  std::vector<Document> documents;
  std::vector<Pair> pairs;

  PairCorpus() = default;
  PairCorpus(PairCorpus&&) = default;
  PairCorpus& operator=(PairCorpus&&) = default;
};

/// Reads files of pairs, one on each line: a source, a TAB and a target. Lines end with "\n" or "\r\n", the last may lack its end. A folder
/// stands for its .tsv files, as find_corpus_files() lists them; a file that is named may have any ending. Empty files are left out.
/// Throws InputError, which names the file and the line, for a line that is empty, is not UTF-8, has no TAB or several, or has a source or
/// target that is empty or blank (Unicode white space); and for what cannot be read as text, and when all of it is empty.
PairCorpus read_pairs(std::span<const std::string> paths);

/// Fingerprint of the documents.
std::string fingerprint(const PairCorpus& corpus);

/// The pairs of a corpus in two parts. Either may be empty.
struct PairSplit {
  std::span<const Pair> train;
  std::span<const Pair> validation;
};

/// The first floor(n * (1 - val_fraction)) of the n pairs are for training, the others for validation.
/// Throws InputError unless 0 <= val_fraction < 1.
PairSplit split_pairs(const PairCorpus& corpus, double val_fraction);

}  // namespace dikkat
