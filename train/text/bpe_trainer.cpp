#include "train/text/bpe_trainer.h"

#include <algorithm>
#include <queue>
#include <vector>

#include <tsl/robin_map.h>
#include <tsl/robin_set.h>

#include "autograd/base/error.h"
#include "train/text/byte_level.h"

namespace dikkat {

namespace {

using PairKey = std::uint64_t;
PairKey key_of(Token left, Token right) { return PairKey{static_cast<std::uint32_t>(left)} << 32 | static_cast<std::uint32_t>(right); }

struct KeyHash {
  std::size_t operator()(PairKey key) const { return (key ^ key >> 29) * 0x9E3779B97F4A7C15ULL >> 20; }
};

/// Two tokens that are neighbours: how often, and in which words at least.
struct Pair {
  std::int64_t count = 0;
  std::vector<std::uint32_t> words{};
};

/// What is to be merged next: the most frequent, then the lowest ids.
struct Candidate {
  std::int64_t count;
  PairKey key;

  bool operator<(const Candidate& other) const { return count != other.count ? count < other.count : key > other.key; }
};

/// A piece as the tokens that it is now.
struct Word {
  std::uint64_t start;  // in the symbols of all words
  std::int64_t count;
  std::uint32_t size;
};

class Training {
 public:
  explicit Training(const StringCounts& pieces) {
    std::array<Token, 256> of_byte{};
    for (std::size_t id = 0; id < 256; ++id) {
      of_byte[byte_level::kOrder[id]] = static_cast<Token>(id);
      tokens_.emplace_back(1, static_cast<char>(byte_level::kOrder[id]));
    }
    symbols_.reserve(static_cast<std::size_t>(pieces.distinct_bytes()));
    words_.reserve(static_cast<std::size_t>(pieces.distinct()));
    pieces.for_each([&](std::string_view piece, std::uint64_t times) {
      constexpr std::size_t kLongest = 256;
      for (; !piece.empty(); piece.remove_prefix(std::min(piece.size(), kLongest))) {
        const std::string_view part = piece.substr(0, kLongest);
        words_.push_back({symbols_.size(), static_cast<std::int64_t>(times), static_cast<std::uint32_t>(part.size())});
        for (const char byte : part) {
          symbols_.push_back(of_byte[static_cast<unsigned char>(byte)]);
        }
      }
    });
    for (std::uint32_t w = 0; w < words_.size(); ++w) {
      const Token* at = symbols_.data() + words_[w].start;
      for (std::uint32_t i = 0; i + 1 < words_[w].size; ++i) {
        add(key_of(at[i], at[i + 1]), w);
      }
    }
    for (const auto& [key, pair] : pairs_) {
      candidates_.push({pair.count, key});
    }
  }

  /// Makes one more token; false when no two tokens are neighbours twice.
  bool step() {
    while (!candidates_.empty()) {
      const Candidate best = candidates_.top();
      candidates_.pop();
      const auto found = pairs_.find(best.key);
      if (found == pairs_.end() || found->second.count < 2) {
        continue;
      }
      if (found->second.count != best.count) {  // merges since then took some
        candidates_.push({found->second.count, best.key});
        continue;
      }
      const Merge merge{static_cast<Token>(best.key >> 32), static_cast<Token>(best.key & 0xFFFFFFFFU)};
      std::string made = tokens_[static_cast<std::size_t>(merge.left)] + tokens_[static_cast<std::size_t>(merge.right)];
      if (!made_.insert(made).second) {  // by two other tokens: ids and ranks would no longer go together
        found.value().count = 0;
        continue;
      }
      const std::vector<std::uint32_t> words = std::move(found.value().words);
      const auto id = static_cast<Token>(tokens_.size());
      tokens_.push_back(std::move(made));
      merges_.push_back(merge);
      for (const std::uint32_t w : words) {
        apply(merge, id, w);
      }
      pairs_.erase(best.key);
      for (const PairKey key : grown_) {
        candidates_.push({pairs_.at(key).count, key});
      }
      grown_.clear();
      return true;
    }
    return false;
  }

  index size() const { return static_cast<index>(tokens_.size()); }
  Bpe result() && { return Bpe(std::move(tokens_), std::move(merges_)); }

 private:
  bool add(PairKey key, std::uint32_t w) {
    const auto [at, is_new] = pairs_.try_emplace(key);
    Pair& pair = at.value();
    pair.count += words_[w].count;
    if (pair.words.empty() || pair.words.back() != w) {
      pair.words.push_back(w);
    }
    return is_new;
  }

  void remove(PairKey key, std::uint32_t w) { pairs_.find(key).value().count -= words_[w].count; }

  void apply(const Merge& merge, Token made, std::uint32_t w) {
    Word& word = words_[w];
    Token* at = symbols_.data() + word.start;
    std::uint32_t size = 0;
    const auto replace = [&](PairKey before, PairKey after) {
      remove(before, w);
      if (add(after, w)) {
        grown_.push_back(after);
      }
    };
    for (std::uint32_t i = 0; i < word.size;) {
      if (i + 1 == word.size || at[i] != merge.left || at[i + 1] != merge.right) {
        at[size++] = at[i++];
        continue;
      }
      if (size > 0) {
        replace(key_of(at[size - 1], merge.left), key_of(at[size - 1], made));
      }
      if (i + 2 < word.size) {
        replace(key_of(merge.right, at[i + 2]), key_of(made, at[i + 2]));
      }
      at[size++] = made;
      i += 2;
    }
    word.size = size;
  }

  std::vector<std::string> tokens_;
  std::vector<Merge> merges_;
  tsl::robin_set<std::string> made_;
  std::vector<Token> symbols_;
  std::vector<Word> words_;
  tsl::robin_map<PairKey, Pair, KeyHash> pairs_;
  std::priority_queue<Candidate> candidates_;
  std::vector<PairKey> grown_;  // pairs that the merge being applied has made
};

}  // namespace

Bpe train_bpe(const StringCounts& pieces, index vocab_size, const std::function<void(double)>& progress) {
  constexpr index kBytes = 256;
  require_input(vocab_size >= kBytes, "bpe: a vocabulary of ", vocab_size, ", expected 256 or more, one for each byte");
  Training training(pieces);
  while (training.size() < vocab_size && training.step()) {
    if (progress && training.size() % kBytes == 0) {
      progress(static_cast<double>(training.size() - kBytes) / static_cast<double>(vocab_size - kBytes));
    }
  }
  return std::move(training).result();
}

}  // namespace dikkat
