#pragma once

#include <string_view>

#include "autograd/base/names.h"

namespace dikkat {

/// The activations that forward does not store and backward computes again (activation checkpointing). The results have the same bits.
enum class Recompute {
  none,
  cheap,  // the feed-forward's activation: the largest tensor of a block, and no matrix product to compute
  block,  // all of a block except its inputs and outputs
};
template <>
struct Names<Recompute> {
  static constexpr std::string_view of[] = {"none", "cheap", "block"};
};

}  // namespace dikkat
