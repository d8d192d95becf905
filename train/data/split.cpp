#include "train/data/split.h"

#include "autograd/base/error.h"

namespace dikkat {

index training_share(index count, double val_fraction) {
  require_input(val_fraction >= 0 && val_fraction < 1, "data.val_fraction is ", val_fraction, ", expected 0 or more and less than 1");
  return static_cast<index>(static_cast<double>(count) * (1 - val_fraction));
}

}  // namespace dikkat
