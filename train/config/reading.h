#pragma once

#include <string>
#include <string_view>

#include "train/config/schema.h"

namespace dikkat::schema {

/// A value for a key, or a sentence on the problem with it.
struct Reading {
  Value value;
  std::string problem;
};

/// Reads a value without quotes, as on the command line.
Reading read_text(const Setting& key, std::string_view text);
/// Reads a value in TOML syntax.
Reading read_toml(const Setting& key, std::string_view text);

}  // namespace dikkat::schema
