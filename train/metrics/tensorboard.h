#pragma once

#include <string>

#include "train/metrics/run_history.h"

namespace dikkat {

/// The curves of a run as a file of TensorBoard's (events.out.tfevents.*): a TFRecord for each value, which has a length and data, each
/// with a masked CRC-32C; the data are an Event in protobuf (tensorflow/core/util/event.proto). Tags: loss/train, loss/validation,
/// loss/train_evaluated, grad_norm, learning_rate, tokens_per_s, mfu. Values that are not finite are left out.
std::string to_tensorboard(const RunHistory& history);

}  // namespace dikkat
