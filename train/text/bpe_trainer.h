#pragma once

#include <functional>

#include "train/text/bpe.h"
#include "train/text/string_counts.h"

namespace dikkat {

/// Byte pair encoding learnt from a corpus: the 256 bytes, in GPT-2's order, and merges, of which each joins the two tokens that are most
/// often neighbours within pieces; of equally frequent ones those with the lower ids, the left one first. So it depends on the counts
/// alone. Ends before `vocab_size` tokens when no two occur together twice. A piece counts as several of 256 bytes where it is longer. The
/// counts are used up: with them it takes less than ten times the bytes of the different pieces.
/// `progress` is told the share that is done. Throws InputError unless vocab_size >= 256.
Bpe train_bpe(StringCounts pieces, index vocab_size, const std::function<void(double)>& progress = {});

}  // namespace dikkat
