#include "train/text/hugging_face/character_bpe.h"

#include <algorithm>
#include <array>
#include <bitset>
#include <limits>

#include <tsl/robin_set.h>

#include "autograd/base/error.h"
#include "autograd/base/parallel.h"
#include "train/text/hugging_face/token_decoder.h"
#include "train/text/hugging_face/vocabulary_json.h"
#include "train/text/merge_table.h"
#include "train/text/pair_key.h"
#include "train/text/utf8.h"

namespace dikkat {
namespace {

constexpr Token kWithoutToken = -1;
constexpr std::size_t kAscii = 128;

char32_t first_character(std::string_view text) { return utf8::decode(text, 0).code_point; }
char32_t last_character(std::string_view text) {
  return utf8::decode(text, utf8::snap(text, static_cast<index>(text.size()) - 1)).code_point;
}

}  // namespace

struct CharacterBpe::Tables {
  IdsByText ids;
  std::vector<bool> is_never;  // by id
  MergeTable merges;
  std::array<Token, 256> of_byte{};
  std::array<Token, kAscii> of_ascii{};
  tsl::robin_map<char32_t, Token> of_character;  // beyond ASCII
  bool has_all_bytes = false;
  bool cuts = true;           // whether a word may be cut at all
  std::vector<Token> sorted;  // for the longest ones: tokens in the byte order of their texts
  // The pairs of characters that some merge joins: those of ASCII, and the others.
  std::bitset<kAscii * kAscii> joined_ascii;
  tsl::robin_set<PairKey, PairKeyHash> joined;

  Token of(char32_t c) const {
    if (c < kAscii) {
      return of_ascii[c];
    }
    const auto found = of_character.find(c);
    return found == of_character.end() ? kWithoutToken : found->second;
  }
  bool joins(char32_t left, char32_t right) const {
    if (left < kAscii && right < kAscii) {
      return joined_ascii[left * kAscii + right];
    }
    return joined.contains(PairKey{left} << 32 | right);
  }
  void join(std::string_view left, std::string_view right) {
    const char32_t a = last_character(left), b = first_character(right);
    if (a < kAscii && b < kAscii) {
      joined_ascii[a * kAscii + b] = true;
    } else {
      joined.insert(PairKey{a} << 32 | b);
    }
  }
  /// Returns whether no token has both characters. `left_token` and `right_token` are the characters' of().
  bool allows_cut(char32_t left, Token left_token, char32_t right, Token right_token) const {
    if (left_token == kWithoutToken || right_token == kWithoutToken) {
      return left_token != right_token || has_all_bytes;  // adjacent unknown characters may become one token
    }
    return !joins(left, right);
  }
};

CharacterBpe::~CharacterBpe() = default;
CharacterBpe::CharacterBpe(CharacterBpe&&) noexcept = default;
CharacterBpe& CharacterBpe::operator=(CharacterBpe&&) noexcept = default;

CharacterBpe::CharacterBpe(std::vector<std::string> tokens, std::vector<Merge> merges, CharacterBpeRules rules,
                           const std::vector<Token>& never)
    : CharacterBpe(token_texts(std::move(tokens)), std::move(merges), rules, never) {}

CharacterBpe::CharacterBpe(TokenTexts texts, std::vector<Merge> merges, CharacterBpeRules rules, const std::vector<Token>& never)
    : tokens_(std::move(texts.tokens)), merges_(std::move(merges)), rules_(rules) {
  auto tables = std::make_unique<Tables>();

  // Index the tokens by their strings, and those of one character by the character.
  tables->ids = std::move(texts.ids);
  tables->is_never.resize(tokens_.size());
  for (const Token id : never) {
    if (static_cast<std::size_t>(id) < tokens_.size()) {
      tables->is_never[static_cast<std::size_t>(id)] = true;
    }
  }
  tables->of_ascii.fill(kWithoutToken);
  tables->of_byte.fill(kWithoutToken);
  std::vector<bool> is_byte(tokens_.size());
  for (std::size_t i = 0; i < tokens_.size(); ++i) {
    const std::string_view token = tokens_[i];
    const auto id = static_cast<Token>(i);
    if (token.empty()) {
      continue;
    }
    const utf8::Character first = utf8::decode(token, 0);
    if (first.bytes == static_cast<index>(token.size()) && !tables->is_never[i]) {
      if (first.code_point < kAscii) {
        tables->of_ascii[first.code_point] = id;
      } else {
        tables->of_character.emplace(first.code_point, id);
      }
    }
  }
  // Find the tokens of single bytes.
  if (rules_.byte_fallback) {
    tables->has_all_bytes = true;
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const auto found = tables->ids.find(token_of_byte(static_cast<unsigned char>(byte)));
      tables->has_all_bytes = tables->has_all_bytes && found != tables->ids.end();
      if (found != tables->ids.end()) {
        tables->of_byte[byte] = found->second;
        is_byte[static_cast<std::size_t>(found->second)] = true;
      }
    }
    tables->cuts = tables->has_all_bytes || !rules_.unknown;
  }

  // Find the token that each merge makes. Threads share the search, which reads memory far apart.
  const auto is_token = [&](Token id) { return 0 <= id && id < std::ssize(tokens_) && !tokens_[static_cast<std::size_t>(id)].empty(); };
  const auto text_of = [&](Token id) -> const std::string& { return tokens_[static_cast<std::size_t>(id)]; };
  constexpr index kBlock = 1 << 14;
  results_.assign(merges_.size(), kWithoutToken);
  parallel_blocks(std::ssize(merges_), kBlock, Work::elements(kBlock * std::ssize(merges_)), [&](index begin, index end) {
    std::string together;
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
      const auto [left, right] = merges_[i];
      if (is_token(left) && is_token(right)) {
        together.assign(text_of(left)).append(text_of(right));
        const auto found = tables->ids.find(std::string_view(together));
        results_[i] = found == tables->ids.end() ? kWithoutToken : found->second;
      }
    }
  });

  // Refuse merges of unknown ids, and merges that make no token.
  for (std::size_t i = 0; i < merges_.size(); ++i) {
    const auto [left, right] = merges_[i];
    require_input(is_token(left) && is_token(right), "tokenizer: merge ", i, " joins the tokens ", left, " and ", right,
                  ", expected ids of the vocabulary");
    require_input(results_[i] != kWithoutToken, "tokenizer: merge ", i, " gives \"", text_of(left), text_of(right),
                  "\", which is not a token");
  }

  // Fill the table of merges, and at the same time note the pairs of characters that they join.
  const auto counts = [&](std::size_t i) { return !tables->is_never[static_cast<std::size_t>(results_[i])]; };
  const auto add_merges = [&] {
    tables->merges.reserve(merges_.size());
    for (std::size_t i = 0; i < merges_.size(); ++i) {
      const auto [left, right] = merges_[i];
      require_input(!counts(i) || tables->merges.add(left, right, static_cast<MergeTable::Rank>(i), results_[i]), "tokenizer: merge ", i,
                    ", which gives \"", text_of(left), text_of(right), "\", occurs twice");
    }
  };
  const auto add_joins = [&] {
    const auto is_whole_character = [&](Token id) { return !is_byte[static_cast<std::size_t>(id)] && id != rules_.unknown; };
    for (std::size_t i = 0; i < merges_.size(); ++i) {
      if (counts(i)) {
        const auto [left, right] = merges_[i];
        tables->join(text_of(left), text_of(right));
        tables->cuts = tables->cuts && is_whole_character(left) && is_whole_character(right);
      }
    }
  };
  parallel_for(2, [&](index part) { part == 0 ? add_merges() : add_joins(); });
  if (rules_.ignore_merges || rules_.symbols) {  // then a token needs no merges, so its characters may join anyway
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      const std::string_view token = tokens_[i];
      for (std::size_t at = 0; at < token.size();) {
        const auto next = at + static_cast<std::size_t>(utf8::decode(token, static_cast<index>(at)).bytes);
        if (next < token.size()) {
          tables->join(token.substr(0, next), token.substr(next));
        }
        at = next;
      }
    }
  }
  if (rules_.symbols == SymbolSplit::longest) {
    for (Token id = 0; id < std::ssize(tokens_); ++id) {
      if (is_token(id) && !tables->is_never[static_cast<std::size_t>(id)]) {
        tables->sorted.push_back(id);
      }
    }
    std::ranges::sort(tables->sorted, {}, text_of);
  }
  if (rules_.unknown) {
    require_input(0 <= *rules_.unknown && *rules_.unknown < std::ssize(tokens_), "tokenizer: its token for unknown characters is ",
                  *rules_.unknown, ", expected an id of the vocabulary");
  }
  tables_ = std::move(tables);
}

std::optional<Token> CharacterBpe::id_of(std::string_view text) const {
  const auto found = tables_->ids.find(text);
  return found == tables_->ids.end() ? std::nullopt : std::optional(found->second);
}

std::optional<std::span<const Token>> CharacterBpe::Memory::find(std::string_view piece) const {
  const auto found = ranges_.find(piece);
  return found == ranges_.end() ? std::nullopt : std::optional(std::span(tokens_).subspan(found->second.first, found->second.count));
}

void CharacterBpe::Memory::keep(std::string_view piece, std::span<const Token> tokens) {
  if (ranges_.size() < kMost) {
    ranges_.emplace(std::string(piece),
                    Range{.first = static_cast<std::uint32_t>(tokens_.size()), .count = static_cast<std::uint32_t>(tokens.size())});
    tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
  }
}

void CharacterBpe::encode(std::string_view word, Memory& memory, std::vector<Token>& out) const {
  if (rules_.symbols == SymbolSplit::longest) {
    return encode_longest(word, out);
  }
  // A word that is a token needs no merges.
  if (rules_.ignore_merges || rules_.symbols) {
    if (const auto id = id_of(word); id && !tables_->is_never[static_cast<std::size_t>(*id)]) {
      out.push_back(*id);
      return;
    }
  }
  if (rules_.symbols) {
    if (!rules_.unknown) {
      throw UnknownText(word);
    }
    out.push_back(*rules_.unknown);
    return;
  }
  // Encode a piece; only short ones, which occur again, are remembered.
  constexpr std::size_t kLongestKept = 64;
  const auto add_piece = [&](std::string_view piece) {
    if (piece.size() > kLongestKept) {
      encode_piece(piece, out);
      return;
    }
    if (const auto known = memory.find(piece)) {
      out.insert(out.end(), known->begin(), known->end());
      return;
    }
    const std::size_t before = out.size();
    encode_piece(piece, out);
    memory.keep(piece, std::span<const Token>(out).subspan(before));
  };
  // Cut the word wherever no merge joins the two characters.
  std::size_t begin = 0;
  char32_t left = 0;
  Token left_token = kWithoutToken;
  for (std::size_t at = 0; tables_->cuts && at < word.size();) {
    const utf8::Character right = utf8::decode(word, static_cast<index>(at));
    const Token right_token = tables_->of(right.code_point);
    if (at > 0 && tables_->allows_cut(left, left_token, right.code_point, right_token)) {
      add_piece(word.substr(begin, at - begin));
      begin = at;
    }
    left = right.code_point;
    left_token = right_token;
    at += static_cast<std::size_t>(right.bytes);
  }
  if (begin < word.size()) {
    add_piece(word.substr(begin));
  }
}

void CharacterBpe::encode_piece(std::string_view piece, std::vector<Token>& out) const {
  require_input(piece.size() < std::numeric_limits<std::uint32_t>::max() / 2, "tokenizer: a word of ", piece.size(),
                " bytes, expected less than 2 GiB");
  // Start with the tokens of the characters.
  std::vector<Token> symbols;
  symbols.reserve(piece.size());
  bool has_unknown = false;  // whether an unknown token is not yet in `symbols`
  for (std::size_t at = 0; at < piece.size();) {
    const utf8::Character character = utf8::decode(piece, static_cast<index>(at));
    const std::string_view bytes = piece.substr(at, static_cast<std::size_t>(character.bytes));
    at += bytes.size();
    if (const Token token = tables_->of(character.code_point); token != kWithoutToken) {
      if (has_unknown) {
        symbols.push_back(*rules_.unknown);
        has_unknown = false;
      }
      symbols.push_back(token);
      continue;
    }
    // A character without a token becomes the tokens of its bytes, or the unknown token.
    const auto token_of = [&](char byte) { return tables_->of_byte[static_cast<unsigned char>(byte)]; };
    if (rules_.byte_fallback && std::ranges::all_of(bytes, [&](char byte) { return token_of(byte) != kWithoutToken; })) {
      for (const char byte : bytes) {
        symbols.push_back(token_of(byte));
      }
      continue;
    }
    if (!rules_.unknown) {
      throw UnknownText(bytes);
    }
    if (has_unknown && !rules_.fuse_unknown) {
      symbols.push_back(*rules_.unknown);
    }
    has_unknown = true;
  }
  if (has_unknown) {
    symbols.push_back(*rules_.unknown);
  }
  tables_->merges.encode(symbols, out);
}

void CharacterBpe::encode_longest(std::string_view word, std::vector<Token>& out) const {
  const auto text_of = [&](Token id) -> const std::string& { return tokens_[static_cast<std::size_t>(id)]; };
  while (!word.empty()) {
    // Byte by byte, narrow the range of tokens with which the word may begin. In byte order, the shortest of them is the first.
    std::optional<Token> longest;
    auto first = tables_->sorted.begin(), last = tables_->sorted.end();
    for (std::size_t depth = 0; first != last; ++depth) {
      if (text_of(*first).size() == depth) {
        longest = *first++;
      }
      if (depth == word.size()) {
        break;
      }
      const auto byte_of = [&](Token id) { return static_cast<unsigned char>(text_of(id)[depth]); };
      const auto byte = static_cast<unsigned char>(word[depth]);
      first = std::ranges::lower_bound(first, last, byte, {}, byte_of);
      last = std::ranges::upper_bound(first, last, byte, {}, byte_of);
    }
    if (!longest) {
      constexpr index kShown = 20;
      throw UnknownText(word.substr(0, static_cast<std::size_t>(utf8::snap(word, std::min(kShown, std::ssize(word))))));
    }
    out.push_back(*longest);
    word.remove_prefix(text_of(*longest).size());
  }
}

bool CharacterBpe::allows_cut(char32_t before, char32_t after) const {
  if (rules_.symbols) {
    return rules_.symbols == SymbolSplit::longest && !tables_->joins(before, after);
  }
  return tables_->cuts && tables_->allows_cut(before, tables_->of(before), after, tables_->of(after));
}

bool CharacterBpe::produces_unknown() const { return rules_.unknown && !(rules_.byte_fallback && tables_->has_all_bytes); }

}  // namespace dikkat
