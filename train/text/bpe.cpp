#include "train/text/bpe.h"

#include <algorithm>
#include <array>
#include <limits>
#include <queue>

#include <tsl/robin_map.h>

#include "autograd/base/error.h"
#include "train/text/byte_level.h"
#include "train/text/pair_key.h"

namespace dikkat {
namespace {

using Rank = std::uint32_t;
constexpr Rank kNoRank = std::numeric_limits<Rank>::max();
constexpr Token kNoToken = -1;
constexpr std::size_t kShort = 64;  // bytes; up to this length, scanning for the best merge in O(n^2) is fastest

std::string named(const std::string& bytes) { return concat('"', byte_level::to_text(bytes), '"'); }

void require_tokens(Token all) { require_input(all >= 0, "bpe: the text has a byte for which the vocabulary has no token"); }

}  // namespace

struct Bpe::Tables {
  std::array<Token, 256> of_byte{};
  tsl::robin_map<std::string_view, Token> of_piece;  // tokens that result from encoding their own bytes; with ignore_merges all tokens
  tsl::robin_map<PairKey, Rank, PairKeyHash> ranks;
  std::vector<Token> results;  // the result of each merge
  std::size_t longest = 0;     // bytes of the longest token

  Rank rank(Token left, Token right) const {
    const auto found = ranks.find(pair_key(left, right));
    return found == ranks.end() ? kNoRank : found->second;
  }
};

Bpe::~Bpe() = default;
Bpe::Bpe(Bpe&&) noexcept = default;
Bpe& Bpe::operator=(Bpe&&) noexcept = default;

Bpe::Bpe(std::vector<std::string> tokens, std::vector<Merge> merges, bool ignore_merges)
    : tokens_(std::move(tokens)), merges_(std::move(merges)), ignore_merges_(ignore_merges) {
  require_input(tokens_.size() <= std::size_t{1} << 31, "bpe: a vocabulary of ", tokens_.size(), " tokens, expected at most 2^31");
  auto tables = std::make_unique<Tables>();
  tsl::robin_map<std::string_view, Token> ids;
  ids.reserve(tokens_.size());
  for (std::size_t id = 0; id < tokens_.size(); ++id) {
    if (!tokens_[id].empty()) {
      const auto [other, is_new] = ids.emplace(tokens_[id], static_cast<Token>(id));
      require_input(is_new, "bpe: tokens ", other->second, " and ", id, " are both ", named(tokens_[id]), ", expected each once");
      tables->longest = std::max(tables->longest, tokens_[id].size());
    }
  }
  for (std::size_t byte = 0; byte < 256; ++byte) {
    const std::string one(1, static_cast<char>(byte));
    const auto id = ids.find(one);
    const bool is_common = (' ' <= byte && byte <= '~') || byte == '\n';
    require_input(id != ids.end() || !is_common, "bpe: no token is the single byte ", byte, " (", named(one),
                  "), expected a token for the line break and for each printable ASCII character");
    tables->of_byte[byte] = id != ids.end() ? id->second : kNoToken;
    missing_bytes_ += id != ids.end() ? "" : one;
  }
  tables->ranks.reserve(merges_.size());
  tables->results.reserve(merges_.size());
  const auto is_id = [&](Token id) {
    return 0 <= id && id < static_cast<index>(tokens_.size()) && !tokens_[static_cast<std::size_t>(id)].empty();
  };
  for (std::size_t i = 0; i < merges_.size(); ++i) {
    const auto [left, right] = merges_[i];
    require_input(is_id(left) && is_id(right), "bpe: merge ", i, " joins tokens ", left, " and ", right,
                  ", expected ids of the vocabulary");
    const std::string together = tokens_[static_cast<std::size_t>(left)] + tokens_[static_cast<std::size_t>(right)];
    const auto id = ids.find(together);
    require_input(id != ids.end(), "bpe: merge ", i, " gives ", named(together), ", which is not a token");
    require_input(tables->ranks.emplace(pair_key(left, right), static_cast<Rank>(i)).second, "bpe: merge ", i, ", which gives ",
                  named(together), ", occurs twice");
    tables->results.push_back(id->second);
  }
  tables_ = std::move(tables);

  // Most pieces of ordinary text are tokens. They are looked up, if encoding the token's bytes gives this token.
  auto whole = std::make_unique<Tables>(*tables_);
  std::vector<Token> encoded;
  for (const auto& [bytes, id] : ids) {
    encoded.clear();
    if (!ignore_merges_) {
      encode(bytes, encoded);
    }
    if (ignore_merges_ || encoded.size() == 1) {
      whole->of_piece.emplace(bytes, id);
    }
  }
  tables_ = std::move(whole);
}

void Bpe::encode(std::string_view piece, std::vector<Token>& out) const {
  if (piece.size() <= tables_->longest) {
    if (const auto id = tables_->of_piece.find(piece); id != tables_->of_piece.end()) {
      out.push_back(id->second);
      return;
    }
  }
  if (piece.size() <= kShort) {
    encode_short(piece, out);
  } else {
    encode_long(piece, out);
  }
}

void Bpe::encode_short(std::string_view piece, std::vector<Token>& out) const {
  // Not initialized, because that takes as long as encoding a short word. NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init)
  std::array<Token, kShort> symbols;
  std::array<Rank, kShort> ranks;  // rank of each symbol with the next one. NOLINT(cppcoreguidelines-pro-type-member-init)
  std::size_t count = piece.size();
  const auto rank_at = [&](std::size_t i) { return i + 1 < count ? tables_->rank(symbols[i], symbols[i + 1]) : kNoRank; };
  Token all = 0;  // negative if one of the tokens is
  for (std::size_t i = 0; i < count; ++i) {
    symbols[i] = tables_->of_byte[static_cast<unsigned char>(piece[i])];
    all |= symbols[i];
  }
  require_tokens(all);
  for (std::size_t i = 0; i < count; ++i) {
    ranks[i] = rank_at(i);
  }
  while (count > 1) {
    const auto best = std::min_element(ranks.begin(), ranks.begin() + static_cast<std::ptrdiff_t>(count));  // the first of equals
    if (*best == kNoRank) {
      break;
    }
    const auto at = static_cast<std::size_t>(best - ranks.begin());
    symbols[at] = tables_->results[*best];
    std::copy(symbols.begin() + at + 2, symbols.begin() + count, symbols.begin() + at + 1);
    std::copy(ranks.begin() + at + 2, ranks.begin() + count, ranks.begin() + at + 1);
    --count;
    ranks[at] = rank_at(at);
    if (at > 0) {
      ranks[at - 1] = rank_at(at - 1);
    }
  }
  out.insert(out.end(), symbols.begin(), symbols.begin() + count);
}

void Bpe::encode_long(std::string_view piece, std::vector<Token>& out) const {
  constexpr std::uint32_t kEnd = std::numeric_limits<std::uint32_t>::max();
  require_input(piece.size() < kEnd, "bpe: a piece of ", piece.size(), " bytes without white space, expected less than 4 GiB");
  const auto count = static_cast<std::uint32_t>(piece.size());
  struct Symbol {
    Token token;
    std::uint32_t before, next;  // kEnd at the ends
  };
  constexpr Token kGone = -1;
  std::vector<Symbol> symbols(count);
  Token all = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    symbols[i] = {tables_->of_byte[static_cast<unsigned char>(piece[i])], i == 0 ? kEnd : i - 1, i + 1 == count ? kEnd : i + 1};
    all |= symbols[i].token;
  }
  require_tokens(all);
  const auto rank_at = [&](std::uint32_t i) {
    const Symbol& s = symbols[i];
    return s.token == kGone || s.next == kEnd ? kNoRank : tables_->rank(s.token, symbols[s.next].token);
  };
  // A heap of pairs by rank, then from left to right. An entry whose pair has changed since is skipped.
  std::vector<std::uint64_t> first;
  for (std::uint32_t i = 0; i + 1 < count; ++i) {
    if (const Rank rank = rank_at(i); rank != kNoRank) {
      first.push_back(std::uint64_t{rank} << 32 | i);
    }
  }
  std::priority_queue<std::uint64_t, std::vector<std::uint64_t>, std::greater<>> pairs(std::greater<>(), std::move(first));
  const auto consider = [&](std::uint32_t i) {
    if (const Rank rank = i == kEnd ? kNoRank : rank_at(i); rank != kNoRank) {
      pairs.push(std::uint64_t{rank} << 32 | i);
    }
  };
  while (!pairs.empty()) {
    const auto rank = static_cast<Rank>(pairs.top() >> 32);
    const auto at = static_cast<std::uint32_t>(pairs.top());
    pairs.pop();
    if (rank_at(at) != rank) {
      continue;
    }
    Symbol& left = symbols[at];
    Symbol& right = symbols[left.next];
    left.token = tables_->results[rank];
    left.next = right.next;
    right.token = kGone;
    if (left.next != kEnd) {
      symbols[left.next].before = at;
    }
    consider(left.before);
    consider(at);
  }
  for (std::uint32_t i = 0; i != kEnd; i = symbols[i].next) {
    out.push_back(symbols[i].token);
  }
}

}  // namespace dikkat
