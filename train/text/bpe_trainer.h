#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "train/text/bpe.h"
#include "train/text/string_counts.h"

namespace dikkat {

/// The tokens that learning begins with.
struct BpeStart {
  std::vector<std::string> tokens{};  // by id, in any spelling in which a token is the text of its parts; empty: no token has the id
  std::function<void(std::string_view piece, std::vector<Token>& out)> encode{};  // appends the tokens of a piece
  std::vector<std::string> taken{};                                               // further texts that no new token may have
};

/// The tokens afterwards, and the merges that made the new ones, in their order.
struct LearnedMerges {
  std::vector<std::string> tokens{};
  std::vector<Merge> merges{};
  index known = 0;  // frequent pairs that were left out, because their text is a token already
};

/// Learns up to `add` merges from a corpus. Each joins the most frequent pair of adjacent tokens within pieces. Among equally frequent
/// pairs it takes the one with the lower ids (left id first), so the result depends only on the counts. There are fewer merges if no pair
/// occurs twice any more. A piece of more than 256 tokens counts as several of 256. The counts are consumed; memory stays below ten times
/// the bytes of the distinct pieces. `progress` gets the completed share.
LearnedMerges learn_merges(BpeStart start, StringCounts pieces, index add, const std::function<void(double)>& progress = {});

/// Learns byte pair encoding from a corpus: the 256 bytes, in GPT-2's order, then merges, as learn_merges() does. Throws InputError unless
/// vocab_size >= 256.
Bpe train_bpe(StringCounts pieces, index vocab_size, const std::function<void(double)>& progress = {});

}  // namespace dikkat
