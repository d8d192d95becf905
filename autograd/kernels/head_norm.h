#pragma once

#include "autograd/base/grad_out.h"
#include "autograd/base/index.h"

namespace dikkat::kernels {

/// RMSNorm of each head of queries and keys. A row of x is `heads` heads of queries, of `size` numbers each, `key_heads` heads of keys, of
/// `key_size` numbers each, and `rest` numbers (the values), which are copied. A head h becomes h / sqrt(mean(h^2) + eps) * gamma (Henry et
/// al., arXiv 2010.04245, with RMSNorm as in Qwen3). All queries of a row may count as one head, and all keys (OLMo 2).
template <class T>
struct HeadNorm {
  index rows = 0, heads = 0, key_heads = 0, size = 0, key_size = 0, rest = 0;
  double eps = 1e-5;
  const Computed<T>* q_gamma = nullptr;         // (size)
  const Computed<T>* k_gamma = nullptr;         // (key_size)
  const T* x = nullptr;                         // (rows, heads * size + key_heads * key_size + rest)
  T* y = nullptr;                               // like x; in backward it holds dy, and becomes df/dx
  GradOut<Computed<T>> dq_gamma{}, dk_gamma{};  // (size) and (key_size), backward only
};
template <class T>
void head_norm_forward(const HeadNorm<T>& p);
/// Let f = <dy, y>. Replaces dy by df/dx, and writes df/dgamma; a null output is skipped.
template <class T>
void head_norm_backward(const HeadNorm<T>& p);

}  // namespace dikkat::kernels
