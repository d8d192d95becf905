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
  std::string value;     ///< value as TOML
  bool changed = false;  ///< whether it differs from the default
};

/// The configuration of a run, as a table.
struct ConfigTable {
  std::vector<ConfigRow> rows;  ///< rows in the order of a configuration file
  std::string problem{};        ///< why there are no rows; empty if there are
};

/// Reads the current configuration of a run: RUN_DIR/config.toml, with the changes that `history` records. A run of a program's own loop
/// has no config.toml; then returns the settings in its header.
ConfigTable read_config_table(const std::filesystem::path& run_directory, const RunHistory& history);

}  // namespace dikkat
