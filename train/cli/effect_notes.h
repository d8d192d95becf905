#pragma once

#include <span>
#include <string>

#include "train/config/key_effect.h"

namespace dikkat {

/// Warns of the keys ("section.key", given by the user) that have no effect in any of the runs: one line for each reason.
void note_keys_without_effect(std::span<const PlannedRun> runs, std::span<const std::string> keys);
inline void note_keys_without_effect(const PlannedRun& run, std::span<const std::string> keys) {
  note_keys_without_effect(std::span(&run, 1), keys);
}

}  // namespace dikkat
