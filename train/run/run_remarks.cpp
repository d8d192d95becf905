#include "train/run/run_remarks.h"

#include <algorithm>

#include "autograd/base/error.h"
#include "train/config/parse.h"
#include "train/config/resolve.h"
#include "train/config/schema.h"
#include "train/model/make_optimizer.h"
#include "train/run/build_info.h"
#include "train/system/file.h"
#include "train/system/folder.h"

namespace dikkat {
namespace {

/// Remarks on a wsd schedule whose end has moved: the rate that it returns to, and where it decays now.
std::string remark_on_stable_rate(const Schedule& before, const Schedule& now, index step) {
  const std::string rate = step > before.decay_begin() && now(step) != before(step)
                               ? concat("the learning rate returns from ", before(step), " to ", now(step), " at step ", step)
                               : concat("the learning rate stays at ", now.learning_rate);
  const index begin = std::max(now.decay_begin(), step);
  return concat(rate, ", and decays from step ", begin, " to ", now.min_lr, " at step ", now.decay_steps, " (optim.schedule = \"wsd\")");
}

}  // namespace

std::string remark_on_warmup(const Config& config) {
  const index warmup = config.optim.warmup_steps;
  const index steps = config.train.max_steps;
  return warmup < steps ? ""
                        : concat("the run ends before its warm-up does (optim.warmup_steps = ", warmup, ", train.max_steps = ", steps,
                                 "): the learning rate never reaches optim.learning_rate");
}

std::string remark_on_kernels(const TrainingState& state) {
  const std::string& now = build_info().instruction_set;
  return state.instruction_set.empty() || state.instruction_set == now
             ? ""
             : concat("this machine runs ", now, " kernels, the checkpoint was made with ", state.instruction_set,
                      ": results will differ in the last bits");
}

std::string remark_on_edits(const std::filesystem::path& file, const Config& stored, const Config& now) {
  std::string list;
  if (!is_there(file) || !is_file(file)) {
    return "";
  }
  try {
    Config written = load_config(file, stored);
    resolve(written);
    for (const std::string_view section : schema::sections()) {
      const auto differs_from_now = differences(now, written, section);
      for (const ConfigDifference& difference : differences(stored, written, section)) {
        if (std::ranges::find(differs_from_now, difference.path, &ConfigDifference::path) != differs_from_now.end()) {
          append_to(list, concat(list.empty() ? "" : ", ", difference.path, " = ", difference.theirs));
        }
      }
    }
  } catch (const Error& error) {
    return concat(error.what(), "; it has no effect");
  }
  return list.empty() ? "" : concat(file.string(), " says ", list, ", which has no effect");
}

std::vector<ConfigDifference> changes_between(const Config& stored, const Config& now) {
  std::vector<ConfigDifference> changes;
  for (const std::string_view section : schema::sections()) {
    std::ranges::move(differences(stored, now, section), std::back_inserter(changes));
  }
  return changes;
}

std::vector<std::string> remarks_on_changes(const std::vector<ConfigDifference>& changes, const Config& stored, const Config& now,
                                            index step) {
  std::vector<std::string> remarks;
  for (const ConfigDifference& key : changes) {
    remarks.push_back(concat("changed: ", key.path, " is ", key.theirs, ", was ", key.ours));
  }
  if (changes.empty()) {
    return remarks;
  }
  if (const std::string remark = remark_on_warmup(now); !remark.empty()) {
    remarks.push_back(remark);
    return remarks;
  }
  const OptimConfig& optim = now.optim;
  if (optim.schedule == Schedule::Kind::wsd && step > 0 && *optim.decay_steps > *stored.optim.decay_steps) {
    remarks.push_back(remark_on_stable_rate(make_schedule(stored.optim).rate, make_schedule(optim).rate, step));
  }
  if (const index decay_steps = optim.decay_steps;
      ends_at_min_lr(optim.schedule) && now.train.max_steps > std::max(stored.train.max_steps, decay_steps)) {
    remarks.push_back(concat("steps after ", std::max(decay_steps, optim.warmup_steps),
                             " train at the lowest learning rate, optim.min_lr = ", double{optim.min_lr},
                             ": the schedule ends there (optim.decay_steps)"));
  }
  return remarks;
}

}  // namespace dikkat
