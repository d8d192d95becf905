#pragma once

#include <string>
#include <string_view>

#include "train/hash/sha256.h"

namespace dikkat {

/// SHA-256, in lower-case hex, over the SHA-256 (32 bytes) of each document, in order. Names do not count: a corpus may move, but a changed
/// byte, order or document boundary shows.
class Fingerprint {
 public:
  /// Adds text to the current document.
  void add(std::string_view text);
  void end_document();
  /// The fingerprint of the documents that have ended. Starts over afterwards.
  std::string finish();

 private:
  Sha256 document_, documents_;
};

}  // namespace dikkat
