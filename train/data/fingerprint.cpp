#include "train/data/fingerprint.h"

#include <span>

namespace dikkat {

void Fingerprint::add(std::string_view text) { document_.add(std::as_bytes(std::span(text))); }
void Fingerprint::end_document() {
  const Digest document = document_.finish();
  documents_.add(std::as_bytes(std::span(document)));
}
std::string Fingerprint::finish() { return to_hex(documents_.finish()); }

}  // namespace dikkat
