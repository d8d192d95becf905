#pragma once

#include <array>
#include <optional>
#include <vector>

#include "autograd/tape/recompute.h"
#include "layers/attention.h"
#include "layers/dropout.h"
#include "layers/feed_forward.h"
#include "layers/key_value_cache.h"
#include "layers/norm.h"
#include "layers/positions.h"

namespace dikkat {

/// The difference between an encoder's stack and a decoder's.
struct StackKind {
  index layers = 0;
  bool causal = true;  // self-attention: position t sees positions up to t
  bool cross = false;  // each block attends to an encoder's output between self-attention and feed-forward
};

/// The inputs of a stack other than x (B, T, C).
struct StackInputs {
  Tensor key_begin{};                      // i32 (B, T): position t sees positions starting at key_begin[b, t]; absent: all
  Tensor key_end{};                        // i32 (B, T): position t sees positions below key_end[b, t]; absent: all
  Tensor encoder_output{};                 // (B, S, C), for a stack with cross-attention
  Tensor encoder_key_end{};                // i32 (B, T): position t sees the encoder's positions below encoder_key_end[b, t]; absent: all
  Tensor encoder_row{};                    // i32 (B): the sequence of encoder_cache that row b of x attends to
  const KeyValueCache* encoder_cache{};    // keys and values of encoder outputs, in place of `encoder_output`
  Tensor tokens{};                         // i32 (B, T): those that x was made from, for value embeddings
  const CachedSequences* cache = nullptr;  // keys and values of the positions before x, with room for those of x, which are appended
};

/// The residual stream. The last branch is added to it only when the sum is needed, so that a sum and the norm after it are one op.
class ResidualStream {
 public:
  struct State {
    Tensor x;
    Tensor branch{};  // the branch that is not added yet, or absent
    DropoutOptions dropout{};
  };
  /// `first` is x0: the stream as the first block reads it.
  ResidualStream(Pass& pass, const State& state, Tensor first) : pass_(pass), state_(state), first_(first) {}

  const State& state() const { return state_; }
  Tensor first() const { return first_; }
  void set_state(const State& state) { state_ = state; }

  /// Returns the stream, with the branch added.
  Tensor sum() {
    if (state_.branch) {
      const Tensor branch = state_.branch;
      state_ = {dikkat::add(state_.x, cast(dropout(branch, state_.dropout), state_.x.dtype()))};
      pass_.tape.release(branch);
    }
    return state_.x;
  }
  /// Returns LN(sum()), in the element type that matrix products read.
  Tensor normalized(const Norm& norm) { return normalized(norm, pass_.operand_type(state_.x)); }
  /// Adds factor * branch.
  void add(Tensor branch, double factor, const Dropout& drop) {
    if (factor != 1) {
      const Tensor read = wide(branch);
      branch = scale(read, factor, Lifetime::until_consumed);
      pass_.tape.release(read);
    }
    state_ = {sum(), branch, drop.options(pass_, branch)};
  }
  /// Returns LN(branch), the end of a branch that has a norm there. It has the stream's element type, and Lifetime::until_consumed.
  Tensor normalized_branch(Tensor branch, const Norm& norm) { return norm(pass_, wide(branch), {}, Lifetime::until_consumed); }
  void normalize(const Norm& norm) { state_ = {normalized(norm, state_.x.dtype())}; }
  /// Replaces x by a x + b x0.
  void mix_with_first(Tensor a, Tensor b) { state_ = {weighted_sum(sum(), first_, a, b)}; }

 private:
  /// Returns the branch in the stream's element type.
  Tensor wide(Tensor branch) {
    const DType dtype = state_.x.dtype();
    if (branch.dtype() == dtype) {
      return branch;
    }
    const Tensor copy = cast(branch, dtype);
    pass_.tape.release(branch);
    return copy;
  }
  Tensor normalized(const Norm& norm, DType dtype) {
    if (!state_.branch) {
      return norm(pass_, state_.x, dtype);
    }
    const SumAndNorm made = norm(pass_, state_.x, state_.branch, state_.dropout, dtype);
    state_ = {made.sum};
    return made.norm;
  }

  Pass& pass_;
  State state_;
  Tensor first_;
};

/// Each block reads resid_lambda x + x0_lambda x0, one number each (modded-nanogpt). They begin at 1 and 0: x.
struct ResidualScalars {
  Parameter resid_lambda, x0_lambda;  // (1) each

  explicit ResidualScalars(const Scope& s)
      : resid_lambda(s.param("resid_lambda", {1}, Init::ones(), Decay::no, Role::vector)),
        x0_lambda(s.param("x0_lambda", {1}, Init::zeros(), Decay::no, Role::vector)) {}
};

/// [self-attention, cross-attention if asked for, feed-forward] x layers: (B, T, C) to (B, T, C), without a norm at the end.
/// Used by GPT, and by the encoder and the decoder of an encoder-decoder.
struct Stack {
  /// A layer whose output is added to the residual stream, with its norms.
  template <class Layer>
  struct Branch {
    NormPosition where;
    double scale;  // factor of the output
    Norm norm;
    Layer layer;
    std::optional<Norm> second_norm;  // norm of the output, if there is a norm before the layer too
    Dropout dropout;

    template <class... Args>
    Branch(const Scope& s, const char* norm_name, const char* name, const TransformerConfig& c, const Args&... args)
        : where(c.norm_position),
          scale(c.residual_scale),
          norm(s / norm_name, c),
          layer(s / name, c, args...),
          dropout(s / name / "dropout", c.dropout) {
      if (where == NormPosition::sandwich) {
        second_norm.emplace(s / concat(norm_name, "_out"), c);
      }
    }

    template <class... Inputs>
    void operator()(Pass& pass, ResidualStream& x, Inputs... inputs) const {
      switch (where) {
        case NormPosition::pre: x.add(layer(pass, x.normalized(norm), inputs...), scale, dropout); return;
        case NormPosition::post:
          x.add(layer(pass, x.sum(), inputs...), scale, dropout);
          x.normalize(norm);
          return;
        case NormPosition::sandwich:
          x.add(x.normalized_branch(layer(pass, x.normalized(norm), inputs...), *second_norm), scale, dropout);
          return;
        case NormPosition::branch: x.add(x.normalized_branch(layer(pass, x.sum(), inputs...), norm), scale, dropout); return;
      }
    }
  };

  struct Block {
    bool has_rope, has_window;
    std::optional<ResidualScalars> scalars;
    Branch<SelfAttention> attn;
    std::optional<Branch<CrossAttention>> crossattention;
    Branch<FeedForward> mlp;

    /// Makes block `number` of the stack.
    Block(const Scope& s, const TransformerConfig& c, const StackKind& kind, index number)
        : has_rope(dikkat::has_rope(c, number)),
          has_window(window_of(c, number) > 0),
          attn(s, "ln_1", "attn", c, kind.causal, has_value_embedding(c, number, kind.layers), window_of(c, number)),
          mlp(s, "ln_2", "mlp", c) {
      if (c.residual_scalars) {
        scalars.emplace(s);
      }
      if (kind.cross) {
        crossattention.emplace(s, "ln_cross_attn", "crossattention", c);
      }
    }

    /// Adds the block's branches to x. rotation: the angles of the positions of x, or absent. cache and encoder_keys: those of this block,
    /// or null and absent.
    void operator()(Pass& pass, ResidualStream& x, const StackInputs& inputs, Tensor rotation, const AttentionCache* cache = nullptr,
                    Tensor encoder_keys = {}) const {
      if (scalars) {
        x.mix_with_first(scalars->resid_lambda, scalars->x0_lambda);
      }
      attn(pass, x, MultiHead::Context{.key_begin = inputs.key_begin, .key_end = inputs.key_end, .rotation = rotation, .cache = cache},
           inputs.tokens);
      if (crossattention) {
        (*crossattention)(pass, x, CrossInputs{inputs.encoder_output, encoder_keys, inputs.encoder_key_end, inputs.encoder_row});
      }
      mlp(pass, x);
    }

    /// Runs the block with activation checkpointing: only inputs and outputs are stored.
    void recomputed(Pass& pass, ResidualStream& x, const StackInputs& inputs, Tensor rotation) const {
      const auto block = [this, pass, drop = x.state().dropout](Tape& tape, const std::array<Tensor, 9>& in) {
        Pass inner = pass.on(tape);
        ResidualStream stream(inner, {in[0], in[1], drop}, in[7] ? in[7] : in[0]);
        (*this)(inner, stream, {.key_begin = in[8], .key_end = in[2], .encoder_output = in[3], .encoder_key_end = in[4], .tokens = in[5]},
                in[6]);
        return std::array{stream.state().x, stream.state().branch};
      };
      const Tensor first = scalars && x.first() != x.state().x ? x.first() : Tensor{};  // the first block reads it as x: not twice
      const std::array in{x.state().x,   x.state().branch, inputs.key_end, inputs.encoder_output, inputs.encoder_key_end,
                          inputs.tokens, rotation,         first,          inputs.key_begin};
      const auto out = recompute<2>(pass.tape, in, block);
      x.set_state({out[0], out[1], out[1] ? mlp.dropout.options(pass, out[1]) : DropoutOptions{}});
    }
  };

  std::optional<RotaryPositions> rotary, local_rotary;  // local: of layers with a window
  std::vector<Block> blocks;

  /// The configuration must come from checked() or with_defaults().
  Stack(const Scope& s, const TransformerConfig& c, const StackKind& kind) {
    if (c.positions == Positions::rope) {
      rotary.emplace(c);
      if (c.window > 0 && c.rope_theta_local > 0) {
        local_rotary.emplace(c, true);
      }
    }
    blocks.reserve(static_cast<std::size_t>(kind.layers));
    for (index i = 0; i < kind.layers; ++i) {
      blocks.emplace_back(s / i, c, kind, i);
    }
  }

  /// Throws Error for cross-attention without an encoder's output, for a cache with another number of layers, and for a cache with
  /// recomputation.
  Tensor operator()(Pass& pass, Tensor x, const StackInputs& inputs = {}) const {
    pass.tape.enter(Region::blocks);
    const auto layers = static_cast<index>(blocks.size());
    const CachedSequences* cache = inputs.cache;
    const auto require_fit = [&](const auto* one) {
      require(one == nullptr || (one->layers() == layers && pass.recompute == Recompute::none), "stack: the cache has ",
              one != nullptr ? one->layers() : 0, " layers, expected ", layers, ", and no recomputation");
    };
    require_fit(cache);
    require_fit(inputs.encoder_cache);
    ResidualStream stream(pass, {x}, x);
    const Tensor all_angles = rotary ? angles(*rotary, pass, x, cache) : Tensor{};
    const Tensor local_angles = local_rotary ? angles(*local_rotary, pass, x, cache) : all_angles;
    for (index i = 0; i < layers; ++i) {
      const Block& block = blocks[static_cast<std::size_t>(i)];
      const Tensor rotation = !block.has_rope ? Tensor{} : block.has_window ? local_angles : all_angles;
      require(!block.crossattention || inputs.encoder_output || inputs.encoder_cache != nullptr,
              "stack: cross-attention has no encoder output, expected (B, S, C)");
      if (pass.recompute == Recompute::block) {
        block.recomputed(pass, stream, inputs, rotation);
      } else {
        const auto own = cache != nullptr ? std::optional(cache->layer(i)) : std::nullopt;
        const Tensor encoder_keys = inputs.encoder_cache != nullptr ? inputs.encoder_cache->rows(pass.tape, i) : Tensor{};
        block(pass, stream, inputs, rotation, own ? &*own : nullptr, encoder_keys);
      }
    }
    return stream.sum();
  }

 private:
  /// Returns the angles of rotary positions for x, which begins where the cache ends.
  static Tensor angles(const RotaryPositions& positions, Pass& pass, Tensor x, const CachedSequences* cache) {
    const index time = x.shape()[1];
    return cache == nullptr ? positions(pass, 0, time, x.dtype()) : positions(pass, cache->next_positions(pass.tape), time, x.dtype());
  }
};

}  // namespace dikkat
