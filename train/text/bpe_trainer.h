#pragma once

#include <functional>

#include "train/text/bpe.h"
#include "train/text/string_counts.h"

namespace dikkat {

/// Byte pair encoding learnt from a corpus: the 256 bytes, in GPT-2's order, and merges. Each merge joins the pair of adjacent tokens that is
/// most frequent within pieces; of equally frequent pairs the one with the lower ids, the left id first. So the result depends on the counts
/// alone. Ends before `vocab_size` tokens when no pair occurs twice. A piece longer than 256 bytes counts as several of 256 bytes. The
/// counts are consumed: memory stays below ten times the bytes of the different pieces.
/// `progress` gets the share that is done. Throws InputError unless vocab_size >= 256.
Bpe train_bpe(StringCounts pieces, index vocab_size, const std::function<void(double)>& progress = {});

}  // namespace dikkat
