#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "autograd/base/index.h"
#include "train/data/corpus_files.h"
#include "train/text/tokenizer_maker.h"

namespace dikkat {

/// How a corpus is read.
struct CorpusOptions {
  std::string text_field = "text";  // of a line of JSONL
  bool replace_invalid = false;     // what is not UTF-8 becomes U+FFFD; else the tokenizer refuses it
  bool any_bytes = false;           // NUL bytes are read as well, for a tokenizer of bytes
};

/// The texts that a model is trained on or evaluated on, in a fixed order. A file is a document; one that ends in .jsonl or .ndjson has one
/// on each line, the string in its text_field. Empty documents are left out, and so is a UTF-8 byte order mark at the start of a file.
/// Texts are read when they are needed and never all in memory.
struct Corpus {
  std::vector<CorpusFile> files{};
  std::vector<PassedOver> passed_over{};  // of the folders that were named
  CorpusOptions options;
};

/// find_corpus_files(), read with these options.
Corpus open_corpus(std::span<const std::string> paths, const CorpusOptions& options = {});

/// A part of a document, or all of it. Its tokens do not depend on what follows.
struct Chunk {
  std::string text;
  std::size_t file = 0;
  index line = 0;      // of JSONL, from 1 on
  index offset = 0;    // of the chunk in its document, in bytes
  bool begins = true;  // it is the first of its document, or of its document's part after the split point
  bool ends = true;    // it is the last of its document
  bool after_split = false;
};

/// A corpus with text that the tokenizer cannot encode.
class RefusedText : public InputError {
 public:
  using InputError::InputError;
};

/// Throws RefusedText that says what the tokenizer refused and where: "FILE: byte 17: ...", "FILE: line 3: byte 17 of its text: ...".
[[noreturn]] void refuse_text(const Corpus& corpus, const Chunk& chunk, const EncodeError& error);

/// Reads a corpus once, in order.
class CorpusReader {
 public:
  /// How many bytes of a text can be encoded before the rest is known: Tokenizer::settled().
  using Settled = std::function<index(std::string_view)>;

  /// Keeps a reference to the corpus. `split` counts bytes over all texts. The document in which it lies is split there, or at the start of
  /// the character that it lies in.
  CorpusReader(const Corpus& corpus, Settled settled, std::optional<index> split = {});
  ~CorpusReader();

  /// The next chunks, about 1 MiB together and at least one; none at the end. Throws InputError, which names the file, for what cannot be
  /// read as text.
  std::vector<Chunk> next();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// What survey() finds out about a corpus.
struct CorpusFacts {
  index documents = 0;
  index bytes = 0;          // of all texts
  std::string fingerprint;  // equal texts, equal fingerprint
};

/// Reads a corpus, and has `maker` (may be null) read it as well. `progress` gets the bytes that are done. Works on TBB's threads; the
/// result does not depend on them. Throws InputError, which names the place, for the first text that the reader or the maker refuses, and
/// when the whole corpus is empty.
CorpusFacts survey(const Corpus& corpus, TokenizerMaker* maker, const std::function<void(index)>& progress = {});

}  // namespace dikkat
