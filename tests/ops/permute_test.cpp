// permute() moves squares in registers where it can. Every element must arrive unchanged, in both directions.
#include <vector>

#include <gtest/gtest.h>

#include "autograd/ops/arithmetic.h"
#include "autograd/ops/arrange.h"
#include "autograd/tape/tape.h"

namespace dikkat::permute_test {
namespace {

/// Different numbers, which each type can hold.
template <class T>
std::vector<T> numbers(index count) {
  std::vector<T> values;
  for (index i = 0; i < count; ++i) {
    values.push_back(static_cast<T>(i % 8191 - 4000));
  }
  return values;
}

/// x (batch, rows, columns) with its last axes exchanged `times` times, added up, and the gradient for a dy that is all different.
template <class T>
void check(index batch, index rows, index columns, int times) {
  SCOPED_TRACE(::testing::Message() << batch << " times " << rows << " x " << columns << ", " << times << " times");
  const auto x = numbers<T>(batch * rows * columns), dy = numbers<T>(batch * rows * columns);
  Tape tape;
  const Tensor input = tape.input<T>({batch, rows, columns}, x, true);
  Tensor y = transpose(input);
  for (int i = 1; i < times; ++i) {
    y = add(y, transpose(input));
  }
  tape.backward(y, tape.input<T>({batch, columns, rows}, dy));
  const T* const dx = tape.gradient<T>(input);
  index wrong = 0;
  for (index b = 0; b < batch; ++b) {
    for (index i = 0; i < rows; ++i) {
      for (index j = 0; j < columns; ++j) {
        const auto straight = static_cast<std::size_t>((b * rows + i) * columns + j);
        const auto turned = static_cast<std::size_t>((b * columns + j) * rows + i);
        wrong += y.data<T>()[turned] != static_cast<T>(times) * x[straight] ? 1 : 0;
        wrong += dx[straight] != static_cast<T>(times) * dy[turned] ? 1 : 0;
      }
    }
  }
  EXPECT_EQ(wrong, 0);
}

TEST(Permute, MovesSquaresAndTheirEdges) {
  for (const int times : {1, 2}) {
    for (const index batch : {1, 3}) {
      for (const auto& [rows, columns] : {std::pair<index, index>{16, 16}, {32, 48}, {33, 50}, {5, 100}, {130, 17}}) {
        check<float>(batch, rows, columns, times);
        check<double>(batch, rows, columns, times);
      }
    }
  }
}

}  // namespace
}  // namespace dikkat::permute_test
