#include "optim/parameter_group.h"

#include <fnmatch.h>

namespace dikkat {

bool ParameterGroup::contains(const ParameterStore::Entry& entry) const {
  return (match.empty() || ::fnmatch(match.c_str(), entry.path.c_str(), 0) == 0) && (!role || *role == entry.role);
}

void freeze(ParameterStore& store, std::span<const ParameterGroup> groups) {
  for (const ParameterStore::Entry* entry : store.entries()) {
    bool frozen = false;
    for (const ParameterGroup& group : groups) {
      frozen = group.contains(*entry) ? group.frozen.value_or(frozen) : frozen;
    }
    if (frozen) {
      store.freeze(entry->path);
    }
  }
}

std::vector<ParameterSettings> settings_of(const ParameterStore& store, double weight_decay, std::span<const ParameterGroup> groups,
                                           double learning_rate) {
  std::vector<ParameterSettings> all;
  for (const ParameterStore::Entry* entry : store.trainable()) {
    ParameterSettings settings{.parameter = entry, .weight_decay = entry->decay == Decay::yes ? weight_decay : 0};
    for (const ParameterGroup& group : groups) {
      if (group.contains(*entry)) {
        settings.rate_factor = group.learning_rate ? *group.learning_rate / learning_rate : settings.rate_factor;
        settings.weight_decay = group.weight_decay.value_or(settings.weight_decay);
      }
    }
    all.push_back(settings);
  }
  return all;
}

}  // namespace dikkat
