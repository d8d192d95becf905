#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "autograd/base/error.h"
#include "autograd/base/index.h"
#include "train/chat/example_findings.h"
#include "train/data/corpus/corpus.h"
#include "train/data/corpus/split.h"
#include "train/text/tokenizer.h"
#include "train/text/utf8.h"

namespace dikkat {

/// A part of a document, or all of it. A chunk ends where the text can be cut: its tokens do not depend on later text.
struct Chunk {
  std::string text;
  std::size_t file = 0;
  index line = 0;            // line number in JSONL, or object number, from 1; 0 for other files
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

/// Throws RefusedText with the place and the reason: "FILE: line 3, byte 17: ...", "FILE: line 3: byte 17 of its text: ...".
[[noreturn]] void refuse_text(const Corpus& corpus, const Chunk& chunk, const EncodeError& error);

/// Reads a corpus once, from beginning to end.
class CorpusReader {
 public:
  /// Tokenizer::stable_prefix(): the number of bytes that can be encoded without knowing the later text.
  using StablePrefix = std::function<index(std::string_view)>;
  /// Returns the place at or before a byte of a text where the text can be split. The text begins where a chunk does.
  using PlaceOfSplit = std::function<index(std::string_view, index)>;

  /// Keeps a reference to the corpus. `split` has the byte of each file's text where its validation part begins, which is moved back to
  /// place_of_split(). A document that contains it is split there. If it is empty, there is no validation part.
  CorpusReader(const Corpus& corpus, StablePrefix stable_prefix, FileSplit split = {}, PlaceOfSplit place_of_split = utf8::snap);
  ~CorpusReader();

  /// Returns the next chunks, at least one and about 1 MiB in all; none at the end. Throws InputError, which names the file, if it cannot
  /// be read as text.
  std::vector<Chunk> next();

  /// Returns the keys, other than those of texts, of the objects read so far.
  const ExampleFindings& found() const;
  /// Returns the number of places that were not UTF-8 and were replaced.
  index replaced() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace dikkat
