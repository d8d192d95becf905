#include "train/data/dataset.h"

#include <limits>

#include "autograd/base/error.h"

namespace dikkat {

void Dataset::set_stride(index) { fail_input("a stride needs one stream of text, but the model reads pairs or conversations"); }

double Dataset::targets() const {
  double sum = 0;
  for (index i = 0; evaluation_ && i < evaluation_->count(); ++i) {
    sum += evaluation_->target_weight(i);
  }
  return sum;
}

double Dataset::bytes_per_target() const {
  const double count = targets();
  return count > 0 && size_.predicted_bytes > 0 ? static_cast<double>(size_.predicted_bytes) / count
                                                : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace dikkat
