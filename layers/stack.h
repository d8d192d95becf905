#pragma once

#include <optional>
#include <vector>

#include "layers/attention.h"
#include "layers/dropout.h"
#include "layers/feed_forward.h"
#include "layers/layer_norm.h"

namespace dikkat {

/// Where a block normalises. Pre: each branch reads a normalised stream and adds to the stream itself, x + branch(LN(x)), so the end
/// wants a norm of its own (GPT-2). Post: the sum is normalised and carried on, LN(x + branch(x)) (Vaswani et al. 2017; GPT-1).
enum class Norm { pre, post };

struct StackConfig {
  index layers = 0;
  Norm norm = Norm::pre;
  bool causal = true;  // self-attention
  bool cross = false;  // whether there is attention to a memory between self-attention and feed-forward
  AttentionConfig attention;
  FeedForwardConfig feed_forward;
  bool bias = true;    // of norms
  double dropout = 0;  // on each branch
};

/// What a stack reads beside x (B, T, C).
struct StackInputs {
  Tensor last_key{};         // i32 (B, T): position t sees positions below it; absent: all
  Tensor memory{};           // (B, S, C), for a stack with cross-attention
  Tensor memory_last_key{};  // i32 (B, T): position t sees the memory's positions below it; absent: all
};

/// The residual stream, and a branch that is yet to be added to it: a sum and the norm that follows it are one op.
class ResidualStream {
 public:
  ResidualStream(Pass& pass, Tensor x) : pass_(pass), x_(x) {}

  /// With everything added.
  Tensor sum() {
    if (branch_) {
      x_ = dikkat::add(x_, dropout(branch_, dropout_));
      branch_ = {};
    }
    return x_;
  }
  /// LN(sum()).
  Tensor normalised(const LayerNorm& norm) {
    if (!branch_) {
      return norm(pass_, x_);
    }
    const SumAndNorm made = norm(pass_, x_, branch_, dropout_);
    x_ = made.sum;
    branch_ = {};
    return made.norm;
  }
  void add(Tensor branch, const Dropout& drop) {
    sum();
    branch_ = branch;
    dropout_ = drop.options(pass_, branch);
  }
  void normalise(const LayerNorm& norm) { x_ = normalised(norm); }

 private:
  Pass& pass_;
  Tensor x_;
  Tensor branch_{};
  DropoutOptions dropout_{};
};

/// [self-attention, cross-attention if asked for, feed-forward] x layers: (B, T, C) to (B, T, C), without a norm at the end.
/// Of GPT, and of the encoder and the decoder of an encoder-decoder.
struct Stack {
  /// A branch beside the residual stream, with its norm.
  template <class Layer>
  struct Branch {
    LayerNorm norm;
    Layer layer;
    Dropout dropout;

    template <class... Args>
    Branch(const Scope& s, const char* norm_name, const char* name, const StackConfig& c, const Args&... args)
        : norm(s / norm_name, c.attention.width, c.bias), layer(s / name, args...), dropout(s / name / "dropout", c.dropout) {}

    template <class... Inputs>
    void operator()(Norm where, Pass& pass, ResidualStream& x, Inputs... inputs) const {
      if (where == Norm::pre) {
        x.add(layer(pass, x.normalised(norm), inputs...), dropout);
      } else {
        x.add(layer(pass, x.sum(), inputs...), dropout);
        x.normalise(norm);
      }
    }
  };

  struct Block {
    Branch<SelfAttention> attn;
    std::optional<Branch<CrossAttention>> crossattention;
    Branch<FeedForward> mlp;

    Block(const Scope& s, const StackConfig& c)
        : attn(s, "ln_1", "attn", c, c.attention, c.causal), mlp(s, "ln_2", "mlp", c, c.feed_forward) {
      if (c.cross) {
        crossattention.emplace(s, "ln_cross_attn", "crossattention", c, c.attention);
      }
    }
  };

  Norm norm;
  std::vector<Block> blocks;

  Stack(const Scope& s, const StackConfig& c) : norm(c.norm) {
    blocks.reserve(static_cast<std::size_t>(c.layers));
    for (index i = 0; i < c.layers; ++i) {
      blocks.emplace_back(s / i, c);
    }
  }

  /// Throws Error when cross-attention lacks its memory.
  Tensor operator()(Pass& pass, Tensor x, const StackInputs& inputs = {}) const {
    ResidualStream stream(pass, x);
    for (const Block& block : blocks) {
      block.attn(norm, pass, stream, inputs.last_key);
      if (block.crossattention) {
        require(static_cast<bool>(inputs.memory), "stack: cross-attention has no memory, expected (B, S, C)");
        (*block.crossattention)(norm, pass, stream, inputs.memory, inputs.memory_last_key);
      }
      block.mlp(norm, pass, stream);
    }
    return stream.sum();
  }
};

}  // namespace dikkat
