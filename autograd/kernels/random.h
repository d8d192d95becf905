#pragma once

#include <cstdint>

#include "autograd/base/bf16.h"
#include "autograd/base/index.h"
#include "autograd/simd/philox.h"

// Random numbers that are functions of a stream and of their own index. Number i is drawn from word i of the stream, in f64 from words 2i
// and 2i + 1; normal numbers 2i and 2i + 1 share their words.
namespace dikkat::kernels {

/// Numbers first to first + n - 1.
struct Drawing {
  RandomStream stream{};
  index first = 0;
  index n = 0;
};

/// Draws numbers of at least `low` and less than `high`, which is more than `low` as a T too.
template <class T>
void draw_uniform(const Drawing& drawing, Computed<T> low, Computed<T> high, T* y);

/// Draws normal numbers by the Box-Muller transform (Box and Muller, "A note on the generation of random normal deviates", 1958). In f32 no
/// number is more than 6.7 deviations from the mean, in f64 8.6.
template <class T>
void draw_normal(const Drawing& drawing, Computed<T> mean, Computed<T> std, T* y);

/// Draws 1 with the probability p, or p[i], and 0 otherwise. All types take word i.
template <class T>
void draw_bernoulli(const Drawing& drawing, double p, T* y);
template <class T>
void draw_bernoulli(const Drawing& drawing, const T* p, T* y);

/// A class for each of n rows of weights, by inverse cumulative sums. With the uniform f64 number first + row as u, class c is the first
/// for which the sum of the weights 0 to c is more than u times the sum of all. A row's class is -1 if a weight is negative or NaN, or if
/// the sum of all is zero or infinite.
template <class T>
struct Categorical {
  Drawing drawing;
  index classes = 0;
  bool logits = false;   // weights are e^x instead of x
  const T* x = nullptr;  // (n, classes)
  std::int32_t* y = nullptr;
};
template <class T>
void draw_categorical(const Categorical<T>& p);

/// Draws a permutation of 0 to n - 1, each with the same probability, by Fisher and Yates' shuffle. Its bounded numbers have no bias
/// (Lemire, "Fast random integer generation in an interval", arXiv 1805.10941). It takes the stream's words in turn. n < 2^31.
void draw_permutation(index n, const RandomStream& stream, std::int32_t* y);

}  // namespace dikkat::kernels
