#include "train/text/merge_table.h"

#include <algorithm>
#include <array>
#include <functional>
#include <queue>

namespace dikkat {

void MergeTable::encode_short(std::span<Token> symbols, std::vector<Token>& out) const {
  // Not initialized, because that takes as long as encoding a short word. NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init)
  std::array<Rank, kShort> ranks;  // the rank of each symbol's pair with the next one
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init)
  std::array<Token, kShort> results;
  // Look up the merge of each pair of neighbors.
  std::size_t count = symbols.size();
  const auto look_up = [&](std::size_t i) {
    const Entry found = i + 1 < count ? entry(symbols[i], symbols[i + 1]) : Entry();
    ranks[i] = found.rank;
    results[i] = found.result;
  };
  for (std::size_t i = 0; i < count; ++i) {
    look_up(i);
  }
  // Replace the best pair until none is left, and look up its neighbors again.
  while (count > 1) {
    const auto best = std::min_element(ranks.begin(), ranks.begin() + static_cast<std::ptrdiff_t>(count));  // the first of equals
    if (*best == kNone) {
      break;
    }
    const auto at = static_cast<std::size_t>(best - ranks.begin());
    symbols[at] = results[at];
    const auto close_gap = [&](auto begin) {
      std::copy(begin + static_cast<std::ptrdiff_t>(at) + 2, begin + static_cast<std::ptrdiff_t>(count),
                begin + static_cast<std::ptrdiff_t>(at) + 1);
    };
    close_gap(symbols.begin());
    close_gap(ranks.begin());
    close_gap(results.begin());
    --count;
    look_up(at);
    if (at > 0) {
      look_up(at - 1);
    }
  }
  out.insert(out.end(), symbols.begin(), symbols.begin() + static_cast<std::ptrdiff_t>(count));
}

void MergeTable::encode_long(std::span<Token> symbols, std::vector<Token>& out) const {
  constexpr std::uint32_t kEnd = std::numeric_limits<std::uint32_t>::max();
  constexpr Token kGone = -1;
  // Link the symbols, so that replacing a pair takes constant time.
  struct Links {
    std::uint32_t before, next;  // kEnd at the ends
  };
  const auto count = static_cast<std::uint32_t>(symbols.size());
  std::vector<Links> links(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    links[i] = {i == 0 ? kEnd : i - 1, i + 1 == count ? kEnd : i + 1};
  }
  const auto entry_at = [&](std::uint32_t i) {
    return symbols[i] == kGone || links[i].next == kEnd ? Entry() : entry(symbols[i], symbols[links[i].next]);
  };
  // Order the pairs in a heap by rank, then from left to right. An entry whose pair has changed since is skipped.
  std::vector<std::uint64_t> first;
  for (std::uint32_t i = 0; i + 1 < count; ++i) {
    if (const Rank rank = entry_at(i).rank; rank != kNone) {
      first.push_back(std::uint64_t{rank} << 32 | i);
    }
  }
  std::priority_queue<std::uint64_t, std::vector<std::uint64_t>, std::greater<>> pairs(std::greater<>(), std::move(first));
  const auto consider = [&](std::uint32_t i) {
    if (const Rank rank = i == kEnd ? kNone : entry_at(i).rank; rank != kNone) {
      pairs.push(std::uint64_t{rank} << 32 | i);
    }
  };
  // Replace the best pair, and consider the pairs that it forms with its neighbors.
  while (!pairs.empty()) {
    const auto rank = static_cast<Rank>(pairs.top() >> 32);
    const auto at = static_cast<std::uint32_t>(pairs.top());
    pairs.pop();
    const Entry found = entry_at(at);
    if (found.rank != rank) {
      continue;
    }
    const std::uint32_t right = links[at].next;
    symbols[at] = found.result;
    symbols[right] = kGone;
    links[at].next = links[right].next;
    if (links[at].next != kEnd) {
      links[links[at].next].before = at;
    }
    consider(links[at].before);
    consider(at);
  }
  for (std::uint32_t i = 0; i != kEnd; i = links[i].next) {
    out.push_back(symbols[i]);
  }
}

}  // namespace dikkat
