#pragma once

#include <string_view>

namespace dikkat::schema {

/// A key that only older versions had. It is ignored if its value is an empty string, and in the configuration of a run; otherwise it is
/// refused.
struct RetiredKey {
  std::string_view section;
  std::string_view name;
  std::string_view advice;  // what to do instead
};

/// Returns null if older versions had no such key either.
const RetiredKey* find_retired_key(std::string_view section, std::string_view name);

}  // namespace dikkat::schema
