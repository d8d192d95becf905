#pragma once

#include "train/text/tokenizer_maker.h"

namespace dikkat {

/// Encodes each byte as one token, whose id is the byte's value. Encodes any string.
class ByteTokenizer : public Tokenizer {
 public:
  static constexpr std::string_view kKind = "byte";
  static constexpr bool kAnyBytes = true;

  static std::unique_ptr<TokenizerMaker> maker(const TokenizerOptions& options);
  static std::unique_ptr<Tokenizer> from_json(const TokenizerJson& json);

  std::string_view kind() const override { return kKind; }
  index vocab_size() const override { return 256; }
  std::vector<Token> encode(std::string_view text) const override;
  index stable_prefix(std::string_view text) const override { return static_cast<index>(text.size()); }
  std::string decode(std::span<const Token> tokens) const override;
  std::string to_json() const override;
};

}  // namespace dikkat
