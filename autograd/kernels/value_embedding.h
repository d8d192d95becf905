#pragma once

#include "autograd/base/grad_out.h"
#include "autograd/base/index.h"

namespace dikkat::kernels {

/// Adds rows that belong to the tokens to the values. A row of qkv is `before` numbers (queries and keys), which are copied, and `heads`
/// heads of values of `size` numbers each. Head h of the values becomes v_h + g_h e_h, with the gate g_h = 2 sigmoid(<w_h, x[:channels]>)
/// (nanochat's).
template <class T>
struct ValueEmbedding {
  index rows = 0, before = 0, heads = 0, size = 0;
  index width = 0, channels = 0;      // columns of x; and how many of them the gate reads
  const T* x = nullptr;               // (rows, width)
  const Computed<T>* e = nullptr;     // (rows, heads * size)
  const Computed<T>* gate = nullptr;  // (heads, channels): w
  const T* qkv = nullptr;             // (rows, before + heads * size), forward only
  T* y = nullptr;                     // like qkv, forward only
  const T* dy = nullptr;              // like qkv, backward only
  GradOut<T> dx{};                    // (rows, width): 0 beyond the channels
  GradOut<Computed<T>> de{}, dgate{};
};
template <class T>
void value_embedding_forward(const ValueEmbedding<T>& p);
/// Let f = <dy, y>. Writes df/dx, df/de and df/dgate; df/dqkv is dy. A null output is skipped. dgate is summed over the rows in tiles, in
/// their order.
template <class T>
void value_embedding_backward(const ValueEmbedding<T>& p);

}  // namespace dikkat::kernels
