#pragma once

#include <string>
#include <vector>

#include "train/config/override.h"
#include "train/config/parse.h"
#include "train/config/resolve.h"
#include "train/machine/random_step.h"

namespace dikkat::bench {

/// Loads a configuration file with overrides. `vocab_size` is used if the configuration leaves the size to a tokenizer.
inline Config load_model_config(const std::string& file, const std::vector<std::string>& assignments, index vocab_size) {
  Config c = load_config(file);
  for (const std::string& assignment : assignments) {
    apply_override(c, assignment);
  }
  if (c.model.vocab_size.is_open()) {
    c.model.vocab_size = vocab_size;
  }
  resolve(c);
  validate(c);
  return c;
}

}  // namespace dikkat::bench
