#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "autograd/base/index.h"
#include "train/system/sha256.h"

namespace dikkat {

/// 64 bits of each document's SHA-256.
using DocumentHashes = std::vector<std::uint64_t>;

/// The fingerprint of a corpus: the SHA-256, in lower-case hex, of the documents' SHA-256 (32 bytes each), in order. It changes with any
/// byte, with the order and with document boundaries, but not with file names.
class Fingerprint {
 public:
  Fingerprint() = default;
  /// Adds to `documents`, which must outlive this, 64 bits of each document's SHA-256: to find the documents that two texts share.
  explicit Fingerprint(DocumentHashes* documents) : hashes_(documents) {}

  /// Adds text to the current document.
  void add(std::string_view text);
  void end_document();
  /// The fingerprint of the documents that have ended. Then starts again.
  std::string finish();

 private:
  Sha256 document_, documents_;
  DocumentHashes* hashes_ = nullptr;
};

/// How many documents of a text are among others, which are sorted.
index count_shared(const DocumentHashes& text, const DocumentHashes& sorted_others);

}  // namespace dikkat
