#pragma once

#include <cstdint>

#include "autograd/base/grad_out.h"
#include "autograd/base/index.h"
#include "autograd/base/packed_matrix.h"
#include "autograd/kernels/loss/teacher_targets.h"

namespace dikkat::kernels {

/// The largest softcap. Backward recovers a logit from e^(logit - top), which then is a normal number in f32.
inline constexpr double kMostSoftcap = 40;

/// The losses of kernels/loss/cross_entropy.h for logits = x weight^T. Logits are transposed, (classes, rows), and computed one panel of
/// classes at a time. So `weight` is read once and in place, and maxima and sums over classes are vertical vector operations. A panel is
/// still in cache when its exponentials are computed.
///
/// A panel stores e^(logit - top), where top is the largest logit of a tile of classes. Backward multiplies each tile by a factor to get
/// the softmax, so a logit takes one exp for forward and backward together.
///
/// X is the type of x and dx: with bf16, operands of the products are rounded to it.
template <class X>
struct LinearCrossEntropy {
  using T = Computed<X>;
  index rows = 0, width = 0, classes = 0;
  const X* x = nullptr;       // (rows, width)
  const T* weight = nullptr;  // (classes, width); or, only for f32 without dweight, packed:
  PackedMatrix packed_weight{};
  const std::int32_t* targets = nullptr;  // (rows), each in [0, classes)
  const float* weights = nullptr;         // (rows), or null: 1 each
  double normalizer = 1;
  double label_smoothing = 0;         // in [0, 1)
  TeacherTargets teacher{};           // not with label smoothing
  double softcap = 0;                 // logits z become softcap tanh(z / softcap); 0: they stay. At most kMostSoftcap
  bool keep = true;                   // whether backward follows
  T* work = nullptr;                  // workspace of linear_cross_entropy_work() elements: written by forward, overwritten by backward
  T* losses = nullptr;                // (rows), forward only
  T dloss{};                          // backward only: derivative with respect to the sum of all rows' costs
  GradOut<X> dx{};                    // (rows, width), backward only
  GradOut<T> dweight{};               // (classes, width), backward only
  const T* dweight_before = nullptr;  // (classes, width) or null: the part of dweight that comes from other rows, for dloss = 1
};
/// Returns how many elements `work` needs for p.rows rows or fewer.
template <class X>
index linear_cross_entropy_work(const LinearCrossEntropy<X>& p) noexcept;
/// Writes the losses of the rows.
template <class X>
void linear_cross_entropy_forward(const LinearCrossEntropy<X>& p);
/// Call it once after a forward call with `keep`. Let dlogits be as in cross_entropy_backward. Writes dx = dlogits weight and
/// dweight = dlogits^T x + dloss * dweight_before; a null output is skipped. All of dweight is written before any of dx, which may be
/// the memory of x.
template <class X>
void linear_cross_entropy_backward(const LinearCrossEntropy<X>& p);

}  // namespace dikkat::kernels
