#include "train/model/make_optimizer.h"

#include <algorithm>

#include "optim/adamw.h"
#include "optim/averaged.h"
#include "optim/muon.h"
#include "optim/sgd.h"
#include "train/system/nearest_word.h"

namespace dikkat {
namespace {

/// Returns the three paths that are most similar to the pattern, for messages.
std::string nearest_paths(const ParameterStore& store, const std::string& pattern) {
  std::vector<std::pair<int, std::string_view>> paths;
  for (const ParameterStore::Entry* entry : store.entries()) {
    paths.emplace_back(edit_distance(pattern, entry->path), entry->path);
  }
  std::sort(paths.begin(), paths.end());
  std::string text;
  for (std::size_t i = 0; i < std::min<std::size_t>(paths.size(), 3); ++i) {
    append_to(text, concat(i == 0 ? "" : ", ", paths[i].second));
  }
  return text;
}

/// Returns nullopt for a configuration that was made in code and not resolved.
std::optional<index> steps_of(const OptimConfig& config) {
  return config.muon_steps.is_open() ? std::nullopt : std::optional<index>(config.muon_steps);
}

std::unique_ptr<Optimizer> make_plain(const OptimConfig& config, ParameterStore& store, const NewRows& new_rows) {
  // Require every group to select a parameter.
  for (const ParameterGroup& group : config.groups) {
    const bool holds_any = std::any_of(store.entries().begin(), store.entries().end(),
                                       [&](const ParameterStore::Entry* entry) { return group.contains(*entry); });
    require_input(holds_any, "optim.groups: no parameter ", group.match.empty() ? "" : concat("matches \"", group.match, '"'),
                  group.match.empty() || !group.role ? "" : " and ", group.role ? concat("has the role \"", name_of(*group.role), '"') : "",
                  group.match.empty() ? "" : concat("; similar paths: ", nearest_paths(store, group.match)));
  }
  // Freeze parameters before the layout, which separates the trained ones.
  freeze(store, config.groups);
  store.lay_out();
  require_input(!store.trainable().empty(), "optim.groups freezes all parameters, expected some that are trained");
  // Make the optimizer. Muon updates some parameters by AdamW.
  const AdamW::Options adamw{.beta1 = config.beta1,
                             .beta2 = config.beta2,
                             .eps = config.eps,
                             .weight_decay = config.weight_decay,
                             .cautious_decay = config.cautious_decay};
  auto settings = settings_of(store, config.weight_decay, config.groups, config.learning_rate);
  for (ParameterSettings& one : settings) {
    if (std::ranges::find(new_rows.tables, one.parameter->path) != new_rows.tables.end()) {
      one.rows = {.first = new_rows.first, .last = new_rows.last, .inside = config.new_rows_lr_scale, .outside = config.old_rows_lr_scale};
    }
  }
  switch (config.kind) {
    case OptimizerKind::adamw: return std::make_unique<AdamW>(store, adamw, settings);
    case OptimizerKind::muon:
      return std::make_unique<Muon>(store,
                                    Muon::Options{.momentum = config.muon_momentum,
                                                  .coefficients = config.muon_coefficients,
                                                  .steps = steps_of(config),
                                                  .bf16_products = config.muon_precision == Precision::bf16,
                                                  .beta2 = config.muon_normalize ? std::optional(config.muon_beta2) : std::nullopt,
                                                  .adamw = adamw},
                                    settings);
    case OptimizerKind::sgd:
      return std::make_unique<Sgd>(
          store, Sgd::Options{.momentum = config.sgd_momentum, .nesterov = config.sgd_nesterov, .weight_decay = config.weight_decay},
          settings);
  }
  fail("make_optimizer: unknown kind of optimizer");
}

}  // namespace

std::unique_ptr<Optimizer> make_optimizer(const OptimConfig& config, ParameterStore& store, const NewRows& new_rows) {
  auto optimizer = make_plain(config, store, new_rows);
  return config.ema_decay > 0 ? std::make_unique<Averaged>(std::move(optimizer), store, config.ema_decay) : std::move(optimizer);
}

UpdateSchedule make_schedule(const OptimConfig& config) {
  return {.rate = {.kind = config.schedule,
                   .learning_rate = config.learning_rate,
                   .min_lr = config.min_lr,
                   .warmup_steps = config.warmup_steps,
                   .decay_steps = config.decay_steps,
                   .decay_share = config.decay_share,
                   .decay_form = config.decay_form},
          .weight_decay = config.weight_decay_schedule,
          .momentum = {.start = config.muon_momentum_start,
                       .peak = config.muon_momentum,
                       .end = config.muon_momentum_end,
                       .warmup_steps = config.muon_momentum_warmup_steps}};
}

}  // namespace dikkat
