#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "train/text/tokenizer.h"

namespace dikkat {

/// Encodes with another tokenizer, and counts and leaves out the characters that it refuses.
class SkippingTokenizer : public Tokenizer {
 public:
  explicit SkippingTokenizer(const Tokenizer& inner) : inner_(inner) {}

  std::string_view kind() const override { return inner_.kind(); }
  index vocab_size() const override { return inner_.vocab_size(); }
  std::vector<Token> encode(std::string_view text) const override;
  index stable_prefix(std::string_view text) const override { return inner_.stable_prefix(text); }
  std::string decode(std::span<const Token> tokens) const override { return inner_.decode(tokens); }
  std::string decode_inside(std::span<const Token> tokens) const override { return inner_.decode_inside(tokens); }
  std::string to_json() const override { return inner_.to_json(); }
  std::optional<Token> separator() const override { return inner_.separator(); }
  bool is_lossless() const override { return skipped_.empty() && inner_.is_lossless(); }

  /// Returns "12 (3 kinds: é ü ß)"; empty if none was left out.
  std::string skipped() const;

 private:
  void note(std::string_view character) const;

  const Tokenizer& inner_;
  mutable std::mutex mutex_;  // texts are encoded by many threads
  mutable std::map<std::string, index> skipped_;
};

}  // namespace dikkat
