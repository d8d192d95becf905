#pragma once

#include <string>
#include <vector>

#include "autograd/base/philox.h"
#include "train/config/override.h"
#include "train/config/parse.h"
#include "train/config/resolve.h"
#include "train/text/token.h"

namespace dikkat::bench {

/// Loads a configuration file with overrides. `vocab_size` is used if the configuration leaves the size to a tokenizer.
inline Config load_model_config(const std::string& file, const std::vector<std::string>& assignments, index vocab_size) {
  Config c = load_config(file);
  for (const std::string& assignment : assignments) {
    apply_override(c, assignment);
  }
  if (c.model.vocab_size.is_open()) {
    c.model.vocab_size = vocab_size;
  }
  resolve(c);
  validate(c);
  return c;
}

inline std::vector<Token> random_tokens(index count, index vocab_size, std::uint64_t draw) {
  const RandomStream stream(1, "bench", draw);
  std::vector<Token> tokens;
  for (index i = 0; i < count; ++i) {
    tokens.push_back(static_cast<Token>(stream.word(i) % static_cast<std::uint32_t>(vocab_size)));
  }
  return tokens;
}

}  // namespace dikkat::bench
