#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "train/metrics/run_history.h"

namespace dikkat {

/// A key of a run's configuration.
struct ConfigRow {
  std::string key;       ///< "model.n_layer"
  std::string value;     ///< as TOML
  bool changed = false;  ///< it differs from the default
};

struct ConfigTable {
  std::vector<ConfigRow> rows;  ///< in the order of a configuration file
  std::string problem{};        ///< why there are none; empty if there are
};

/// The configuration that a run has now: RUN_DIR/config.toml, with what resumes have changed (`history`).
ConfigTable read_config_table(const std::filesystem::path& run_directory, const RunHistory& history);

}  // namespace dikkat
