#pragma once

#include <string_view>

#include "train/checkpoint/load.h"

namespace dikkat {

/// Selects the weights of a checkpoint to read. `trained` are the raw ones, to resume training. `used` are the moving average, if the run
/// keeps one (optim.ema_decay), otherwise the raw ones.
enum class Weights { used, trained };
/// Reads the f32 parameter at `path`, "model/NAME" or "adapter/NAME", or its average "optimizer/average/NAME". Throws InputError if it is
/// missing or has another shape.
void read_weight(const CheckpointFile& checkpoint, std::string_view path, const Shape& shape, Weights weights, float* out);

}  // namespace dikkat
