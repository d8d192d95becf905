#include "autograd/ops/matmul.h"

#include <algorithm>

#include "autograd/base/broadcast.h"
#include "autograd/ops/batched_product.h"

namespace dikkat {
namespace {

/// Returns the first axes of a shape.
Shape leading(const Shape& shape, int axes) { return Shape(shape.extents().first(static_cast<std::size_t>(axes))); }

/// Returns whether the shapes have a common one by NumPy's rules.
bool fit(const Shape& a, const Shape& b) {
  for (int axis = 1; axis <= std::min(a.rank(), b.rank()); ++axis) {
    if (a[-axis] != b[-axis] && a[-axis] != 1 && b[-axis] != 1) {
      return false;
    }
  }
  return true;
}

/// Returns `batch` with the leading axes of both operands, which hold `a_size` and `b_size` elements for each index. Products of adjacent
/// rows of a with one b become one product.
kernels::GemmBatch with_leading(kernels::GemmBatch batch, const Broadcast& leading, index a_size, index b_size) {
  for (int axis = 0; axis < leading.axes(); ++axis) {
    if (leading.extent(axis) != 1) {
      batch.add_axis({.extent = leading.extent(axis),
                      .a = leading.stride(0, axis) * a_size,
                      .b = leading.stride(1, axis) * b_size,
                      .c = leading.whole_stride(axis) * batch.m * batch.n});
    }
  }
  for (; batch.axes > 0; --batch.axes) {
    const kernels::GemmBatch::Axis& inner = batch.at(batch.axes - 1);
    if (inner.b != 0 || inner.a != batch.m * batch.lda || inner.c != batch.m * batch.ldc) {
      break;
    }
    batch.m *= inner.extent;
  }
  return batch;
}

}  // namespace

Tensor matmul(Tensor a, Tensor b, bool transpose_b) {
  const Shape& sa = a.shape();
  const Shape& sb = b.shape();
  const auto refuse = [&] {
    fail("matmul: ", sa, " times ", sb, transpose_b ? " transposed" : "",
         ", expected (..., m, k) times (..., k, n) with leading axes that are equal or 1");
  };
  // Find the sizes of each product.
  if (sa.rank() == 0 || sb.rank() == 0) {
    refuse();
  }
  const bool is_row = sa.rank() == 1, is_column = sb.rank() == 1;
  const index k = sa[-1];
  if ((is_column || transpose_b ? sb[-1] : sb[-2]) != k) {
    refuse();
  }
  if (is_column) {  // each row of a, times b: the same as one row times a transposed, which reads a once
    const Shape shape = leading(sa, sa.rank() - 1);
    const kernels::GemmBatch batch{.m = 1, .n = shape.size(), .k = k, .lda = k, .ldb = k, .ldc = shape.size(), .transpose_b = true};
    return batched_product(Op::matmul, b, a, batch, shape);
  }
  const index m = is_row ? 1 : sa[-2], n = transpose_b ? sb[-2] : sb[-1];
  const std::array<Shape, 2> batches{leading(sa, sa.rank() - (is_row ? 1 : 2)), leading(sb, sb.rank() - 2)};
  if (!fit(batches[0], batches[1])) {
    refuse();
  }
  // Broadcast the leading axes; the result has them, then its rows and columns.
  const Broadcast common("matmul", batches);
  std::array<index, Shape::kMaxRank> extents{};
  auto end = std::copy(common.shape().extents().begin(), common.shape().extents().end(), extents.begin());
  if (!is_row) {
    *end++ = m;
  }
  *end++ = n;
  const kernels::GemmBatch each{.m = m, .n = n, .k = k, .lda = k, .ldb = sb[-1], .ldc = n, .transpose_b = transpose_b};
  return batched_product(Op::matmul, a, b, with_leading(each, common, m * k, n * k), Shape(std::span(extents.begin(), end)));
}

}  // namespace dikkat
