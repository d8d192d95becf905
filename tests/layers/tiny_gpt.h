#pragma once

#include <string>
#include <vector>

#include "autograd/base/parallel.h"
#include "autograd/ops/loss.h"
#include "layers/models/gpt.h"
#include "tests/support/throws.h"

namespace dikkat {

/// Ids from 0 to vocabulary - 1 that look random.
inline std::vector<std::int32_t> some_tokens(index count, index vocabulary, std::uint64_t seed = 1) {
  const RandomStream stream(seed, "tokens", 0);
  std::vector<std::int32_t> tokens(static_cast<std::size_t>(count));
  for (index i = 0; i < count; ++i) {
    tokens[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(stream.word(i) % static_cast<std::uint32_t>(vocabulary));
  }
  return tokens;
}

/// A model with its weights.
struct TinyGpt {
  ParameterStore store;
  Gpt gpt;

  explicit TinyGpt(const TransformerConfig& config, std::uint64_t seed = 1, DType dtype = DType::f32)
      : store(dtype), gpt(Scope(store), config) {
    store.allocate(seed);
  }

  /// Logits (sequences, time, vocabulary) of f32.
  std::vector<float> logits(Pass pass, const std::vector<std::int32_t>& tokens, index sequences) const {
    const Tensor y = gpt(pass, pass.tape.input<std::int32_t>({sequences, static_cast<index>(tokens.size()) / sequences}, tokens));
    return {y.data<float>(), y.data<float>() + y.size()};
  }
  /// The logits without recording, training or dropout.
  std::vector<float> logits(const std::vector<std::int32_t>& tokens, index sequences = 1) const {
    Tape tape(Recording::off);
    return logits({.tape = tape}, tokens, sequences);
  }
};

}  // namespace dikkat
