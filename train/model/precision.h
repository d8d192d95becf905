#pragma once

#include <string>

#include "autograd/base/dtype.h"
#include "train/config/config.h"

namespace dikkat {

/// Replaces train.precision = "auto" by f32 or bf16, and optim.muon_precision = "auto" by the same value. Returns the reason for
/// train.precision; empty if it was set. Throws InputError for bf16 if this build has no instruction for it, unless train.emulate_bf16 is
/// set.
std::string settle_precision(Config& config);

/// Returns the type that matrix products read (Pass::operands). The precision must not be "auto".
DType operand_type(const TrainConfig& config);

}  // namespace dikkat
