#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "autograd/kernels/attention/attention.h"
#include "autograd/kernels/elementwise.h"

namespace dikkat::kernels::reference {

/// Whether query i of batch b sees a key.
inline bool sees(const AttentionShape& s, index b, index i, index key) {
  const index at = b * s.queries + i;
  return (s.key_begin == nullptr || s.key_begin[at] <= key) && (s.key_end == nullptr || key < s.key_end[at]) &&
         (!s.causal || key <= s.query_offset + i) && (s.window == 0 || s.query_offset + i - key < s.window);
}

/// The factor of dropout for the weight of (b, h, i, key): 0 if it is dropped.
template <class T>
T kept(const AttentionShape& s, index b, index h, index i, index key) {
  if (s.dropout == 0) {
    return 1;
  }
  return s.stream.word(attention_dropout_element(s, b, h, i, key)) < dropout_threshold(s.dropout) ? T(0)
                                                                                                  : static_cast<T>(1 / (1 - s.dropout));
}

template <class Out, class T>
Out* row_of(const T& heads, const AttentionShape& s, index b, index h, index row) {
  return heads.data + b * heads.batch_stride + row * heads.row_stride + h * s.head_size;
}

template <class T>
T dot(index n, const T* a, const T* b) {
  T total = 0;
  for (index i = 0; i < n; ++i) {
    total += a[i] * b[i];
  }
  return total;
}

/// Row `row` of a head of queries or keys, rotated by row `row` of `rotation` if there is one.
template <class T>
std::vector<T> rotated(const Heads<const T>& heads, const AttentionShape& s, index b, index h, index row, const T* rotation) {
  const T* x = row_of<const T>(heads, s, b, h, row);
  std::vector<T> y(x, x + s.head_size);
  const auto half = static_cast<std::size_t>(s.head_size / 2);
  for (std::size_t d = 0; rotation != nullptr && d < half; ++d) {
    const T cosine = rotation[row * s.head_size + static_cast<index>(d)];
    const T sine = rotation[row * s.head_size + static_cast<index>(half + d)];
    y[d] = x[d] * cosine - x[half + d] * sine;
    y[half + d] = x[half + d] * cosine + x[d] * sine;
  }
  return y;
}

/// Adds the gradient of a rotated row to that of the row itself.
template <class T>
void add_rotated_back(index size, const T* dy, const T* angles, T factor, T* dx) {
  const index half = size / 2;
  for (index d = 0; d < size; ++d) {
    if (angles == nullptr) {
      dx[d] += factor * dy[d];
    } else if (d < half) {
      dx[d] += factor * (dy[d] * angles[d] + dy[half + d] * angles[half + d]);
    } else {
      dx[d] += factor * (dy[d] * angles[d - half] - dy[d - half] * angles[d]);
    }
  }
}

/// The reference for kernels::attention_forward, a row of scores at a time.
template <class T>
void attention_forward(const AttentionForward<T>& p) {
  const AttentionShape& s = p.shape;
  for (index b = 0; b < s.batch; ++b) {
    for (index h = 0; h < s.heads; ++h) {
      for (index i = 0; i < s.queries; ++i) {
        const index key_head = h / s.group();
        const auto q = rotated(p.q, s, b, h, i, p.q_rotation + b * p.q_rotation_batch_stride);
        // Score the keys that the query sees.
        std::vector<T> scores(static_cast<std::size_t>(s.keys), -std::numeric_limits<T>::infinity());
        for (index j = 0; j < s.keys; ++j) {
          if (sees(s, b, i, j)) {
            const auto k = rotated(p.k, s, s.keys_of(b), key_head, j, p.k_rotation);
            scores[static_cast<std::size_t>(j)] = static_cast<T>(s.scale) * dot(s.head_size, q.data(), k.data());
          }
        }
        // Take the logarithm of the sum of their exponentials.
        T top = -std::numeric_limits<T>::infinity();
        for (const T score : scores) {
          top = std::max(top, score);
        }
        T total = 0;
        for (const T score : scores) {
          total += top == -std::numeric_limits<T>::infinity() ? T(0) : std::exp(score - top);
        }
        const T log_sum = total == 0 ? std::numeric_limits<T>::infinity() : top + std::log(total);
        p.log2_sum[(b * s.heads + h) * s.queries + i] = log_sum * std::numbers::log2e_v<T>;
        // Add the weighted values.
        T* y = row_of<T>(p.y, s, b, h, i);
        std::fill(y, y + s.head_size, T(0));
        for (index j = 0; j < s.keys; ++j) {
          const T weight = std::exp(scores[static_cast<std::size_t>(j)] - log_sum) * kept<T>(s, b, h, i, j);
          for (index d = 0; d < s.head_size; ++d) {
            y[d] += weight * row_of<const T>(p.v, s, s.keys_of(b), key_head, j)[d];
          }
        }
      }
    }
  }
}

/// The reference for kernels::attention_backward: dw = dy v^T, delta = <dy, y>, ds = w (dw - delta), dq = scale ds k, dk = scale ds^T q, dv
/// = w^T dy. Outputs without `add` must hold zeros.
template <class T>
void attention_backward(const AttentionBackward<T>& p) {
  const AttentionShape& s = p.shape;
  for (index b = 0; b < s.batch; ++b) {
    for (index h = 0; h < s.heads; ++h) {
      for (index i = 0; i < s.queries; ++i) {
        const index key_head = h / s.group();
        const auto q = rotated(p.q, s, b, h, i, p.q_rotation);
        const T* dy = row_of<const T>(p.dy, s, b, h, i);
        const T delta = dot(s.head_size, dy, row_of<const T>(p.y, s, b, h, i));
        for (index j = 0; j < s.keys; ++j) {
          if (!sees(s, b, i, j)) {
            continue;
          }
          const auto k = rotated(p.k, s, b, key_head, j, p.k_rotation);
          const T log_sum = p.log2_sum[(b * s.heads + h) * s.queries + i] * std::numbers::ln2_v<T>;
          const T weight = std::exp(static_cast<T>(s.scale) * dot(s.head_size, q.data(), k.data()) - log_sum);
          const T keep = kept<T>(s, b, h, i, j);
          const T ds = static_cast<T>(s.scale) * weight * (dot(s.head_size, dy, row_of<const T>(p.v, s, b, key_head, j)) * keep - delta);
          const auto angles = [&](const T* rotation, index row) { return rotation == nullptr ? nullptr : rotation + row * s.head_size; };
          add_rotated_back(s.head_size, k.data(), angles(p.q_rotation, i), ds, row_of<T>(p.dq.at, s, b, h, i));
          add_rotated_back(s.head_size, q.data(), angles(p.k_rotation, j), ds, row_of<T>(p.dk.at, s, b, key_head, j));
          for (index d = 0; d < s.head_size; ++d) {
            row_of<T>(p.dv.at, s, b, key_head, j)[d] += weight * keep * dy[d];
          }
        }
      }
    }
  }
}

}  // namespace dikkat::kernels::reference
