#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "autograd/base/index.h"
#include "train/data/text_files.h"

namespace dikkat {

/// One text file.
struct Document {
  std::string name;  // absolute path
  std::string text;
};

/// A piece of a document. The views live as long as the corpus stays where it is.
struct Passage {
  std::string_view name;  // of the document
  std::string_view text;
  index offset = 0;  // of the piece in the document, in bytes
};

/// The texts that a model is trained on or evaluated on, in a fixed order. None is empty.
struct Corpus {
  std::vector<Document> documents;

  /// All of it, one passage a document.
  std::vector<Passage> passages() const;
};

/// Reads files and folders whole into memory, as find_text_files() lists them. Empty files are left out.
/// Throws InputError for what cannot be read as text, and when all of it is empty.
std::vector<Document> read_documents(std::span<const std::string> paths, std::span<const std::string_view> extensions = kTextExtensions);
/// The same, as a corpus.
Corpus read_corpus(std::span<const std::string> paths);

/// Bytes of all passages.
index byte_count(std::span<const Passage> passages);

}  // namespace dikkat
