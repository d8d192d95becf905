#include "train/text/bpe.h"

#include <algorithm>
#include <array>
#include <limits>

#include <tsl/robin_map.h>

#include "autograd/base/error.h"
#include "train/text/byte_level.h"
#include "train/text/merge_table.h"

namespace dikkat {
namespace {

constexpr Token kNoToken = -1;

std::string named(const std::string& bytes) { return concat('"', byte_level::to_text(bytes), '"'); }

}  // namespace

struct Bpe::Tables {
  std::array<Token, 256> of_byte{};
  tsl::robin_map<std::string_view, Token> of_piece;  // tokens that result from encoding their own bytes; with ignore_merges all tokens
  MergeTable merges;
  std::size_t longest = 0;  // bytes of the longest token
};

Bpe::~Bpe() = default;
Bpe::Bpe(Bpe&&) noexcept = default;
Bpe& Bpe::operator=(Bpe&&) noexcept = default;

Bpe::Bpe(std::vector<std::string> tokens, std::vector<Merge> merges, bool ignore_merges)
    : tokens_(std::move(tokens)), merges_(std::move(merges)), ignore_merges_(ignore_merges) {
  require_input(tokens_.size() <= std::size_t{1} << 31, "bpe: a vocabulary of ", tokens_.size(), " tokens, expected at most 2^31");
  auto tables = std::make_unique<Tables>();
  // Index the tokens by their bytes.
  tsl::robin_map<std::string_view, Token> ids;
  ids.reserve(tokens_.size());
  for (std::size_t id = 0; id < tokens_.size(); ++id) {
    if (!tokens_[id].empty()) {
      const auto [other, is_new] = ids.emplace(tokens_[id], static_cast<Token>(id));
      require_input(is_new, "bpe: tokens ", other->second, " and ", id, " are both ", named(tokens_[id]), ", expected each once");
      tables->longest = std::max(tables->longest, tokens_[id].size());
    }
  }
  // Find the token of each single byte, with which encoding starts.
  for (std::size_t byte = 0; byte < 256; ++byte) {
    const std::string one(1, static_cast<char>(byte));
    const auto id = ids.find(one);
    const bool is_common = (' ' <= byte && byte <= '~') || byte == '\n';
    require_input(id != ids.end() || !is_common, "bpe: no token is the single byte ", byte, " (", named(one),
                  "), expected a token for the line break and for each printable ASCII character");
    tables->of_byte[byte] = id != ids.end() ? id->second : kNoToken;
    missing_bytes_ += id != ids.end() ? "" : one;
  }
  // Fill the table of merges. Each must join two tokens into a token.
  tables->merges.reserve(merges_.size());
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
    require_input(tables->merges.add(left, right, static_cast<MergeTable::Rank>(i), id->second), "bpe: merge ", i, ", which gives ",
                  named(together), ", occurs twice");
  }
  tables_ = std::move(tables);

  // Most pieces of ordinary text are tokens. Look up those tokens whose bytes are encoded to the token itself.
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
  constexpr std::size_t kShort = MergeTable::kShort;
  if (piece.size() <= kShort) {
    // Not initialized, because that takes as long as encoding a short word. NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init)
    std::array<Token, kShort> symbols;
    encode_symbols(piece, {symbols.data(), piece.size()}, out);
  } else {
    require_input(piece.size() < std::numeric_limits<std::uint32_t>::max(), "bpe: a piece of ", piece.size(),
                  " bytes without white space, expected less than 4 GiB");
    std::vector<Token> symbols(piece.size());
    encode_symbols(piece, symbols, out);
  }
}

void Bpe::encode_symbols(std::string_view piece, std::span<Token> symbols, std::vector<Token>& out) const {
  Token all = 0;  // negative if one of the tokens is
  for (std::size_t i = 0; i < piece.size(); ++i) {
    symbols[i] = tables_->of_byte[static_cast<unsigned char>(piece[i])];
    all |= symbols[i];
  }
  require_input(all >= 0, "bpe: the text has a byte for which the vocabulary has no token");
  tables_->merges.encode(symbols, out);
}

}  // namespace dikkat
