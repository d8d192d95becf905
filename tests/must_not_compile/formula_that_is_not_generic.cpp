// expect error: generic lambda
#include "autograd/ops/elementwise.h"

dikkat::Tensor doubled(dikkat::Tensor x) {
  return dikkat::elementwise([](double v) { return 2 * v; }, x);
}
