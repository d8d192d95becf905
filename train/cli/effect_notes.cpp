#include "train/cli/effect_notes.h"

#include "train/cli/terminal/streams.h"

namespace dikkat {

void note_keys_without_effect(std::span<const PlannedRun> runs, std::span<const std::string> keys) {
  const std::vector<std::string> idle = keys_without_effect(runs, keys);
  if (idle.empty()) {
    return;
  }
  for (const std::string& sentence : explain_without_effect(runs.front(), idle)) {
    warn_labeled("note", sentence);
  }
}

}  // namespace dikkat
