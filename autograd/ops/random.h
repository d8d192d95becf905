#pragma once

#include "autograd/simd/philox.h"
#include "autograd/tape/tape.h"

// Random tensors. They are functions of a RandomStream, which is (seed, site, step), and of their numbers' places, as dropout is. Equal
// arguments lead to equal bits on any number of threads, and element i does not depend on the shape.
//
//   Tensor noise = normal(tape, {batch, width}, RandomStream(seed, "vae.noise", step));
//
// `first` is the index of element 0, so that parts of a step's batch have the numbers of the whole. No gradient flows into them.
namespace dikkat {

/// Returns uniform numbers of [low, high), for f32, f64 and bf16: 24 random bits each, in f64 53. Bounds are rounded to the element type.
/// Throws Error unless low is below high.
Tensor uniform(Tape& tape, Shape shape, const RandomStream& stream, double low = 0, double high = 1, DType dtype = DType::f32,
               index first = 0);

/// Returns normal numbers, for f32, f64 and bf16, by the Box-Muller transform. Throws Error for a negative deviation.
Tensor normal(Tape& tape, Shape shape, const RandomStream& stream, double mean = 0, double std = 1, DType dtype = DType::f32,
              index first = 0);

/// Returns 1 with the probability p, otherwise 0, for f32, f64 and bf16. Throws Error unless p is 0 to 1.
Tensor bernoulli(Tape& tape, Shape shape, const RandomStream& stream, double p = 0.5, DType dtype = DType::f32, index first = 0);
/// Returns 1 with the probability p[i], otherwise 0, in p's shape and type.
Tensor bernoulli(Tensor p, const RandomStream& stream, index first = 0);

/// The numbers that categorical() reads.
enum class Odds {
  logits,         // logarithms of weights; -infinity for a class that is never drawn
  probabilities,  // weights of 0 or more, whose sum need not be 1
};
/// Returns a class for each row: x (..., classes) of f32, f64 or bf16 to i32 (...). Class c has the probability of its weight over the sum
/// of all. It is found by inverse cumulative sums of the weights, with one uniform number of 53 bits for each row. Throws Error if weights
/// are negative, infinite or NaN, or all zero.
Tensor categorical(Tensor x, const RandomStream& stream, Odds odds = Odds::logits, index first = 0);

/// Returns the numbers 0 to n - 1 in a random order, i32 (n), for n below 2^31. Each order has the same probability (Fisher and Yates'
/// shuffle).
Tensor permutation(Tape& tape, index n, const RandomStream& stream);

}  // namespace dikkat
