#pragma once

#include <string>

#include "train/metrics/run_history.h"

namespace dikkat {

/// Formats the curves of a run as an event file of TensorBoard (events.out.tfevents.*). The file has a TFRecord for each value: a length
/// and data, each with a masked CRC-32C. The data are an Event in protobuf (tensorflow/core/util/event.proto). Tags: loss/train,
/// loss/validation, loss/train_evaluated, loss_of/NAME, grad_norm, learning_rate, tokens_per_s, mfu. Values that are not finite are left
/// out.
std::string to_tensorboard(const RunHistory& history);

}  // namespace dikkat
