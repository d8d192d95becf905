#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "autograd/tape/parameters.h"

namespace dikkat {

/// Parameters with settings of their own: those whose path matches a pattern, or that have a role, or both.
struct ParameterGroup {
  std::string match{};         // of the whole path: * stands for any characters, ? for one, [ab] for one of these; empty: any path
  std::optional<Role> role{};  // absent: any

  // A value that is not set leaves the default.
  std::optional<double> learning_rate{};  // at its peak: the schedule has the same form for all
  std::optional<double> weight_decay{};   // also of parameters of Decay::no
  std::optional<bool> frozen{};

  bool contains(const ParameterStore::Entry& entry) const;
};

/// Freezes what the groups say, before the store is laid out. Where several groups that contain a parameter say so, the last one counts.
void freeze(ParameterStore& store, std::span<const ParameterGroup> groups);

/// How an optimizer treats a parameter.
struct ParameterSettings {
  const ParameterStore::Entry* parameter;
  double rate_factor = 1;  // times the learning rate of the step
  double weight_decay = 0;
};

/// The settings of all trained parameters, in the order of the slab: the learning rate of the step and, for parameters of Decay::yes,
/// `weight_decay`; or what groups say instead. Where several groups set a value for a parameter, the last one counts. `learning_rate` is
/// the schedule's peak, which those of groups are compared with.
std::vector<ParameterSettings> settings_of(const ParameterStore& store, double weight_decay, std::span<const ParameterGroup> groups = {},
                                           double learning_rate = 1);

}  // namespace dikkat
