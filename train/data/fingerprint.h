#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace dikkat {

/// SHA-256, in lower-case hex, over the SHA-256 (32 bytes) of each document, in order. Names do not count: a corpus may move, but a changed
/// byte, order or document boundary shows.
class Fingerprint {
 public:
  Fingerprint();
  ~Fingerprint();
  Fingerprint(Fingerprint&&) noexcept;
  Fingerprint& operator=(Fingerprint&&) noexcept;

  /// Some more of the document that is being read.
  void add(std::string_view text);
  void end_document();
  /// Of the documents that have ended; what comes next is another corpus.
  std::string finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// SHA-256 of one text, in hex.
std::string sha256_hex(std::string_view text);

}  // namespace dikkat
