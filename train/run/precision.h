#pragma once

#include <string>

#include "autograd/base/dtype.h"
#include "train/config/config.h"

namespace dikkat {

/// Replaces train.precision = "auto" by f32 or bf16. Throws InputError for bf16 if this build has no instruction for it, unless
/// train.emulate_bf16 is set. Returns why auto took what it took; empty if it was not auto.
std::string settle_precision(TrainConfig& config);

/// What matrix products read (Pass::operands), by a settled configuration.
DType operand_type(const TrainConfig& config);

}  // namespace dikkat
