#include "train/text/bpe_trainer.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <queue>
#include <span>
#include <vector>

#include <tsl/robin_map.h>
#include <tsl/robin_set.h>

#include "autograd/base/error.h"
#include "train/text/byte_level.h"
#include "train/text/pair_key.h"

namespace dikkat {

namespace {

/// An adjacent pair of tokens, with its count and the words that have it. Some of these words may no longer have it.
struct Pair {
  std::int64_t count = 0;
  std::vector<std::uint32_t> words{};
};

/// A candidate for the next merge. The best one is the most frequent; among equals, the one with the lowest ids.
struct Candidate {
  std::int64_t count;
  PairKey key;

  bool operator<(const Candidate& other) const { return count != other.count ? count < other.count : key > other.key; }
};

/// The current tokens of a piece.
struct Word {
  std::int64_t count;
  std::uint64_t place;  // the index of the first symbol, times 2^16, plus the number of symbols

  std::uint64_t start() const { return place >> 16; }
  std::uint32_t size() const { return place & 0xFFFF; }
  void set_size(std::uint32_t size) { place = start() << 16 | size; }
};

/// Learns merges. A pair's count is highest when it first appears, and only falls afterwards. So pairs below a threshold need not be
/// tracked until the most frequent pair has fallen below it too. Then all words are counted again with a lower threshold. Most pairs are
/// never tracked, because most texts have far more rare pairs than there are merges.
template <class Symbol>
class Training {
 public:
  Training(BpeStart start, StringCounts pieces) : tokens_(std::move(start.tokens)), token_bytes_(tokens_.begin(), tokens_.end()) {
    token_bytes_.insert(start.taken.begin(), start.taken.end());
    pieces.forget_places();
    symbols_.reserve(static_cast<std::size_t>(pieces.distinct_bytes()));
    words_.reserve(static_cast<std::size_t>(pieces.distinct()));
    std::vector<Token> encoded;
    pieces.for_each([&](std::string_view piece, std::uint64_t times) {
      encoded.clear();
      start.encode(piece, encoded);
      constexpr std::size_t kLongest = 256;
      for (std::span<const Token> rest = encoded; !rest.empty(); rest = rest.subspan(std::min(rest.size(), kLongest))) {
        const auto part = rest.first(std::min(rest.size(), kLongest));
        words_.push_back({.count = static_cast<std::int64_t>(times), .place = symbols_.size() << 16 | part.size()});
        std::ranges::transform(part, std::back_inserter(symbols_), [](Token token) { return static_cast<Symbol>(token); });
      }
    });
  }

  /// Adds one token. Returns false if no pair occurs twice.
  bool step() {
    for (;;) {
      if (candidates_.empty() || candidates_.top().count < threshold_) {
        if (threshold_ <= kLeast) {
          return false;
        }
        recount(Threshold::lower);
        continue;
      }
      const Candidate best = candidates_.top();
      candidates_.pop();
      const auto found = pairs_.find(best.key);
      if (found == pairs_.end() || found->second.count < threshold_) {
        continue;
      }
      if (found->second.count != best.count) {  // later merges took some of its occurrences
        candidates_.push({found->second.count, best.key});
        continue;
      }
      const Merge merge{static_cast<Token>(best.key >> 32), static_cast<Token>(best.key & 0xFFFFFFFFU)};
      std::string bytes = tokens_[static_cast<std::size_t>(merge.left)] + tokens_[static_cast<std::size_t>(merge.right)];
      const std::vector<std::uint32_t> words = std::move(found.value().words);
      pairs_.erase(best.key);
      if (!token_bytes_.insert(bytes).second) {  // another merge makes the same bytes: a token has only one merge
        ++result_.known;
        continue;
      }
      make(merge, std::move(bytes), words);
      return true;
    }
  }

  LearnedMerges result() && {
    result_.tokens = std::move(tokens_);
    return std::move(result_);
  }

 private:
  static constexpr std::int64_t kLeast = 2;
  static constexpr std::int64_t kFall = 2;  // each recount divides the threshold by this

  template <class F>
  void for_pairs(F&& f) const {
    for (std::uint32_t w = 0; w < words_.size(); ++w) {
      const Symbol* at = symbols_.data() + words_[w].start();
      for (std::uint32_t i = 0; i + 1 < words_[w].size(); ++i) {
        f(pair_key(static_cast<Token>(at[i]), static_cast<Token>(at[i + 1])), w);
      }
    }
  }

  enum class Threshold { same, lower };

  /// Counts all pairs again and collects their words.
  void recount(Threshold threshold) {
    pairs_ = {};
    candidates_ = {};
    // Count coarsely first: pairs with the same hash share a counter. Only pairs that may be frequent need an exact count.
    std::size_t slots = 1 << 10;
    while (slots < symbols_.size() / 16) {
      slots *= 2;
    }
    std::vector<std::int64_t> coarse(slots);
    const auto slot_of = [&](PairKey key) { return PairKeyHash()(key) & (slots - 1); };
    for_pairs([&](PairKey key, std::uint32_t w) { coarse[slot_of(key)] += words_[w].count; });
    if (threshold == Threshold::lower) {
      const std::int64_t highest = *std::max_element(coarse.begin(), coarse.end());
      threshold_ = std::max(kLeast, std::min(threshold_, highest) / kFall);
    }
    // Count the other pairs exactly, and the words that have them.
    struct Count {
      std::int64_t times = 0;
      std::uint32_t words = 0, last_word = kNone;
    };
    tsl::robin_map<PairKey, Count, PairKeyHash> counts;
    for_pairs([&](PairKey key, std::uint32_t w) {
      if (coarse[slot_of(key)] >= threshold_) {
        Count& count = counts[key];
        count.times += words_[w].count;
        count.words += count.last_word != w ? 1 : 0;
        count.last_word = w;
      }
    });
    // Track the pairs that reach the threshold, and collect their words.
    coarse = {};
    places_ = 0;
    for (const auto& [key, count] : counts) {
      if (count.times >= threshold_) {
        places_ += count.words;
        Pair pair{.count = count.times};
        pair.words.reserve(count.words);
        pairs_.emplace(key, std::move(pair));
        candidates_.push({count.times, key});
      }
    }
    counts = {};
    for_pairs([&](PairKey key, std::uint32_t w) {
      if (const auto found = pairs_.find(key); found != pairs_.end()) {
        note(found.value(), w);
      }
    });
    most_places_ = places_ + places_ / 4;
  }

  static void note(Pair& pair, std::uint32_t w) {
    if (pair.words.empty() || pair.words.back() != w) {
      pair.words.push_back(w);
    }
  }

  void make(const Merge& merge, std::string bytes, const std::vector<std::uint32_t>& words) {
    const auto id = static_cast<Token>(tokens_.size());
    tokens_.push_back(std::move(bytes));
    result_.merges.push_back(merge);
    for (const std::uint32_t w : words) {
      apply(merge, id, w);
    }
    places_ -= words.size();
    for (auto pair = fresh_.begin(); pair != fresh_.end(); ++pair) {
      if (pair->second.count >= threshold_) {
        candidates_.push({pair->second.count, pair->first});
        pair.value().words.shrink_to_fit();
        places_ += pair->second.words.size();
        pairs_.emplace(pair->first, std::move(pair.value()));
      }
    }
    fresh_.clear();
    if (places_ > most_places_) {  // most of these words no longer have the pair
      recount(Threshold::same);
    }
  }

  void apply(const Merge& merge, Token result, std::uint32_t w) {
    Word& word = words_[w];
    Symbol* at = symbols_.data() + word.start();
    std::uint32_t size = 0;
    const auto token = [&](std::uint32_t i) { return static_cast<Token>(at[i]); };
    // Move the word's count from an old pair to the pair that replaces it.
    const auto replace = [&](PairKey before, PairKey after) {
      const auto taken_from = [&](auto& pairs) {
        const auto found = pairs.find(before);
        if (found != pairs.end()) {
          found.value().count -= word.count;
        }
        return found != pairs.end();
      };
      if (!taken_from(fresh_)) {  // untracked pairs have no count
        taken_from(pairs_);
      }
      Pair& pair = fresh_[after];
      pair.count += word.count;
      note(pair, w);
    };
    // Join each occurrence of the pair in place, and replace the pairs around it.
    for (std::uint32_t i = 0; i < word.size();) {
      if (i + 1 == word.size() || token(i) != merge.left || token(i + 1) != merge.right) {
        at[size++] = at[i++];
        continue;
      }
      if (size > 0) {
        replace(pair_key(token(size - 1), merge.left), pair_key(token(size - 1), result));
      }
      if (i + 2 < word.size()) {
        replace(pair_key(merge.right, token(i + 2)), pair_key(result, token(i + 2)));
      }
      at[size++] = static_cast<Symbol>(result);
      i += 2;
    }
    word.set_size(size);
  }

  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

  std::vector<std::string> tokens_;
  tsl::robin_set<std::string> token_bytes_;
  LearnedMerges result_;
  std::vector<Symbol> symbols_;
  std::vector<Word> words_;
  tsl::robin_map<PairKey, Pair, PairKeyHash> pairs_;  // tracked pairs
  tsl::robin_map<PairKey, Pair, PairKeyHash> fresh_;  // new pairs of the current merge
  std::priority_queue<Candidate> candidates_;
  std::size_t places_ = 0;       // words in the lists of all tracked pairs
  std::size_t most_places_ = 0;  // above this many places, pairs are counted again
  std::int64_t threshold_ = std::numeric_limits<std::int64_t>::max();
};

template <class Symbol>
LearnedMerges train(BpeStart start, StringCounts pieces, index add, const std::function<void(double)>& progress) {
  Training<Symbol> training(std::move(start), std::move(pieces));
  constexpr index kReported = 256;
  for (index added = 0; added < add && training.step(); ++added) {
    if (progress && (added + 1) % kReported == 0) {
      progress(static_cast<double>(added + 1) / static_cast<double>(add));
    }
  }
  return std::move(training).result();
}

}  // namespace

LearnedMerges learn_merges(BpeStart start, StringCounts pieces, index add, const std::function<void(double)>& progress) {
  const bool is_small = std::ssize(start.tokens) + add <= 65536;
  return is_small ? train<std::uint16_t>(std::move(start), std::move(pieces), add, progress)
                  : train<std::uint32_t>(std::move(start), std::move(pieces), add, progress);
}

Bpe train_bpe(StringCounts pieces, index vocab_size, const std::function<void(double)>& progress) {
  require_input(vocab_size >= 256, "bpe: a vocabulary of ", vocab_size, ", expected 256 or more, one for each byte");
  BpeStart start;
  std::array<Token, 256> of_byte{};
  for (Token id = 0; id < 256; ++id) {
    const unsigned char byte = byte_level::kOrder[static_cast<std::size_t>(id)];
    of_byte[byte] = id;
    start.tokens.emplace_back(1, static_cast<char>(byte));
  }
  start.encode = [&](std::string_view piece, std::vector<Token>& out) {
    std::ranges::transform(piece, std::back_inserter(out), [&](char byte) { return of_byte[static_cast<unsigned char>(byte)]; });
  };
  LearnedMerges learned = learn_merges(std::move(start), std::move(pieces), vocab_size - 256, progress);
  return {std::move(learned.tokens), std::move(learned.merges)};
}

}  // namespace dikkat
