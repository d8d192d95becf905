#include "train/loop/training_run.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include <fmt/format.h>

#include "optim/clip.h"
#include "train/config/parse.h"
#include "train/io/file.h"
#include "train/loop/build_info.h"
#include "train/loop/loss_watch.h"
#include "train/loop/make_optimizer.h"
#include "train/loop/training_snapshot.h"
#include "train/machine/machine_memory.h"
#include "train/machine/out_of_memory.h"
#include "train/model/model_flops.h"

namespace dikkat {
namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

Schedule schedule_of(const OptimConfig& c) {
  return {.kind = c.schedule == "constant"       ? Schedule::Kind::constant
                  : c.schedule == "linear"       ? Schedule::Kind::linear
                  : c.schedule == "inverse_sqrt" ? Schedule::Kind::inverse_sqrt
                                                 : Schedule::Kind::cosine,
          .learning_rate = c.learning_rate,
          .min_lr = c.min_lr,
          .warmup_steps = c.warmup_steps,
          .decay_steps = c.decay_steps};
}

LossWatch watch_of(const TrainingState& state) {
  return {.count = state.losses_watched, .mean = state.loss_mean, .variance = state.loss_variance};
}

constexpr const char* kAdvice =
    "go on from it with another optim.learning_rate, optim.warmup_steps or optim.grad_clip (dikkat resume --set)";

/// Without the sign that a NaN may have.
std::string shown(double value) { return std::isnan(value) ? "NaN" : concat(value); }

}  // namespace

TrainingRun::TrainingRun(Config c, TrainingData d, std::uint64_t seed)
    : config(std::move(c)),
      data(std::move(d)),
      model(config.model, data.tokenizer->vocab_size()),
      loader(*data.training, seed),
      schedule(schedule_of(config.optim)),
      evaluator(model) {
  config.model.vocab_size.derive(model.vocab_size());
  config_text = to_toml(config);
  state.seed = seed;
  state.corpus_fingerprint = data.fingerprint;
  state.train_tokens = data.train.tokens;
  state.val_tokens = data.validation.tokens;
  record_build();
  losses.reserve(static_cast<std::size_t>(config.train.gradient_accumulation_steps));
}

void TrainingRun::record_build() {
  const BuildInfo& info = build_info();
  state.program_version = info.version;
  state.compiler = info.compiler;
  state.compiler_flags = info.flags;
  state.instruction_set = info.instruction_set;
}

void TrainingRun::reserve() {
  optimizer = make_optimizer(config.optim, model.parameters());
  require_fits(plan_parameters(model.parameters(), *optimizer, config.train), machine_memory());
  model.parameters().reserve();
  optimizer->reserve();
  memory = reserve_memory({.config = config,
                           .data = data,
                           .model = model,
                           .optimizer = *optimizer,
                           .tape = tape,
                           .evaluator = evaluator,
                           .longest = loader.longest(),
                           .evaluated = evaluates() ? evaluated_samples() : 0});
}

void TrainingRun::allocate() {
  naming_memory("making the model", [&] {
    reserve();
    model.parameters().initialise(state.seed);
  });
}

Trial TrainingRun::try_out(index steps) {
  model.parameters().initialise(state.seed);
  Prefetcher batches(loader, 0, config.train.batch_size, config.train.gradient_accumulation_steps);
  TrainingEvents nobody;
  Trial trial;
  for (index i = 0; i < steps; ++i) {
    trial.steps.push_back(step(batches, nobody));
  }
  if (evaluates()) {
    trial.evaluation_seconds =
        evaluator.estimate(*data.validation.samples, evaluated_samples()) + evaluator.estimate(*data.train.samples, evaluated_samples());
  }
  trial.peak = process_memory().peak;
  return trial;
}

index TrainingRun::evaluated_samples() const {
  const index chosen = config.train.eval_batches * config.train.batch_size;
  return chosen == 0 ? data.validation.samples->count() : chosen;
}

Snapshot TrainingRun::snapshot() {
  return training_snapshot(state, config_text, data.tokenizer->to_json(), model.parameters(), *optimizer);
}

Trainer::Outcome TrainingRun::go_on(TrainingEvents& events, const std::function<bool()>& stop) {
  if (config.train.async_save) {
    naming_memory("saving", [&] { saver.emplace(directory->checkpoints_path()); });
  }
  const Trainer::Outcome outcome = steps(events, stop);
  collect(events, true);
  if (saved_step != state.step) {
    save(events, IfFailed::end);  // it was stopped after a save that failed, and that it went on without
    collect(events, true);
  }
  saver.reset();
  return outcome;
}

Trainer::Outcome TrainingRun::steps(TrainingEvents& events, const std::function<bool()>& stop) {
  if (saved_step < 0) {
    save(events, IfFailed::end);  // so that there is something to go on from, whenever it ends
  }
  if (state.evaluation_pending && !evaluate(events, stop)) {
    return Trainer::Outcome::stopped;
  }
  Prefetcher batches(loader, state.samples_seen, config.train.batch_size, config.train.gradient_accumulation_steps);
  while (state.step < config.train.max_steps) {
    const StepReport report = naming_memory("training step", [&] { return step(batches, events); });
    attempt(events, IfFailed::as_configured, [&] { metrics->write(report); });
    events.stepped(report);
    collect(events, false);

    const bool last = state.step == config.train.max_steps;
    const bool stopping = stop();
    state.evaluation_pending = evaluates() && (last || due(config.train.eval_interval));
    if (last || stopping || state.evaluation_pending || due(config.train.checkpoint_interval)) {
      // Before the evaluation: a finished step is never lost to one that fails.
      save(events, last || stopping ? IfFailed::end : IfFailed::as_configured);
    }
    if (stopping) {
      return Trainer::Outcome::stopped;
    }
    if (state.evaluation_pending && !evaluate(events, stop)) {
      return Trainer::Outcome::stopped;
    }
  }
  return Trainer::Outcome::finished;
}

/// One update of the weights, from gradient_accumulation_steps batches that count as one.
StepReport TrainingRun::step(Prefetcher& batches, TrainingEvents& events) {
  const auto start = std::chrono::steady_clock::now();
  if (profile != nullptr) {
    profile->step_begins();
  }
  const index micro_batches = config.train.gradient_accumulation_steps;
  const index rows = config.train.batch_size;

  StepReport report{.step = state.step + 1, .learning_rate = schedule(state.step)};
  double flops = 0;
  const auto next_batch = [&]() -> const Batch& {
    const Profile::Piece piece(profile, "waiting for batches");
    return batches.next();
  };
  losses.clear();
  for (index micro = 0; micro < micro_batches; ++micro) {
    const Batch& batch = next_batch();
    flops += training_flops(model, batch);
    Pass pass{.tape = tape,
              .training = true,
              .seed = state.seed,
              .step = static_cast<std::uint64_t>(state.step),
              .first_sequence = micro * rows,
              .recompute = recompute_of(config.train)};
    const Tensor loss = model.loss(pass, batch, batch.step_weight, config.train.label_smoothing);
    report.tokens = static_cast<index>(batch.step_weight);
    losses.push_back(static_cast<double>(*loss.data<float>()));
    report.loss += losses.back();
    tape.backward(loss);
    tape.reset();
    if (batch.lengths == loader.longest()) {
      tape.freeze();  // no batch of the run is larger
    }
  }
  {
    const Profile::Piece piece(profile, "norm of the gradient",
                               {.bytes = static_cast<double>(model.parameters().trainable_size()) * sizeof(float)});
    report.gradient_norm = gradient_norm(model.parameters());
  }
  if (std::string objection = objection_to(report); !objection.empty()) {
    skip_or_fail(report, objection, events);
    report.skipped = true;
  } else {
    apply(report, events);
  }

  ++state.step;
  state.samples_seen += rows * micro_batches;
  state.tokens_seen += report.tokens;
  state.epoch = state.samples_seen / loader.epoch_size();
  report.seconds = seconds_since(start);
  const double rate = flops / report.seconds;
  if (rate > gemm_rate) {
    gemm_rate = std::max(rate, measure_gemm_rate());
  }
  report.mfu = rate / gemm_rate;
  if (profile != nullptr) {
    profile->step_ends(report.seconds);
  }
  return report;
}

std::string TrainingRun::objection_to(const StepReport& report) const {
  if (!std::isfinite(report.loss) || !std::isfinite(report.gradient_norm)) {
    return concat("the loss is ", shown(report.loss), " and the gradient's norm ", shown(report.gradient_norm));
  }
  const LossWatch watch = watch_of(state);
  if (const double z = watch.z_score(report.loss); config.train.spike_z > 0 && z > config.train.spike_z) {
    return concat("the loss is ", fmt::format("{:.4f}, {:.1f}", report.loss, z), " standard deviations above the ",
                  fmt::format("{:.4f}", watch.mean), " of the steps before (train.spike_z is ", config.train.spike_z, ")");
  }
  return "";
}

void TrainingRun::apply(const StepReport& report, TrainingEvents& events) {
  LossWatch watch = watch_of(state);
  watch.take(report.loss);
  state.losses_watched = watch.count;
  state.loss_mean = watch.mean;
  state.loss_variance = watch.variance;

  bool finite = true;
  {
    const Profile::Piece piece(profile, optimizer->name(), optimizer->cost());
    finite =
        optimizer->step(report.step - state.steps_skipped, report.learning_rate, clip_factor(report.gradient_norm, config.optim.grad_clip));
  }
  if (!finite) {
    collect(events, true);
    fail("step ", report.step, ": ", first_not_finite(model.parameters(), *optimizer).tensor,
         " is not finite after the update, which is not saved. ", last_good(), "; ", kAdvice);
  }
}

void TrainingRun::skip_or_fail(const StepReport& report, const std::string& objection, TrainingEvents& events) {
  collect(events, true);  // the last good checkpoint may be in the making
  const NotFinite found = first_not_finite(model.parameters(), *optimizer);
  const std::string reason = found.tensor.empty() ? objection : concat(objection, " (", found.tensor, " is not finite)");
  require(directory.has_value(), "step ", report.step, ": ", reason);  // of a trial, which writes nothing
  std::string batch;
  try {
    directory->require_held();
    batch = concat("its batch is in ", write_bad_step(directory->path(), {.report = report, .reason = reason, .losses = losses}, loader,
                                                      state.samples_seen, config.train.batch_size, *data.tokenizer)
                                           .string());
  } catch (const Error& error) {
    batch = error.what();
  }
  const std::string what = concat("step ", report.step, ": ", reason, "; the update was not applied; ", batch);
  const bool may_skip = config.train.on_nonfinite == "skip" && (found.tensor.empty() || found.in_gradients);
  if (may_skip && state.steps_skipped < config.train.max_skipped) {
    ++state.steps_skipped;
    model.parameters().clear_gradients();
    events.skipped(concat(what, "; skipped, number ", state.steps_skipped, " of at most ", config.train.max_skipped));
    return;
  }
  fail(what, ". ", may_skip ? concat(state.steps_skipped, " steps were skipped before (train.max_skipped). ") : "", last_good(), "; ",
       kAdvice, found.in_gradients && !may_skip ? ", or leave such steps out with train.on_nonfinite=skip" : "");
}

/// Where a run can go on that has come to an end with an error.
std::string TrainingRun::last_good() const {
  const auto newest = directory->newest();
  return newest ? concat("The last good checkpoint is ", newest->path.string()) : "There is no checkpoint";
}

/// What writes: where it fails the run ends, or this is told and the run goes on, as train.on_failed_save says.
void TrainingRun::attempt(TrainingEvents& events, IfFailed if_failed, const std::function<void()>& write) {
  try {
    naming_memory("saving", write);
  } catch (const Error& error) {
    if (if_failed == IfFailed::end || config.train.on_failed_save == "stop") {
      throw;
    }
    events.write_failed(error.what());
  }
}

void TrainingRun::save(TrainingEvents& events, IfFailed if_failed) {
  collect(events, true);  // one after another
  if_save_failed = if_failed;
  attempt(events, if_failed, [&] {
    directory->require_held();
    if (saver) {
      saver->start(snapshot());
    } else {
      take(save_checkpoint(directory->checkpoints_path(), snapshot()), events);
    }
  });
}

/// Takes what has been saved while training went on; `wait`: when it is done.
void TrainingRun::collect(TrainingEvents& events, bool wait) {
  attempt(events, if_save_failed, [&] {
    if (const auto saved = saver ? saver->collect(wait) : std::nullopt) {
      take(*saved, events);
    }
  });
}

void TrainingRun::take(const SavedCheckpoint& saved, TrainingEvents& events) {
  saved_step = saved.step();
  directory->retain(saved, config.train.keep_last, state.best_step);
  events.saved(saved);
}

bool TrainingRun::evaluate(TrainingEvents& events, const std::function<bool()>& stop) {
  const auto start = std::chrono::steady_clock::now();
  const SampleChoice choice{.count = evaluated_samples(), .seed = state.seed, .draw = static_cast<std::uint64_t>(state.step)};
  const auto look_at = [&](const Samples& text, double share_before) {
    return naming_memory("evaluation",
                         [&] { return evaluator(text, choice, stop, [&](double done) { events.evaluating(share_before + done / 2); }); });
  };
  const auto val = look_at(*data.validation.samples, 0);
  const auto train = val ? look_at(*data.train.samples, 0.5) : std::nullopt;
  if (!train) {
    return false;
  }
  collect(events, true);  // the best checkpoint is one that is there
  EvaluationReport report{.step = state.step,
                          .train_loss = train->loss,
                          .val_loss = val->loss,
                          .val_standard_error = val->standard_error,
                          .seconds = seconds_since(start)};
  attempt(events, IfFailed::as_configured, [&] { report.best = take(report); });
  attempt(events, IfFailed::as_configured, [&] { metrics->write(report); });
  events.evaluated(report);
  return true;
}

bool TrainingRun::take(const EvaluationReport& report) {
  state.evaluation_pending = false;
  if (!(report.val_loss < state.best_val_loss) || saved_step != report.step) {
    return false;  // no better, or not saved (train.on_failed_save)
  }
  directory->record_best(report.step);
  state.best_val_loss = report.val_loss;
  state.best_step = report.step;
  return true;
}

}  // namespace dikkat
