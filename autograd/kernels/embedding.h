#pragma once

#include <cstdint>

#include "autograd/base/grad_out.h"
#include "autograd/base/index.h"
#include "autograd/base/packed_matrix.h"

namespace dikkat::kernels {

/// y[b, t] = scale * table[tokens[b, t]] + positions[first[b] + t].
template <class T>
struct EmbeddingForward {
  index batch = 0, time = 0, cols = 0;
  const std::int32_t* tokens = nullptr;  // (batch, time), each a row of the table
  const T* table = nullptr;              // (vocabulary, cols); or, only for f32, packed:
  const PackedMatrix* packed_table = nullptr;
  const T* positions = nullptr;         // (positions, cols), or null for none
  const std::int32_t* first = nullptr;  // (batch): the row of `positions` for t = 0, or null: 0
  T scale{1};
  T* y = nullptr;  // (batch, time, cols)
};
template <class T>
void embedding_forward(const EmbeddingForward<T>& p);

/// Let f = <dy, y>. Writes df/dtable (rows of tokens that do not occur become 0 when overwriting) and df/dpositions.
/// The occurrences of a token are added in the order of their positions, by one thread.
template <class T>
struct EmbeddingBackward {
  index batch = 0, time = 0, cols = 0;
  index vocabulary = 0, positions = 0;
  const std::int32_t* tokens = nullptr;  // (batch, time)
  const std::int32_t* first = nullptr;   // as in forward
  T scale{1};
  const T* dy = nullptr;    // (batch, time, cols)
  GradOut<T> dtable{};      // (vocabulary, cols)
  GradOut<T> dpositions{};  // (positions, cols)
};
template <class T>
void embedding_backward(const EmbeddingBackward<T>& p);

}  // namespace dikkat::kernels
