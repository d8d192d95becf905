#pragma once

#include "autograd/kernels/attention.h"

namespace dikkat::kernels {

/// Whether each batch has one query and there is no dropout, as in every step of sampling.
constexpr bool is_one_query(const AttentionShape& s) { return s.queries == 1 && s.dropout == 0; }

/// attention_forward() for such a problem ("Flash-Decoding"): a task takes a group of keys of a batch, and the tasks' parts are added in
/// the order of keys. Each key and value is read once, in place, for all heads together. The result for a batch does not depend on the
/// others.
template <class T>
void attention_one_query(const AttentionForward<T>& p);

}  // namespace dikkat::kernels
