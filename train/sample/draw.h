#pragma once

#include <span>

#include "autograd/base/index.h"

namespace dikkat {

/// Draws an id from softmax(logits / temperature) over the top_k likeliest ids (0: all), by `uniform` in [0, 1).
/// Temperature 0 gives the likeliest. Equal logits count as likelier the lower the id.
index draw_token(std::span<const float> logits, double temperature, index top_k, double uniform);

}  // namespace dikkat
