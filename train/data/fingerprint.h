#pragma once

#include <span>
#include <string>

#include "train/data/corpus.h"

namespace dikkat {

/// SHA-256, in lower-case hex, over each document's length (8 bytes, little endian) and bytes, in order. Names do not count: a corpus
/// may move, but a changed byte, order or document boundary shows.
std::string fingerprint(std::span<const Document> documents);
inline std::string fingerprint(const Corpus& corpus) { return fingerprint(corpus.documents); }

}  // namespace dikkat
