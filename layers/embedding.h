#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <span>

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

  /// Returns the rows of ids, i32 of any shape (...): (..., width). Throws Error for an id that is not in the table.
  Tensor operator()(Pass&, Tensor ids) const {
    if (ids.shape().rank() == 2) {
      return embedding(ids, weight);
    }
    const Shape& shape = ids.shape();
    std::array<index, Shape::kMaxRank + 1> extents{};
    std::ranges::copy(shape.extents(), extents.begin());
    const auto rank = static_cast<std::size_t>(shape.rank());
    extents[rank] = weight.shape()[1];
    return reshape(embedding(reshape(ids, {1, ids.size()}), weight), Shape(std::span(extents).first(rank + 1)));
  }
};

/// The token's row, plus the position's row if positions are added to tokens, with a norm if the model has one there, and dropout. Maps
/// tokens (B, T) of i32 to (B, T, C). Positions of a sequence count from `first`, i32 (B), or from 0 if it is absent; or `first` has the
/// position of each token, i32 (B, T).
struct InputEmbedding {
  Parameter tokens;  // (vocabulary, C); the caller's, since tables may be shared
  std::optional<Embedding> wpe;
  std::optional<SinusoidalPositions> sinusoids;
  double scale;
  std::optional<Norm> ln_emb;
  Dropout drop;

  InputEmbedding(const Scope& s, Parameter token_table, const TransformerConfig& c)
      : tokens(token_table),
        scale((c.scale_embeddings ? std::sqrt(static_cast<double>(c.n_embd)) : 1) * c.embedding_scale),
        drop(s / "drop", c.dropout) {
    if (c.positions == Positions::learned) {
      wpe.emplace(s / "wpe", c.block_size, c.n_embd, embedding_std(c));
    } else if (c.positions == Positions::sinusoidal) {
      sinusoids.emplace(c.block_size, c.n_embd);
    }
    if (c.embedding_norm) {
      ln_emb.emplace(s / "ln_emb", c);
    }
  }

  Tensor operator()(Pass& pass, Tensor ids, Tensor first = {}) const {
    pass.tape.enter(Region::embedding);
    if (first && first.shape().rank() == 2) {  // as sequences of one token each
      if (!wpe && !sinusoids) {
        return (*this)(pass, ids);
      }
      const index tokens_in_all = ids.size();
      const Tensor x = looked_up(pass, reshape(ids, {tokens_in_all, 1}), reshape(first, {tokens_in_all}));
      return finished(pass, reshape(x, {ids.shape()[0], ids.shape()[1], x.shape()[2]}));
    }
    return finished(pass, looked_up(pass, ids, first));
  }

 private:
  Tensor finished(Pass& pass, Tensor x) const { return drop(pass, ln_emb ? (*ln_emb)(pass, x) : x); }

  Tensor looked_up(Pass& pass, Tensor ids, Tensor first) const {
    const Tensor table = tokens;
    EmbeddingOptions options{.scale = scale};  // without positions: attention knows them
    if (wpe) {
      options.positions = wpe->weight;
      options.first = first;
    } else if (sinusoids && first) {
      add_sinusoids(pass, first, ids.shape()[1], table, options);
    } else if (sinusoids) {
      options.positions = (*sinusoids)(pass, 0, ids.shape()[1], table.dtype());
    }
    return embedding(ids, table, options);
  }

  /// Makes one table with the rows of all sequences, one sequence after another.
  void add_sinusoids(Pass& pass, Tensor first, index time, Tensor table, EmbeddingOptions& options) const {
    const index batch = first.size();
    options.positions = reshape((*sinusoids)(pass, first, time, table.dtype()), {batch * time, table.shape()[1]});
    options.first = pass.tape.make({batch}, DType::i32);
    for (index b = 0; b < batch; ++b) {
      options.first.mutable_data<std::int32_t>()[b] = static_cast<std::int32_t>(b * time);
    }
  }
};

}  // namespace dikkat
