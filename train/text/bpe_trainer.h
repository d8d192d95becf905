#pragma once

#include <functional>

#include "train/text/bpe.h"
#include "train/text/string_counts.h"

namespace dikkat {

/// Learns byte pair encoding from a corpus: the 256 bytes, in GPT-2's order, then merges. Each merge joins the most frequent pair of
/// adjacent tokens within pieces. Among equally frequent pairs it takes the one with the lower ids (left id first), so the result depends
/// only on the counts. There are fewer than `vocab_size` tokens if no pair occurs twice any more. A piece longer than 256 bytes counts as
/// several of 256 bytes. The counts are consumed; memory stays below ten times the bytes of the distinct pieces. `progress` gets the
/// completed share. Throws InputError unless vocab_size >= 256.
Bpe train_bpe(StringCounts pieces, index vocab_size, const std::function<void(double)>& progress = {});

}  // namespace dikkat
