#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "layers/models/gpt.h"
#include "train/text/token.h"

namespace dikkat {

struct SampleOptions {
  index max_new_tokens = 500;
  index num_samples = 1;
  double temperature = 0.8;  // 0: always the likeliest token
  index top_k = 0;           // of the likeliest; 0: of all
  std::uint64_t seed = 1337;
};

/// Continuations of a prompt of one token or more, without the prompt. Token i of sample s is drawn by a number that depends on
/// (seed, s, i) alone. The model sees the last block_size tokens; ids from `tokenizer_vocab_size` on are padding and never drawn.
/// `stop` is asked before each token; when it says true the result ends there.
/// Throws InputError for an option out of range or a prompt without tokens.
std::vector<std::vector<Token>> generate(const Gpt& model, index tokenizer_vocab_size, const std::vector<Token>& prompt,
                                         const SampleOptions& options, const std::function<bool()>& stop = {});

}  // namespace dikkat
