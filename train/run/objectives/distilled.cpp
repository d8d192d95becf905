#include "train/run/objectives/distilled.h"

namespace dikkat {

Tensor DistilledObjective::loss(Pass& pass, const Batch& batch, PassReport&) {
  return model_.loss(pass, batch, batch.step_weight, label_smoothing_, nullptr, teacher_->on(pass.tape, batch));
}

}  // namespace dikkat
