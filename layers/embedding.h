#pragma once

#include <cmath>
#include <optional>

#include "autograd/ops/embedding.h"
#include "layers/dropout.h"
#include "layers/norm.h"
#include "layers/positions.h"
#include "layers/transformer_config.h"

namespace dikkat {

/// A table with a row for each token or each position.
struct Embedding {
  Parameter weight;  // (count, width)

  Embedding(const Scope& s, index count, index width, double std)
      : weight(s.param("weight", {count, width}, Init::normal(std), Decay::yes, Role::embedding)) {}
};

/// The token's row, plus the position's row if positions are added to tokens, with a norm if the model has one there, and dropout: tokens
/// (B, T) of i32 to (B, T, C). Positions count from `first`.
struct InputEmbedding {
  Parameter tokens;  // (vocabulary, C); the caller's, since tables may be shared
  std::optional<Embedding> wpe;
  std::optional<SinusoidalPositions> sinusoids;
  double scale;
  std::optional<Norm> ln_emb;
  Dropout drop;

  InputEmbedding(const Scope& s, Parameter token_table, const TransformerConfig& c)
      : tokens(token_table), scale(c.scale_embeddings ? std::sqrt(static_cast<double>(c.n_embd)) : 1), drop(s / "drop", c.dropout) {
    if (c.positions == Positions::learned) {
      wpe.emplace(s / "wpe", c.block_size, c.n_embd, embedding_std(c));
    } else if (c.positions == Positions::sinusoidal) {
      sinusoids.emplace(c.block_size, c.n_embd);
    }
    if (c.embedding_norm) {
      ln_emb.emplace(s / "ln_emb", c);
    }
  }

  Tensor operator()(Pass& pass, Tensor ids, index first = 0) const {
    pass.tape.enter(Region::embedding);
    const Tensor table = tokens;
    Tensor positions;  // absent: attention knows them
    if (wpe) {
      positions = wpe->weight;
    } else if (sinusoids) {
      positions = (*sinusoids)(pass, first, ids.shape()[1], table.dtype());
    }
    const Tensor x = embedding(ids, table, {.positions = positions, .first_position = wpe ? first : 0, .scale = scale});
    return drop(pass, ln_emb ? (*ln_emb)(pass, x) : x);
  }
};

}  // namespace dikkat
