#include "train/sweep/late_keys.h"

#include <algorithm>

namespace dikkat {
namespace {

constexpr std::string_view kRegularises[] = {"model.dropout",
                                             "lora.dropout",
                                             "lora.decay",
                                             "optim.weight_decay",
                                             "optim.weight_decay_schedule",
                                             "optim.cautious_decay",
                                             "optim.ema_decay",
                                             "train.label_smoothing",
                                             "train.quantize",
                                             "train.quantize_share"};
constexpr std::string_view kShapesTheEnd[] = {
    "optim.schedule",   "optim.min_lr",       "optim.min_lr_share",      "optim.decay_steps",          "optim.decay_share",
    "optim.decay_form", "optim.warmup_steps", "optim.muon_momentum_end", "train.accumulation_schedule"};

}  // namespace

bool acts_late(std::string_view key) {
  return std::ranges::find(kRegularises, key) != std::end(kRegularises) || std::ranges::find(kShapesTheEnd, key) != std::end(kShapesTheEnd);
}

}  // namespace dikkat
