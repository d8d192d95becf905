#pragma once

#include "autograd/ops/basic.h"

/// For ops that compute bf16 in f32 by way of cast(). This header is private to the folder.
namespace dikkat {

/// Returns x as f32 if it holds bf16; otherwise x itself, which may be absent.
inline Tensor widened(Tensor x) { return x && x.dtype() == DType::bf16 ? cast(x, DType::f32) : x; }

}  // namespace dikkat
