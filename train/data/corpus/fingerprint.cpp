#include "train/data/corpus/fingerprint.h"

#include <algorithm>
#include <cstring>
#include <span>

namespace dikkat {

void Fingerprint::add(std::string_view text) { document_.add(std::as_bytes(std::span(text))); }
void Fingerprint::end_document() {
  const Digest document = document_.finish();
  documents_.add(std::as_bytes(std::span(document)));
  if (hashes_ != nullptr) {
    std::memcpy(&hashes_->emplace_back(), document.data(), sizeof(std::uint64_t));
  }
}
std::string Fingerprint::finish() { return to_hex(documents_.finish()); }

index count_shared(const DocumentHashes& text, const DocumentHashes& sorted_others) {
  return std::ranges::count_if(text, [&](std::uint64_t document) { return std::ranges::binary_search(sorted_others, document); });
}

}  // namespace dikkat
