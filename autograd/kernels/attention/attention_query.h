#pragma once

#include "autograd/kernels/attention/attention.h"

namespace dikkat::kernels {

/// Returns whether each batch has one query and no dropout, as in the generation of single tokens.
constexpr bool is_one_query(const AttentionShape& s) { return s.queries == 1 && s.dropout == 0; }

/// Does what attention_forward() does, but for such a problem ("Flash-Decoding"). A task computes the part of one group of the keys that a
/// batch sees, and the parts are added in the order of keys. Each key and value is read once, in place, for all heads. The result for a
/// batch does not depend on the other batches.
template <class T, class Key>
void attention_one_query(const AttentionForward<T, T, Key>& p);

}  // namespace dikkat::kernels
