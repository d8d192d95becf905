#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "autograd/base/index.h"
#include "train/config/data_config.h"

namespace dikkat {

/// One text file, in memory.
struct Document {
  std::string name;  // absolute path
  std::string text;
};

/// One line of a file of pairs: a source text and its target text. The views live as long as the corpus.
struct Pair {
  std::string_view name;  // the document's name
  index line = 0;         // line number in the document, from 1
  index offset = 0;       // the first byte of the line, and so of the source, in the document
  std::string_view source = {};
  std::string_view target = {};
};

/// Appends a pair's place, for error messages: "FILE: line 7".
void append_to(std::string& out, const Pair& pair);

/// The pairs that an encoder-decoder is trained or evaluated on, in the order of files and lines. A corpus can be moved but not copied,
/// because its views point into it.
struct PairCorpus {
  std::vector<Document> documents;
  std::vector<Pair> pairs;

  PairCorpus() = default;
  PairCorpus(PairCorpus&&) = default;
  PairCorpus& operator=(PairCorpus&&) = default;
};

/// Reads files of pairs, one on each line: a source, a TAB and a target. Lines end with "\n" or "\r\n"; the last line need not. A folder
/// stands for its .tsv files, as find_corpus_files() lists them; the path of a file may have any ending. Empty files are skipped.
/// Throws InputError, which names the file and the line, for a line that is empty, is not UTF-8, or does not have exactly one TAB. The
/// source and the target must not be empty or blank (Unicode white space). Throws it also for files that cannot be read as text or are all
/// empty.
PairCorpus read_pairs(std::span<const std::string> paths);

/// Returns the fingerprint of the documents (fingerprint.h).
std::string fingerprint(const PairCorpus& corpus);

/// The two parts of a corpus of pairs. Either may be empty.
struct PairSplit {
  std::span<const Pair> train;
  std::span<const Pair> validation;
};

/// Splits the pairs as the configuration asks (split_of()): moves those for validation after the others. Adds a note on the files.
/// Throws InputError unless 0 <= data.val_fraction < 1.
PairSplit split_pairs(PairCorpus& corpus, const DataConfig& config, std::vector<std::string>& notes);

}  // namespace dikkat
