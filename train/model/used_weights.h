#pragma once

#include <string_view>

#include "train/checkpoint/load.h"

namespace dikkat {

/// Which weights of a checkpoint: those that training goes on from; or those that the model is used with, which are their average if the
/// run keeps one (optim.ema_decay).
enum class Weights { used, trained };
/// Reads a parameter of f32, which the checkpoint has as "GROUP/PATH" and, if there is an average, as "optimizer/average/PATH". Throws
/// InputError if it is missing or has another shape.
void read_weight(const CheckpointFile& checkpoint, std::string_view group, std::string_view path, const Shape& shape, Weights weights,
                 float* out);

}  // namespace dikkat
