#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include "autograd/simd/philox.h"
#include "autograd/tape/tape.h"
#include "layers/recompute.h"

namespace dikkat {

/// Receives an attention layer's path ("decoder.h.0.crossattention") and its weights (B, H, queries, keys). The weights live until the tape
/// of the pass is reset.
using AttentionObserver = std::function<void(std::string_view layer, Tensor weights)>;

/// One forward pass: everything that layers read except their inputs.
struct Pass {
  Tape& tape;
  bool training = false;  // whether dropout is on
  std::uint64_t seed = 0;
  std::uint64_t step = 0;
  index first_sequence = 0;  // index of the batch's first sequence within the whole step, which may have several micro-batches
  const AttentionObserver* attention_observer = nullptr;  // attention weights are computed only if it is set
  Recompute recompute = Recompute::none;
  DType operands = DType::f32;  // f32, or bf16: the type in which matrix products read activations that are f32
  std::optional<DType> keys{};  // bf16: attention rounds keys and values, see AttentionOptions; the tape must not record

  /// Returns this pass on another tape. The binding names every member, so a member that is added but forgotten here does not compile.
  Pass on(Tape& other) const {
    const auto& [own_tape, is_training, its_seed, its_step, its_first_sequence, its_observer, what_to_recompute, its_operands, its_keys] =
        *this;
    return {other, is_training, its_seed, its_step, its_first_sequence, its_observer, what_to_recompute, its_operands, its_keys};
  }

  /// Returns the element type in which matrix products read x.
  DType operand_type(Tensor x) const { return x.dtype() == DType::f32 ? operands : x.dtype(); }

  /// Returns the random words of a site (Scope::site()) in this step.
  RandomStream stream(std::uint64_t site) const { return {seed, site, step}; }
};

}  // namespace dikkat
