#pragma once

#include "autograd/ops/embedding.h"
#include "layers/pass.h"
#include "layers/scope.h"

namespace dikkat {

/// A table of `count` rows of `width`, looked up by token or by position.
struct Embedding {
  Parameter weight;  // (count, width)

  Embedding(const Scope& s, index count, index width, double std)
      : weight(s.param("weight", {count, width}, Init::normal(std), Decay::yes)) {}
};

/// Token's row plus position's row: tokens (B, T) of i32 to (B, T, width). Positions count from 0.
struct TokenAndPosition {
  Embedding tokens, positions;

  TokenAndPosition(const Scope& s, index vocabulary, index places, index width, double std)
      : tokens(s / "wte", vocabulary, width, std), positions(s / "wpe", places, width, std) {}

  Tensor operator()(Pass&, Tensor ids) const { return embedding(ids, tokens.weight, positions.weight); }
};

}  // namespace dikkat
