#pragma once

#include <span>
#include <string_view>

namespace dikkat::schema {

/// A key that people bring along from elsewhere.
struct ForeignName {
  std::string_view name;
  std::string_view whose;
  std::string_view ours;  // "section.name"; empty where dikkat has no such key
  std::string_view note;  // what to do or why there is no such key; may be empty where `ours` says it all
};

std::span<const ForeignName> foreign_names();

/// A choice that has another name elsewhere.
struct ForeignChoice {
  std::string_view key;  // "section.name"
  std::string_view name;
  std::string_view ours;
};

std::span<const ForeignChoice> foreign_choices();

}  // namespace dikkat::schema
