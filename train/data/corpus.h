#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "autograd/base/index.h"
#include "train/data/corpus_files.h"
#include "train/data/fingerprint.h"
#include "train/text/tokenizer_maker.h"

namespace dikkat {

/// Options for reading a corpus.
struct CorpusOptions {
  std::string text_field = "text";  // the JSONL field that holds the text
  bool replace_invalid = false;     // invalid UTF-8 becomes U+FFFD; otherwise the tokenizer refuses it
  bool any_bytes = false;           // NUL bytes are allowed, for the byte tokenizer
};

/// The texts that a model is trained or evaluated on, in a fixed order. Each file is a document; in a .jsonl or .ndjson file each line is
/// one: the string in text_field. Empty documents, and a UTF-8 byte order mark at the start of a file, are skipped.
/// Texts are read when needed and are never all in memory.
struct Corpus {
  std::vector<CorpusFile> files{};
  std::vector<SkippedFiles> skipped{};  // files in the given folders that are not part of the corpus
  CorpusOptions options;
};

/// Finds the files (find_corpus_files()) of a corpus that is read with these options.
Corpus open_corpus(std::span<const std::string> paths, const CorpusOptions& options = {});

/// A part of a document, or all of it. It ends where the text can be cut: its tokens do not depend on what follows.
struct Chunk {
  std::string text;
  std::size_t file = 0;
  index line = 0;            // line number in JSONL, from 1; 0 for other files
  index offset = 0;          // the chunk's first byte, counted from the start of its document
  bool begins = true;        // whether it is the first chunk of its document, or of the document's validation part
  bool ends = true;          // whether it is the last chunk of its document
  bool after_split = false;  // whether it belongs to the validation part
};

/// Thrown for a corpus with text that the tokenizer cannot encode.
class RefusedText : public InputError {
 public:
  using InputError::InputError;
};

/// Throws RefusedText with the place and the reason: "FILE: byte 17: ...", "FILE: line 3: byte 17 of its text: ...".
[[noreturn]] void refuse_text(const Corpus& corpus, const Chunk& chunk, const EncodeError& error);

/// Reads a corpus once, from beginning to end.
class CorpusReader {
 public:
  /// Tokenizer::stable_prefix(): the number of bytes that can be encoded without knowing what follows.
  using StablePrefix = std::function<index(std::string_view)>;

  /// Keeps a reference to the corpus. `split` is the byte, counted over all texts, where the validation part begins; it is moved back to
  /// the start of a character. The document that contains it is split there.
  CorpusReader(const Corpus& corpus, StablePrefix stable_prefix, std::optional<index> split = {});
  ~CorpusReader();

  /// Returns the next chunks, at least one and about 1 MiB in all; none at the end. Throws InputError, which names the file, if it cannot
  /// be read as text.
  std::vector<Chunk> next();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The results of survey().
struct CorpusFacts {
  index documents = 0;
  index bytes = 0;                   // bytes of all texts
  std::string fingerprint;           // equal for equal texts (fingerprint.h)
  std::vector<std::string> notes{};  // for the user: plain-text files that look like JSON, Windows line breaks
};

/// Scans a corpus for the first time. `maker`, if not null, reads all texts too. `progress` gets the number of bytes done. `documents`, if
/// not null, gets the hash of each document. Runs on TBB's threads; the result does not depend on them. Throws InputError, which names the
/// place, for the first text that the reader or the maker refuses, and for an empty corpus.
CorpusFacts survey(const Corpus& corpus, TokenizerMaker* maker, const std::function<void(index)>& progress = {},
                   DocumentHashes* documents = nullptr);

}  // namespace dikkat
