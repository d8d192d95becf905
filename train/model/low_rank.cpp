#include "train/model/low_rank.h"

#include "autograd/ops/basic.h"
#include "autograd/ops/linear.h"
#include "autograd/tape/tape.h"

namespace dikkat {

void add_product(const LowRank& factors, double scale, float* weight) {
  Tape tape{Recording::off};
  const Tensor a = tape.input<float>({factors.rank, factors.in}, factors.a), b = tape.input<float>({factors.out, factors.rank}, factors.b);
  const Tensor product = dikkat::scale(matmul(b, a), scale);
  const float* more = product.data<float>();
  for (index i = 0; i < product.size(); ++i) {
    weight[i] += more[i];
  }
}

}  // namespace dikkat
