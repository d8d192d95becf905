#include "train/text/bpe_tokenizer.h"

#include <algorithm>
#include <unordered_set>

#include "train/text/added_token_finder.h"
#include "train/text/bpe_trainer.h"
#include "train/text/byte_level.h"
#include "train/text/characters.h"
#include "train/text/hugging_face/write_hugging_face_json.h"
#include "train/text/pieces.h"
#include "train/text/tokenizer_json.h"
#include "train/text/unicode.h"

namespace dikkat {
namespace {

constexpr index kFewest = 257;  // the 256 bytes and <|endoftext|>

class BpeTokenizerMaker : public TokenizerMaker {
 public:
  BpeTokenizerMaker(index vocab_size, Splitter splitter) : vocab_size_(vocab_size), splitter_(splitter) {}

  std::unique_ptr<TokenizerMaker> empty_copy() const override { return std::make_unique<BpeTokenizerMaker>(vocab_size_, splitter_); }
  void read(std::string_view text) override {
    require_utf8(text);
    if (facts_of(splitter_).nfc) {
      count(to_nfc(text));
    } else {
      count(text);
    }
  }
  void merge(const TokenizerMaker& other) override { counts_.add(dynamic_cast<const BpeTokenizerMaker&>(other).counts_); }
  index stable_prefix(std::string_view text) const override { return stable_pieces(text, splitter_); }
  std::unique_ptr<Tokenizer> make(const std::function<void(double)>& progress) override {
    require_input(counts_.distinct() > 0, "bpe tokenizer: there is no text to learn merges from");
    const SplitterFacts& facts = facts_of(splitter_);
    Bpe bpe = train_bpe(std::move(counts_), vocab_size_ - 1, progress);
    if (facts.ignore_merges) {
      bpe = Bpe(bpe.tokens(), bpe.merges(), true);
    }
    const auto last = static_cast<Token>(bpe.tokens().size());
    // GPT-2's own file sets this flag. The token is found in the same texts with and without it.
    AddedToken end{.name = std::string(kEndOfText), .normalized = splitter_ == Splitter::gpt2};
    return std::make_unique<BpeTokenizer>(
        BpeVocabulary{.bpe = std::move(bpe), .added_tokens = {{last, std::move(end)}}, .splitter = splitter_, .nfc = facts.nfc});
  }

 private:
  void count(std::string_view text) {
    PieceReader pieces(text, splitter_);
    for (std::string_view piece = pieces.next(); !piece.empty(); piece = pieces.next()) {
      counts_.add(piece);
    }
  }

  index vocab_size_;
  Splitter splitter_;
  StringCounts counts_;
};

}  // namespace

std::unique_ptr<TokenizerMaker> BpeTokenizer::maker(const TokenizerOptions& options) {
  constexpr index kMost = index{1} << 24;
  require_input(kFewest <= options.vocab_size && options.vocab_size <= kMost, "tokenizer.vocab_size is ", options.vocab_size, ", expected ",
                kFewest, " (the 256 bytes and <|endoftext|>) to ", kMost, " for the kind \"bpe\"");
  return std::make_unique<BpeTokenizerMaker>(options.vocab_size, options.splitter);
}

std::unique_ptr<Tokenizer> BpeTokenizer::from_json(const TokenizerJson& json) { return make_bpe_tokenizer(bpe_contents_in(json)); }

BpeTokenizer::BpeTokenizer(BpeVocabulary vocabulary)
    : vocabulary_(std::move(vocabulary)), added_(std::make_shared<const AddedTokenFinder>(vocabulary_.added_tokens, vocabulary_.nfc)) {
  const auto& tokens = bpe().tokens();
  const std::unordered_set<std::string_view> spellings(tokens.begin(), tokens.end());
  auto next = static_cast<index>(tokens.size());  // the first id that is free
  for (const auto& [id, token] : vocabulary_.added_tokens) {
    const bool is_free = id >= next || (id >= 0 && tokens[static_cast<std::size_t>(id)].empty());
    require_input(is_free, "bpe tokenizer: the added token ", token.name, " has the id ", id, ", which another token already has");
    require_input(id <= next, "bpe tokenizer: the added token ", token.name, " has the id ", id, ", but no token has the id ", next);
    next = std::max<index>(next, id + index{1});
    const auto bytes = byte_level::to_bytes(token.name);
    require_input(!bytes || !spellings.contains(*bytes), "bpe tokenizer: the added token ", token.name, " (", id,
                  ") is spelled like another token");
  }
  for (std::size_t id = 0; id < tokens.size(); ++id) {
    require_input(!tokens[id].empty() || vocabulary_.added_tokens.contains(static_cast<Token>(id)), "bpe tokenizer: no token has the id ",
                  id);
  }
  require_added(vocabulary_.added_tokens, vocabulary_.text_tokens);
}

std::vector<Token> BpeTokenizer::encode(std::string_view text) const { return encode_with_markup(text, {}); }

template <class F>
void BpeTokenizer::for_pieces_of(std::string_view part, F&& f) const {
  if (vocabulary_.nfc) {
    require_known_bytes(part);  // the normal form may have bytes that the original text does not have
  }
  PieceReader pieces(part, vocabulary_.splitter);
  for (std::string_view piece = pieces.next(); !piece.empty(); piece = pieces.next()) {
    f(piece);
  }
}

void BpeTokenizer::for_pieces(std::string_view text, const std::function<void(std::string_view)>& f) const {
  require_utf8(text);
  require_known_bytes(text);
  added_->split(text, {}, [&](std::string_view part) { for_pieces_of(part, f); }, [](Token) {});
}

void BpeTokenizer::require_known_bytes(std::string_view text) const {
  if (const std::string& missing = bpe().missing_bytes(); !missing.empty()) {
    if (const std::size_t at = text.find_first_of(missing); at != std::string_view::npos) {
      const index start = utf8::snap(text, static_cast<index>(at));
      throw EncodeError(start,
                        concat("the character ", utf8::name_of(utf8::decode(text, start).code_point), " has the byte ",
                               static_cast<int>(static_cast<unsigned char>(text[at])),
                               ", for which the tokenizer has no token: its original program would skip it; remove it from the text"));
    }
  }
}

std::vector<Token> BpeTokenizer::encode_with_markup(std::string_view text, std::span<const ByteRange> markup) const {
  require_utf8(text);
  require_known_bytes(text);
  std::vector<Token> tokens;
  tokens.reserve(text.size() / 3);
  const auto encode_piece = [&](std::string_view piece) { bpe().encode(piece, tokens); };
  added_->split(
      text, markup, [&](std::string_view part) { for_pieces_of(part, encode_piece); }, [&](Token token) { tokens.push_back(token); });
  return tokens;
}

bool BpeTokenizer::is_lossless() const { return !added_->strips(); }

index BpeTokenizer::stable_prefix(std::string_view text) const {
  return added_->is_local() ? stable_pieces(text, vocabulary_.splitter) : 0;
}

std::string BpeTokenizer::decode(std::span<const Token> tokens) const {
  std::string text;
  for (const Token token : tokens) {
    require(token >= 0 && token < vocab_size(), "bpe tokenizer: token ", token, ", expected 0 to ", vocab_size() - 1);
    const auto added = vocabulary_.added_tokens.find(token);
    text += added != vocabulary_.added_tokens.end() ? added->second.name : bpe().tokens()[static_cast<std::size_t>(token)];
  }
  return text;
}

std::string BpeTokenizer::to_json() const { return bpe_json(vocabulary_); }

std::vector<Token> BpeTokenizer::suppressed_tokens() const {
  const std::vector<Token> ends = text_tokens().ends;
  std::vector<Token> tokens;
  for (const SpecialToken& token : special_tokens()) {
    if (std::find(ends.begin(), ends.end(), token.id) == ends.end()) {
      tokens.push_back(token.id);
    }
  }
  return tokens;
}

std::vector<SpecialToken> BpeTokenizer::special_tokens() const { return special_tokens_of(vocabulary_.added_tokens); }

}  // namespace dikkat
