#pragma once

#include <functional>

#include "train/text/bpe.h"
#include "train/text/string_counts.h"

namespace dikkat {

/// Learns byte pair encoding from a corpus: the 256 bytes, in GPT-2's order, then merges. Each merge joins the most frequent pair of
/// adjacent tokens within pieces; of equally frequent pairs the one with the lower ids, the left id first. So the result depends on the
/// counts alone. There are fewer than `vocab_size` tokens if no pair occurs twice any more. A piece longer than 256 bytes counts as several
/// of 256 bytes. The counts are consumed; memory stays below ten times the bytes of the distinct pieces. `progress` gets the share that is
/// done. Throws InputError unless vocab_size >= 256.
Bpe train_bpe(StringCounts pieces, index vocab_size, const std::function<void(double)>& progress = {});

}  // namespace dikkat
