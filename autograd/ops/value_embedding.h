#pragma once

#include "autograd/tape/tensor.h"

namespace dikkat {

/// Adds rows that belong to the tokens to the values of self-attention, each head through a gate that x opens. Head h of the values becomes
/// v_h + 2 sigmoid(<gate_h, x[:channels]>) rows_h (nanochat; after modded-nanogpt's value embeddings). qkv (..., columns of q | k | v), x
/// (..., C), rows (..., columns of v), gate (heads, channels); columns before the values are copied. qkv and x may be bf16; it is computed
/// in f32. Throws Error for shapes that do not fit.
Tensor add_value_embedding(Tensor qkv, Tensor x, Tensor rows, Tensor gate);

}  // namespace dikkat
