#include "train/run/trainer.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <limits>

#include <fmt/format.h>

#include "autograd/base/seconds_since.h"
#include "autograd/kernels/optimizer/adamw.h"
#include "optim/clip.h"
#include "optim/not_finite.h"
#include "train/model/model_flops.h"
#include "train/model/precision.h"
#include "train/run/build_info.h"
#include "train/run/loss_watch.h"
#include "train/run/own_provenance.h"
#include "train/system/machine_memory.h"
#include "train/system/out_of_memory.h"
#include "train/system/sha256.h"

namespace dikkat {
namespace {

constexpr const char* kAdvice =
    "resume from it with another optim.learning_rate, optim.warmup_steps or optim.grad_clip (dikkat resume --set)";

}  // namespace

void Trainer::set_profile(Profile* profile) {
  clock_.set_profile(profile);
  tape_.observe(profile);
}

Trainer::Outcome Trainer::run(TrainingEvents& events, const std::function<bool()>& stop) {
  try {
    require_same_run();
  } catch (const Error&) {
    if (record_.saved_step() < 0) {  // start() has just made the folder, with nothing in it
      discard();
    }
    throw;
  }
  record_.begin(events, header(), std::exchange(resumed_.changes, {}));
  record_.agree();
  const Outcome outcome = train_with_advice(events, stop);

  record_.await_save(events);
  record_.agree();
  if (record_.saved_step() != state_.step) {  // an earlier save failed, and the run was stopped before the next one
    save(events, IfFailed::end);
    record_.await_save(events);
  }
  record_.end_saves();
  if (outcome == Outcome::stopped) {
    record_.log(events, "stop", state_.step, MetricsLog::Fields{{"reason", events.stopped()}});
  } else {
    record_.log(events, "finish", state_.step);
  }
  return outcome;
}

void Trainer::require_same_run() {
  const BuildInfo& info = build_info();
  ranks_->require_same("program", [&] { return concat(info.version, ", ", info.compiler, ", ", info.flags, ", ", info.instruction_set); });
  ranks_->require_same("corpus", [&] { return state_.corpus_fingerprint; });
  ranks_->require_same("configuration", [&] { return to_hex(sha256(to_toml(config_))); });
  // Another C library, for example, draws other initial weights.
  ranks_->require_same("sum of the weights' squares", [&] {
    const ParameterStore& parameters = model_.parameters();
    return fmt::format("{}", kernels::sum_of_squares(parameters.trainable_size(), parameters.weights<float>()));
  });
}

RunHeader Trainer::header() const {
  return {.provenance = own_provenance(),
          .step = state_.step,
          .parameters = model_.parameters().parameter_count(),
          .tokenizer = std::string(data_.tokenizer->kind()),
          .vocab_size = data_.tokenizer->vocab_size(),
          .train_tokens = data_.train_tokens(),
          .val_tokens = data_.validation_tokens(),
          .corpus = state_.corpus_fingerprint,
          .bytes_per_token = data_.tokenizer->is_lossless() ? data_.bytes_per_target() : std::numeric_limits<double>::quiet_NaN()};
}

/// Trains. The message of an error that only this rank knows of names the checkpoint from which the run can be resumed.
Trainer::Outcome Trainer::train_with_advice(TrainingEvents& events, const std::function<bool()>& stop) {
  try {
    return train_steps(events, stop);
  } catch (const ExitQuietly&) {
    throw;
  } catch (const RankTimeout& timeout) {
    try {
      record_.await_save(events);
    } catch (const Error& error) {
      events.write_failed(error.what());
    }
    fail(timeout.what(), record_.advice());
  } catch (const Error& failure) {
    if (ranks_->is_first()) {
      throw;
    }
    fail(failure.what(), record_.advice());
  }
}

Trainer::Outcome Trainer::train_steps(TrainingEvents& events, const std::function<bool()>& stop) {
  if (record_.saved_step() < 0) {
    save(events, IfFailed::end);  // so that the run can be resumed whenever it ends
  }
  // Prepare the objective, and make an evaluation that is still pending.
  if (!prepare_objective(events, stop)) {
    return Outcome::stopped;
  }
  if (state_.evaluation_pending && !evaluate(events, stop)) {
    return Outcome::stopped;
  }
  // Train, one update at a time.
  const std::unique_ptr<Batches> batches = this->batches();
  while (!finished()) {
    const StepReport report = naming_memory("training step", [&] { return step(*batches, events); });
    record_.log(events, report);
    events.stepped(report);
    record_.collect_save(events);

    // Save and evaluate when they are due.
    const bool last = state_.step == config_.train.max_steps;
    const bool stopping = ranks_->any(stop());
    state_.evaluation_pending = evaluates() && (last || due(config_.train.eval_interval));
    if (last || stopping || state_.evaluation_pending || due(config_.train.checkpoint_interval)) {
      // Saves before it evaluates: a finished step is never lost to an evaluation that fails.
      save(events, last || stopping ? IfFailed::end : IfFailed::as_configured);
    }
    if (stopping) {
      return Outcome::stopped;
    }
    if (state_.evaluation_pending && !evaluate(events, stop)) {
      return Outcome::stopped;
    }
  }
  return Outcome::finished;
}

/// Computes what the objective must know before the first step. Returns false if the run was stopped.
bool Trainer::prepare_objective(TrainingEvents& events, const std::function<bool()>& stop) {
  return objective_->prepare({.ranks = *ranks_,
                              .directory = record_.is_open() ? &record_.directory() : nullptr,
                              .stop = [&] { return ranks_->any(stop()); },
                              .progress = [&](double done) { events.preparing(objective_->preparation(), done); }});
}

bool Trainer::out_of_patience() const {
  const index interval = config_.train.eval_interval;
  return config_.train.patience > 0 && evaluates() && state_.best_step >= 0 && !state_.evaluation_pending &&
         state_.step / interval - state_.best_step / interval >= config_.train.patience;
}

void Trainer::save(TrainingEvents& events, IfFailed if_failed) {
  record_.await_save(events);
  parallel_step_->gather_state();
  record_.save(events, if_failed);
  parallel_step_->release_foreign_state();
}

std::unique_ptr<Batches> Trainer::batches() const {
  return objective_->batches(course_.batches(state_, config_.train.batch_size, *ranks_));
}

/// Makes one update of the weights. The step's micro-batches count as one batch, and ranks share them.
StepReport Trainer::step(Batches& batches, TrainingEvents& events) {
  StepReport report{.step = state_.step + 1, .learning_rate = course_.schedule.rate(state_.step)};
  make_passes(batches, report);
  report.gradient_norm = gradient_norm();

  // Apply the update, unless something is wrong with the loss or the gradient.
  if (const std::string objection = objection_to(report, state_, config_.train.spike_z); objection.empty()) {
    apply(report, events);
  } else {
    skip_or_fail(report, objection, events);
  }
  state_.samples_seen += config_.train.batch_size * course_.accumulation(state_.step);
  state_.tokens_seen += report.tokens;
  state_.epoch = state_.samples_seen / course_.loader.epoch_size();
  ++state_.step;
  clock_.end_step(report);
  return report;
}

/// Runs forward and backward of this rank's micro-batches. During the last one, ranks exchange gradients.
void Trainer::make_passes(Batches& batches, StepReport& report) {
  const index passes = course_.accumulation(state_.step);
  const index own_passes = parallel_step_->count(passes), first = parallel_step_->first(passes);
  passes_.begin(passes);
  clock_.begin_step(own_passes);
  WeightView::Shown shown = weights_->for_passes(state_.step);
  for (index i = 0; i < own_passes && clock_.has_time(); ++i) {
    parallel_step_->begin_pass(i, passes);
    const Batch& batch = next(batches);
    const Tensor loss = loss_of(batch, first + i);
    report.tokens = static_cast<index>(batch.step_weight);
    tape_.backward(loss);
    tape_.reset();
    if (batch.lengths == course_.loader.longest()) {
      tape_.freeze();  // no batch of the run is larger
      objective_->freeze();
    }
    parallel_step_->end_pass(i, passes);
    clock_.end_pass(training_flops(model_, batch));
  }
  shown.end();
  passes_.add(*parallel_step_, *ranks_, clock_.end_passes(parallel_step_->take_exchange_seconds()), report);
}

const Batch& Trainer::next(Batches& batches) const {
  const Profile::Piece piece = clock_.piece("waiting for batches");
  return batches.next();
}

/// Runs the forward pass, and notes what it reports. Returns the scalar to call backward() on.
Tensor Trainer::loss_of(const Batch& batch, index pass_of_step) {
  Pass pass{.tape = tape_,
            .training = true,
            .seed = state_.seed,
            .step = static_cast<std::uint64_t>(state_.step),
            .first_sequence = pass_of_step * config_.train.batch_size,
            .recompute = config_.train.recompute,
            .operands = operand_type(config_.train)};
  PassReport report = passes_.report(pass_of_step);
  const Tensor root = objective_->loss(pass, batch, report);
  passes_.set_loss(pass_of_step, report.loss ? *report.loss : static_cast<double>(*root.data<float>()));
  return root;
}

double Trainer::gradient_norm() {
  const auto bytes = static_cast<double>(model_.parameters().trainable_size()) * sizeof(float);
  const Profile::Piece piece = clock_.piece("norm of the gradient", {.bytes = bytes});
  return parallel_step_->gradient_norm();
}

void Trainer::apply(StepReport& report, TrainingEvents& events) {
  add_loss(state_, report.loss);
  Update update = course_.schedule.at(state_.step);
  update.step = report.step - state_.steps_skipped;
  update.gradient_scale = clip_factor(report.gradient_norm, config_.optim.grad_clip);
  bool finite = true;
  {
    const Profile::Piece piece = clock_.piece(optimizer_->name(), optimizer_->cost());
    const auto start = std::chrono::steady_clock::now();
    finite = parallel_step_->update(update);
    report.optimizer_seconds = seconds_since(start);
  }
  if (!finite) {
    record_.await_save(events);
    parallel_step_->gather_state();
    const std::string reason =
        concat("step ", report.step, ": ", first_not_finite(model_.parameters(), *optimizer_).tensor, " is not finite after the update");
    fail_diverged(reason, concat(reason, ", which is not saved. ", record_.last_good(), "; ", kAdvice));
  }
}

/// Skips the update of a bad step on all ranks if the configuration allows it, and ends the run otherwise.
void Trainer::skip_or_fail(StepReport& report, const std::string& objection, TrainingEvents& events) {
  // Find the tensor that is not finite. The save under way may be the last good checkpoint.
  record_.await_save(events);
  parallel_step_->gather_gradients();
  parallel_step_->gather_state();
  const NotFinite found = first_not_finite(model_.parameters(), *optimizer_);
  const bool may_skip = config_.train.on_nonfinite == OnNonfinite::skip && (found.tensor.empty() || found.in_gradients);
  const bool skips = ranks_->from_first(may_skip ? "skip" : "") == "skip" && state_.steps_skipped < config_.train.max_skipped;

  // Write the batch, and skip the step or fail.
  const std::string reason = found.tensor.empty() ? objection : concat(objection, " (", found.tensor, " is not finite)");
  const std::string step = concat("step ", report.step, ": ", reason);
  const std::string batch =
      record_.write_bad_step({.report = report, .reason = reason, .losses = passes_.losses()}, course_.loader, *data_.tokenizer);
  const std::string what = concat(step, "; the update was not applied; ", batch);
  if (!skips) {
    const std::string skipped = may_skip ? concat(state_.steps_skipped, " steps were skipped before (train.max_skipped). ") : "";
    fail_diverged(step, concat(what, ". ", skipped, record_.last_good(), "; ", kAdvice,
                               found.in_gradients && !may_skip ? ", or skip such steps with train.on_nonfinite=skip" : ""));
  }
  report.skipped = true;
  ++state_.steps_skipped;
  model_.parameters().clear_gradients();
  events.skipped(concat(what, "; skipped, number ", state_.steps_skipped, " of at most ", config_.train.max_skipped));
}

void Trainer::fail_diverged(const std::string& reason, const std::string& what) const { ranks_->fail_together(Diverged(reason, what)); }

bool Trainer::evaluate(TrainingEvents& events, const std::function<bool()>& stop) {
  // Measure the losses.
  const WeightView::Shown shown = weights_->for_evaluation();
  const auto start = std::chrono::steady_clock::now();
  const auto any_stops = [&] { return ranks_->any(stop()); };
  auto measured = naming_memory(
      "evaluation", [&] { return evaluator_(state_.seed, state_.step, any_stops, [&](double done) { events.evaluating(done); }); });
  if (!measured) {
    return false;
  }
  // Complete the report.
  EvaluationReport& report = *measured;
  report.decided_by = objective_->decided_by();
  for (std::size_t source = 0; source < data_.sources.size(); ++source) {
    const auto named = std::ranges::find(report.losses, data_.sources[source].name, &NamedLoss::name);
    if (named != report.losses.end()) {
      named->epochs = course_.loader.epochs(static_cast<index>(source), state_.samples_seen);
    }
  }
  record_.await_save(events);  // a checkpoint must be on the disk before it is called the best
  report.seconds = seconds_since(start);
  report.memory = static_cast<index>(process_memory().resident);
  // Continue the prompts of train.sample_prompts.
  const auto samples = sample(events, stop);
  if (!samples) {
    return false;
  }

  // Record the best. All ranks need to know which checkpoint was saved before, and which one is the best afterwards.
  record_.agree();
  record_.attempt(events, IfFailed::as_configured, [&] { report.best = record_.record_evaluation(report); });
  record_.agree();

  // The evaluation's line is the event's last one: if it is missing, a resumed run repeats the whole event (keep_metrics()).
  for (const PromptSampler::Continuation& one : *samples) {
    record_.log(events, "sample", state_.step, MetricsLog::Fields{{"prompt", one.prompt}, {"text", one.text}});
  }
  record_.log(events, report);
  events.evaluated(report);
  for (const PromptSampler::Continuation& one : *samples) {
    events.sampled(one);
  }
  return true;
}

/// Returns the model's texts for train.sample_prompts: on the first rank, which writes them. Other ranks return none.
std::optional<std::vector<PromptSampler::Continuation>> Trainer::sample(TrainingEvents& events, const std::function<bool()>& stop) {
  std::vector<PromptSampler::Continuation> samples;
  const auto write = [&](const std::function<bool()>& any_stops) {
    try {
      auto written = naming_memory("sampling", [&] { return sampler_(state_.step, any_stops); });
      samples = std::move(written).value_or(std::vector<PromptSampler::Continuation>());
      return written.has_value();
    } catch (const RankTimeout&) {
      throw;
    } catch (const Error& error) {  // such as logits that are NaN: the next step decides whether the run ends
      events.not_sampled(error.what());
      return true;
    }
  };
  return ranks_->on_first(write, stop) ? std::optional(std::move(samples)) : std::nullopt;
}

}  // namespace dikkat
