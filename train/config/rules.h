#pragma once

#include "train/config/schema.h"

// Short names for the rules of keys. This header is private to the schema.
namespace dikkat::schema {

constexpr Rule anything() { return {}; }
constexpr Rule at_least(double low) { return {.range = {.low = low}}; }
constexpr Rule between(double low, double high) { return {.range = {.low = low, .high = high}}; }
constexpr Rule from_to_below(double low, double high) { return {.range = {.low = low, .high = high, .high_open = true}}; }
constexpr Rule above_to(double low, double high) { return {.range = {.low = low, .high = high, .low_open = true}}; }
constexpr Rule one_of(std::span<const std::string_view> choices) { return {.choices = choices}; }
constexpr Rule not_empty() { return {.not_empty = true}; }

}  // namespace dikkat::schema
