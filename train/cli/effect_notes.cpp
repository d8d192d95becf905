#include "train/cli/effect_notes.h"

#include <fmt/format.h>

#include "train/cli/streams.h"

namespace dikkat {

void note_keys_without_effect(std::span<const PlannedRun> runs, std::span<const std::string> keys) {
  constexpr int kLabel = 10;
  const std::vector<std::string> idle = keys_without_effect(runs, keys);
  if (idle.empty()) {
    return;
  }
  for (const std::string& sentence : explain_without_effect(runs.front(), idle)) {
    warn(fmt::format("{:<{}}{}", "note", kLabel, sentence), kLabel);
  }
}

}  // namespace dikkat
