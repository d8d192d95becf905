#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "autograd/tape/parameters.h"

namespace dikkat {

/// Parameters with common settings: those whose path matches a pattern, or that have a role, or both.
struct ParameterGroup {
  std::string match{};         // pattern of the whole path: * stands for any characters, ? for one, [ab] for one of these; empty: any path
  std::optional<Role> role{};  // absent: any

  // A value that is not set keeps its default.
  std::optional<double> learning_rate{};  // at the peak of the schedule, whose form is the same for all parameters
  std::optional<double> weight_decay{};   // also for parameters of Decay::no
  std::optional<bool> frozen{};

  bool contains(const ParameterStore::Entry& entry) const;
  bool operator==(const ParameterGroup&) const = default;
};

/// Freezes the parameters of groups with `frozen`. If a parameter is in several groups that set `frozen`, the last one counts. Call it
/// before the store is laid out.
void freeze(ParameterStore& store, std::span<const ParameterGroup> groups);

/// Some rows of a matrix, [first, last), and two factors of the learning rate: that of these rows, and that of the others. A row whose
/// factor is 0 does not change.
struct RowRates {
  index first = 0, last = 0;
  double inside = 1, outside = 1;

  bool are_equal() const { return inside == outside; }
  bool operator==(const RowRates&) const = default;
};

/// Describes how an optimizer treats a parameter.
struct ParameterSettings {
  const ParameterStore::Entry* parameter = nullptr;
  double rate_factor = 1;  // times the learning rate of the step
  double weight_decay = 0;
  RowRates rows{};  // further factors of its rows; Muon's matrices do not have them
};

/// Returns the settings of all trained parameters, in the order of the slab. Without a group, a parameter has rate_factor 1, and
/// `weight_decay` if it is one of Decay::yes. Groups override both; if several groups set a value for a parameter, the last one counts.
/// `learning_rate` is the peak of the schedule: a group's learning rate divided by it is rate_factor.
std::vector<ParameterSettings> settings_of(const ParameterStore& store, double weight_decay, std::span<const ParameterGroup> groups = {},
                                           double learning_rate = 1);

}  // namespace dikkat
