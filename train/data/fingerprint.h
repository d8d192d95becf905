#pragma once

#include <string>
#include <string_view>

#include "train/hash/sha256.h"

namespace dikkat {

/// The fingerprint of a corpus: the SHA-256, in lower-case hex, of the documents' SHA-256 (32 bytes each), in order. It changes with any
/// byte, with the order and with document boundaries, but not with file names.
class Fingerprint {
 public:
  /// Adds text to the current document.
  void add(std::string_view text);
  void end_document();
  /// The fingerprint of the documents that have ended. Then starts again.
  std::string finish();

 private:
  Sha256 document_, documents_;
};

}  // namespace dikkat
