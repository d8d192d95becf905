#include "train/text/bpe_tokenizer.h"

#include "train/text/bpe_trainer.h"
#include "train/text/characters.h"
#include "train/text/pieces.h"

namespace dikkat {
namespace {

constexpr index kFewest = 257;  // the bytes and <|endoftext|>

class BpeTokenizerMaker : public TokenizerMaker {
 public:
  explicit BpeTokenizerMaker(index vocab_size) : vocab_size_(vocab_size) {}

  std::unique_ptr<TokenizerMaker> empty_copy() const override { return std::make_unique<BpeTokenizerMaker>(vocab_size_); }
  void read(std::string_view text) override {
    require_utf8(text);
    PieceReader pieces(text);
    for (std::string_view piece = pieces.next(); !piece.empty(); piece = pieces.next()) {
      counts_.add(piece);
    }
  }
  void merge(const TokenizerMaker& other) override { counts_.add(dynamic_cast<const BpeTokenizerMaker&>(other).counts_); }
  index stable_prefix(std::string_view text) const override { return stable_pieces(text); }
  std::unique_ptr<Tokenizer> make(const std::function<void(double)>& progress) override {
    require_input(counts_.distinct() > 0, "bpe tokenizer: there is no text to learn merges from");
    Bpe bpe = train_bpe(std::move(counts_), vocab_size_ - 1, progress);
    const auto last = static_cast<Token>(bpe.tokens().size());
    return std::make_unique<BpeTokenizer>(BpeVocabulary{std::move(bpe), {{last, std::string(kEndOfText)}}});
  }

 private:
  index vocab_size_;
  StringCounts counts_;
};

}  // namespace

std::unique_ptr<TokenizerMaker> BpeTokenizer::maker(const TokenizerOptions& options) {
  constexpr index kMost = index{1} << 24;
  require_input(kFewest <= options.vocab_size && options.vocab_size <= kMost, "tokenizer.vocab_size is ", options.vocab_size, ", expected ",
                kFewest, " (the 256 bytes and <|endoftext|>) to ", kMost, " for the kind \"bpe\"");
  return std::make_unique<BpeTokenizerMaker>(options.vocab_size);
}

std::unique_ptr<Tokenizer> BpeTokenizer::from_json(std::string_view json) {
  return std::make_unique<BpeTokenizer>(from_hugging_face_json(json));
}

BpeTokenizer::BpeTokenizer(BpeVocabulary vocabulary) : vocabulary_(std::move(vocabulary)) {
  const auto& tokens = bpe().tokens();
  auto next = static_cast<index>(tokens.size());  // the first id that is free
  for (const auto& [id, name] : vocabulary_.special_tokens) {
    const bool is_free = id >= next || (id >= 0 && tokens[static_cast<std::size_t>(id)].empty());
    require_input(is_free, "bpe tokenizer: the special token ", name, " has id ", id, ", which another token has already");
    require_input(id <= next, "bpe tokenizer: the special token ", name, " has id ", id, ", but there is no token ", next);
    next = std::max<index>(next, id + index{1});
    if (name == kEndOfText) {
      require_input(!separator_, "bpe tokenizer: two special tokens are called ", name);
      separator_ = id;
    }
  }
  for (std::size_t id = 0; id < tokens.size(); ++id) {
    require_input(!tokens[id].empty() || vocabulary_.special_tokens.contains(static_cast<Token>(id)), "bpe tokenizer: no token has the id ",
                  id);
  }
}

std::vector<Token> BpeTokenizer::encode(std::string_view text) const {
  require_utf8(text);
  std::vector<Token> tokens;
  tokens.reserve(text.size() / 3);
  PieceReader pieces(text);
  for (std::string_view piece = pieces.next(); !piece.empty(); piece = pieces.next()) {
    bpe().encode(piece, tokens);
  }
  return tokens;
}

index BpeTokenizer::stable_prefix(std::string_view text) const { return stable_pieces(text); }

std::string BpeTokenizer::decode(std::span<const Token> tokens) const {
  std::string text;
  for (const Token token : tokens) {
    require(token >= 0 && token < vocab_size(), "bpe tokenizer: token ", token, ", expected 0 to ", vocab_size() - 1);
    const auto special = vocabulary_.special_tokens.find(token);
    text += special != vocabulary_.special_tokens.end() ? special->second : bpe().tokens()[static_cast<std::size_t>(token)];
  }
  return text;
}

std::string BpeTokenizer::to_json() const { return hugging_face_json(vocabulary_); }

std::vector<Token> BpeTokenizer::suppressed_tokens() const {
  std::vector<Token> tokens;
  for (const auto& [id, name] : vocabulary_.special_tokens) {
    if (id != separator_) {
      tokens.push_back(id);
    }
  }
  return tokens;
}

}  // namespace dikkat
