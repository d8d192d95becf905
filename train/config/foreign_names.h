#pragma once

#include <span>
#include <string_view>

namespace dikkat::schema {

/// The name of a key in another program's configuration.
struct ForeignName {
  std::string_view name;
  std::string_view whose;
  std::string_view ours;  // "section.name"; empty if dikkat has no such key
  std::string_view note;  // advice, or why there is no such key; may be empty if `ours` is enough
};

std::span<const ForeignName> foreign_names();

/// The name of a choice in another program's configuration.
struct ForeignChoice {
  std::string_view key;  // "section.name"
  std::string_view name;
  std::string_view ours;
};

std::span<const ForeignChoice> foreign_choices();

}  // namespace dikkat::schema
