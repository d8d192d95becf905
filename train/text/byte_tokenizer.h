#pragma once

#include "train/text/tokenizer.h"

namespace dikkat {

/// One token a byte, its id the byte's value: encodes anything.
class ByteTokenizer : public Tokenizer {
 public:
  static constexpr std::string_view kKind = "byte";

  static std::unique_ptr<Tokenizer> from_documents(std::span<const std::string_view> documents);
  static std::unique_ptr<Tokenizer> from_json(std::string_view json);

  std::string_view kind() const override { return kKind; }
  index vocab_size() const override { return 256; }
  std::vector<Token> encode(std::string_view text) const override;
  std::string decode(std::span<const Token> tokens) const override;
  std::string to_json() const override;
};

}  // namespace dikkat
