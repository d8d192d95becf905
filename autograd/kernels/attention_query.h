#pragma once

#include "autograd/kernels/attention.h"

namespace dikkat::kernels {

/// Whether each batch has one query, as every step of sampling has, and no dropout.
constexpr bool is_one_query(const AttentionShape& s) { return s.queries == 1 && s.dropout == 0; }

/// attention_forward() for that: each key and value is read once, where it lies, all heads of it together. Tasks are groups of keys of a
/// batch, and their parts are added in the order of keys ("Flash-Decoding"). The result for a batch does not depend on the others.
template <class T>
void attention_one_query(const AttentionForward<T>& p);

}  // namespace dikkat::kernels
