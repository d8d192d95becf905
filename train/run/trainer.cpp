#include "train/run/trainer.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <limits>

#include <fmt/format.h>

#include "autograd/base/seconds_since.h"
#include "autograd/kernels/adamw.h"
#include "optim/clip.h"
#include "optim/not_finite.h"
#include "train/model/model_flops.h"
#include "train/run/build_info.h"
#include "train/run/loss_watch.h"
#include "train/run/objectives/reference.h"
#include "train/run/own_provenance.h"
#include "train/run/precision.h"
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
  record_.begin(events, header(), std::exchange(changes_, {}));
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
  ranks_->require_same("configuration", [&] { return to_hex(sha256(config_text_)); });
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

/// Trains. The message of an error that only this rank knows of says from which checkpoint the run can be resumed.
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
  if (!prepare_reference(events, stop)) {
    return Outcome::stopped;
  }
  if (state_.evaluation_pending && !evaluate(events, stop)) {
    return Outcome::stopped;
  }
  Prefetcher batches = this->batches();
  while (!finished()) {
    const StepReport report = naming_memory("training step", [&] { return step(batches, events); });
    record_.log(events, report);
    events.stepped(report);
    record_.collect_save(events);

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

/// Computes the log-probabilities of the reference before the first step, unless they are known. Returns false if the run was stopped.
bool Trainer::prepare_reference(TrainingEvents& events, const std::function<bool()>& stop) {
  if (!config_.preference.has_reference() || has_reference_) {
    return true;
  }
  require(state_.step == 0, "reference: the run is at step ", state_.step, ", expected 0");  // resume() has refused it
  has_reference_ = naming_memory("computing the reference's log-probabilities", [&] {
    return compute_reference(
        model_, config_, data_, *ranks_, [&] { return ranks_->any(stop()); }, [&](double done) { events.scoring_reference(done); });
  });
  if (has_reference_ && record_.is_open()) {
    record_.directory().require_held();
    write_reference(reference_file(directory()), data_, reference_key(data_, state_.base_hash));
  }
  return has_reference_;
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

Prefetcher Trainer::batches() const {
  const auto passes_of_steps = [this, step = state_.step]() mutable { return accumulation_(step++); };
  return {loader_, state_.samples_seen, config_.train.batch_size, passes_of_steps, {.number = ranks_->rank(), .of = ranks_->size()}};
}

bool Trainer::rounds_step() const {
  const auto steps = static_cast<double>(config_.optim.decay_steps);
  return rounded_ && state_.step >= config_.optim.decay_steps - std::llround(config_.train.quantize_share * steps);
}

ShownRounded Trainer::show_rounded() {
  const Profile::Piece piece = clock_.piece("rounding of weights", {.bytes = 2 * static_cast<double>(rounded_->bytes())});
  return ShownRounded(rounded());
}

/// Makes one update of the weights. The step's micro-batches count as one batch, and ranks share them.
StepReport Trainer::step(Prefetcher& batches, TrainingEvents& events) {
  const index passes = accumulation_(state_.step);
  const index own_passes = parallel_step_->count(passes), first = parallel_step_->first(passes);
  StepReport report{.step = state_.step + 1, .learning_rate = schedule_.rate(state_.step)};
  losses_.assign(static_cast<std::size_t>(passes), 0);
  sums_.assign(prefers() ? static_cast<std::size_t>(passes) * PreferenceSums::kNumbers : 0, 0);
  clock_.begin_step(own_passes);

  // Forward and backward passes of this rank's micro-batches. During the last one, ranks exchange gradients.
  ShownRounded rounding = rounds_step() ? show_rounded() : ShownRounded(nullptr);
  for (index i = 0; i < own_passes && clock_.has_time(); ++i) {
    parallel_step_->begin_pass(i, passes);
    const Batch& batch = next(batches);
    const Tensor loss = loss_of(batch, first + i);
    report.tokens = static_cast<index>(batch.step_weight);
    tape_.backward(loss);
    tape_.reset();
    if (batch.lengths == loader_.longest()) {
      tape_.freeze();  // no batch of the run is larger
      preference_.freeze();
    }
    parallel_step_->end_pass(i, passes);
    clock_.end_pass(training_flops(model_, batch));
  }
  rounding.end();
  sum_losses(report, clock_.end_passes(parallel_step_->take_exchange_seconds()));
  report.gradient_norm = gradient_norm();

  // The update, unless something is wrong with the loss or the gradient.
  if (const std::string objection = objection_to(report, state_, config_.train.spike_z); objection.empty()) {
    apply(report, events);
  } else {
    skip_or_fail(report, objection, events);
  }
  ++state_.step;
  state_.samples_seen += config_.train.batch_size * passes;
  state_.tokens_seen += report.tokens;
  state_.epoch = state_.samples_seen / loader_.epoch_size();
  clock_.end_step(report);
  return report;
}

const Batch& Trainer::next(Prefetcher& batches) const {
  const Profile::Piece piece = clock_.piece("waiting for batches");
  return batches.next();
}

Tensor Trainer::loss_of(const Batch& batch, index pass_of_step) {
  Pass pass{.tape = tape_,
            .training = !prefers(),  // the reference has no dropout
            .seed = state_.seed,
            .step = static_cast<std::uint64_t>(state_.step),
            .first_sequence = pass_of_step * config_.train.batch_size,
            .recompute = config_.train.recompute,
            .operands = operand_type(config_.train)};
  double& loss = losses_[static_cast<std::size_t>(pass_of_step)];
  if (prefers()) {
    PreferenceSums sums;
    const Tensor root = preference_.loss(pass, batch, sums);
    loss = sums.loss / static_cast<double>(batch.step_units);
    std::ranges::copy(sums.numbers(), sums_.begin() + pass_of_step * static_cast<index>(PreferenceSums::kNumbers));
    return root;
  }
  const Tensor root = model_.loss(pass, batch, batch.step_weight, config_.train.label_smoothing, nullptr,
                                  distillation_ ? distillation_->on(tape_, batch) : Teacher{});
  loss = static_cast<double>(*root.data<float>());
  return root;
}

/// Sums the losses of all ranks' micro-batches. `seconds`: how long this rank computed.
void Trainer::sum_losses(StepReport& report, double seconds) {
  for (const auto& rank : parallel_step_->share_losses(losses_, seconds, [] { return static_cast<double>(process_memory().resident); })) {
    report.rank_seconds.push_back(rank.seconds);
    report.rank_memory.push_back(rank.memory);
  }
  for (const double loss : losses_) {
    report.loss += loss;
  }
  if (prefers()) {
    if (ranks_->size() > 1) {
      ranks_->share_equally<double>(sums_);
    }
    PreferenceSums sums;
    for (std::size_t at = 0; at < sums_.size(); at += PreferenceSums::kNumbers) {
      sums.add(PreferenceSums::from(std::span(sums_).subspan(at, PreferenceSums::kNumbers)));
    }
    report.preference = report_of(config_.preference, sums);
  }
}

double Trainer::gradient_norm() {
  const auto bytes = static_cast<double>(model_.parameters().trainable_size()) * sizeof(float);
  const Profile::Piece piece = clock_.piece("norm of the gradient", {.bytes = bytes});
  return parallel_step_->gradient_norm();
}

void Trainer::apply(StepReport& report, TrainingEvents& events) {
  add_loss(state_, report.loss);
  Update update = schedule_.at(state_.step);
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
  const bool may_skip = skips_bad_steps_ && (found.tensor.empty() || found.in_gradients);
  const bool skips = ranks_->from_first(may_skip ? "skip" : "") == "skip" && state_.steps_skipped < config_.train.max_skipped;

  // Write the batch, and skip the step or fail.
  const std::string reason = found.tensor.empty() ? objection : concat(objection, " (", found.tensor, " is not finite)");
  const std::string step = concat("step ", report.step, ": ", reason);
  const std::string batch = record_.write_bad_step({.report = report, .reason = reason, .losses = losses_}, loader_, *data_.tokenizer);
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

namespace {

/// Replaces the weights by their average while it lives, if the run keeps one. When an error ends the run they stay replaced, because the
/// other ranks wait for something else then.
class WithAverage {
 public:
  explicit WithAverage(DataParallelStep& step) : step_(step) { step_.exchange_average(); }
  ~WithAverage() noexcept(false) {
    if (std::uncaught_exceptions() == exceptions_) {
      step_.exchange_average();
    }
  }
  WithAverage(const WithAverage&) = delete;
  WithAverage& operator=(const WithAverage&) = delete;

 private:
  DataParallelStep& step_;
  int exceptions_ = std::uncaught_exceptions();
};

}  // namespace

bool Trainer::evaluate(TrainingEvents& events, const std::function<bool()>& stop) {
  // Measure the losses, and sample.
  const WithAverage average(*parallel_step_);
  const ShownRounded rounding(rounded());
  const auto start = std::chrono::steady_clock::now();
  const auto any_stops = [&] { return ranks_->any(stop()); };
  auto measured = naming_memory(
      "evaluation", [&] { return evaluator_(state_.seed, state_.step, any_stops, [&](double done) { events.evaluating(done); }); });
  if (!measured) {
    return false;
  }
  EvaluationReport& report = *measured;
  for (std::size_t source = 0; source < data_.sources.size(); ++source) {
    const auto named = std::ranges::find(report.losses, data_.sources[source].name, &NamedLoss::name);
    if (named != report.losses.end()) {
      named->epochs = loader_.epochs(static_cast<index>(source), state_.samples_seen);
    }
  }
  record_.await_save(events);  // a checkpoint must be on the disk before it is called the best
  report.seconds = seconds_since(start);
  report.memory = static_cast<index>(process_memory().resident);
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
