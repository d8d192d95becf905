#include "train/text/byte_tokenizer.h"

#include <nlohmann/json.hpp>

#include "train/text/tokenizer_json.h"

namespace dikkat {

namespace {

/// Makes a ByteTokenizer, which needs nothing from the corpus.
class ByteTokenizerMaker : public TokenizerMaker {
 public:
  std::unique_ptr<TokenizerMaker> empty_copy() const override { return std::make_unique<ByteTokenizerMaker>(); }
  void read(std::string_view) override {}
  void merge(const TokenizerMaker&) override {}
  index stable_prefix(std::string_view text) const override { return static_cast<index>(text.size()); }
  std::unique_ptr<Tokenizer> make(const std::function<void(double)>&) override { return std::make_unique<ByteTokenizer>(); }
};

}  // namespace

std::unique_ptr<TokenizerMaker> ByteTokenizer::maker(const TokenizerOptions&) { return std::make_unique<ByteTokenizerMaker>(); }

std::unique_ptr<Tokenizer> ByteTokenizer::from_json(const TokenizerJson& json) {
  const JsonFields fields = json.fields();
  fields.require_exactly({"kind"});
  return std::make_unique<ByteTokenizer>();
}

std::vector<Token> ByteTokenizer::encode(std::string_view text) const {
  const auto* bytes = reinterpret_cast<const unsigned char*>(text.data());
  return {bytes, bytes + text.size()};
}

std::string ByteTokenizer::decode(std::span<const Token> tokens) const {
  std::string text;
  text.reserve(tokens.size());
  for (const Token token : tokens) {
    require(token >= 0 && token < vocab_size(), "byte tokenizer: token ", token, ", expected 0 to 255");
    text += static_cast<char>(static_cast<unsigned char>(token));
  }
  return text;
}

std::string ByteTokenizer::to_json() const { return nlohmann::json{{"kind", kKind}}.dump(); }

}  // namespace dikkat
