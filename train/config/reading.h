#pragma once

#include <string>
#include <string_view>

#include "train/config/schema.h"

namespace dikkat::schema {

/// A value for a key, or a sentence on why there is none.
struct Reading {
  Value value;
  std::string problem;
};

/// From bare text, as the command line has it.
Reading read_text(const Setting& key, std::string_view text);
/// From a value as TOML writes it.
Reading read_toml(const Setting& key, std::string_view text);

/// "KEY is GIVEN, expected WHAT", with advice where there is any.
std::string mismatch(const Setting& key, std::string_view given, std::string_view advice = "");

}  // namespace dikkat::schema
