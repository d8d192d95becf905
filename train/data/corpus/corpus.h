#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "autograd/base/index.h"
#include "train/config/data_config.h"
#include "train/data/corpus/corpus_files.h"
#include "train/data/corpus/fingerprint.h"
#include "train/text/tokenizer_maker.h"

namespace dikkat {

/// Options for reading a corpus.
struct CorpusOptions {
  FieldNames names{};            // the field that holds the text
  bool replace_invalid = false;  // invalid UTF-8 becomes U+FFFD; otherwise the tokenizer refuses it
  bool any_bytes = false;        // NUL bytes are allowed, for the byte tokenizer
  double most_replaced = 0.01;   // a file in which a larger share of the characters was replaced is refused
  bool refuses_json = false;     // JSON without texts, and tables, are refused; otherwise they are read as plain text
  bool is_known = false;         // a run has trained on this corpus before: none of its contents are refused
};

/// The texts that a model is trained or evaluated on, in a fixed order. Each file is a document; in a file of JSON objects (form_of()) each
/// object is one: the string in text_field. Empty documents, and a UTF-8 byte order mark at the start of a file, are skipped.
/// Texts are read when needed and are never all in memory.
struct Corpus {
  std::vector<CorpusFile> files{};
  std::vector<SkippedFiles> skipped{};  // files in the given folders that are not part of the corpus
  CorpusOptions options;
  std::vector<std::string> notes{};  // for the user: files of JSON or tables that are read as plain text
};

/// Finds the files (find_corpus_files()) of a corpus that is read with these options, and judges the form of each (form_of()). Throws
/// InputError with `refuses_json` for JSON without texts and tables without their columns.
Corpus open_corpus(std::span<const std::string> paths, const CorpusOptions& options = {});

/// The results of survey().
struct CorpusFacts {
  index documents = 0;
  index bytes = 0;  // bytes of all texts
  std::vector<index> bytes_of_files{};
  std::string fingerprint{};         // equal for equal texts (fingerprint.h)
  std::vector<std::string> notes{};  // for the user, such as Windows line breaks, and keys that are not read
};

/// Scans a corpus for the first time. `maker`, if not null, reads all texts too. `progress` gets the number of bytes done. `documents`, if
/// not null, gets the hash of each document. Runs on TBB's threads; the result does not depend on them. Throws InputError, which names the
/// place, for the first text that the reader or the maker refuses, and for an empty corpus.
CorpusFacts survey(const Corpus& corpus, TokenizerMaker* maker, const std::function<void(index)>& progress = {},
                   DocumentHashes* documents = nullptr);

}  // namespace dikkat
