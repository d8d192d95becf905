#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "autograd/base/index.h"
#include "train/system/sha256.h"

namespace dikkat {

/// The first 64 bits of each document's SHA-256.
using DocumentHashes = std::vector<std::uint64_t>;

/// Computes the fingerprint of a corpus: the SHA-256, in lower-case hex, of all documents' SHA-256 (32 bytes each), one after another. It
/// depends on every byte, on the order and on document boundaries, but not on file names.
class Fingerprint {
 public:
  Fingerprint() = default;
  /// Appends the hash of each document to `documents`, which must outlive this. The hashes show which documents two texts share.
  explicit Fingerprint(DocumentHashes* documents) : hashes_(documents) {}

  /// Adds text to the current document.
  void add(std::string_view text);
  void end_document();
  /// Returns the fingerprint of the documents that have ended, and starts again.
  std::string finish();

 private:
  Sha256 document_, documents_;
  DocumentHashes* hashes_ = nullptr;
};

/// Returns the number of documents of `text` that are also in `sorted_others`, which must be sorted.
index count_shared(const DocumentHashes& text, const DocumentHashes& sorted_others);

}  // namespace dikkat
