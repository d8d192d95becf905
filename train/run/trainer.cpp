#include "train/run/trainer.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <exception>
#include <span>

#include <fmt/format.h>

#include "autograd/base/seconds_since.h"
#include "autograd/kernels/adamw.h"
#include "optim/clip.h"
#include "train/model/model_flops.h"
#include "train/model/pack_weights.h"
#include "train/run/bad_step.h"
#include "train/run/build_info.h"
#include "train/run/loss_watch.h"
#include "train/run/own_provenance.h"
#include "train/run/precision.h"
#include "train/system/machine_memory.h"
#include "train/system/out_of_memory.h"
#include "train/system/sha256.h"

namespace dikkat {
namespace {

LossWatch watch_of(const TrainingState& state) {
  return {.count = state.losses_watched, .mean = state.loss_mean, .variance = state.loss_variance};
}

constexpr const char* kAdvice =
    "resume from it with another optim.learning_rate, optim.warmup_steps or optim.grad_clip (dikkat resume --set)";

// Seconds of steps after which a trial makes no other. It makes several because the first steps of small models vary.
constexpr double kLongTrial = 10;

/// A NaN without its sign.
std::string shown(double value) { return std::isnan(value) ? "NaN" : concat(value); }

}  // namespace

Trial Trainer::try_out(index steps) {
  ParameterStore& parameters = model_.parameters();
  parameters.initialise(state_.seed, [&](ParameterStore::Entry& entry) { pack_frozen(parameters, entry); });
  Prefetcher batches = this->batches();
  TrainingEvents nobody;
  longest_step_ = kLongTrial;
  Trial trial;
  for (double seconds = 0; std::ssize(trial.steps) < steps && seconds < kLongTrial; seconds += trial.steps.back().seconds) {
    trial.steps.push_back(step(batches, nobody));
  }
  if (evaluates()) {
    trial.evaluation_seconds = evaluator_.estimate();
  }
  trial.peak = process_memory().peak;
  return trial;
}

double Trainer::measure_gemm_rate(std::function<double()> measure) {
  reference_rate_ = ReferenceRate(std::move(measure));
  return reference_rate_.highest();
}

void Trainer::set_profile(Profile* profile) {
  profile_ = profile;
  tape_.observe(profile);
}

Trainer::Outcome Trainer::run(TrainingEvents& events, const std::function<bool()>& stop) {
  if (config_.train.async_save && directory_) {
    naming_memory("saving", [&] { saver_.emplace(directory_->checkpoints_path()); });
  }
  try {
    require_same_run();
  } catch (const Error&) {
    if (saved_step_ < 0) {  // start() has just made the folder, with nothing in it
      discard();
    }
    throw;
  }
  if (directory_) {
    begin_metrics(events);
  }
  agree();
  const Outcome outcome = [&] {
    try {
      return train(events, [&] { return ranks_->any(stop()); });
    } catch (const RankTimeout& silent) {
      if (!directory_) {
        throw;
      }
      collect(events, true);  // a save under way is finished
      fail(silent.what(), ". ", last_good(), "; dikkat resume ", directory_->path().string(), " goes on from it");
    } catch (const ExitQuietly&) {
      throw;
    } catch (const Error& failure) {  // which this rank has met alone
      if (directory_) {
        throw;
      }
      fail(failure.what(), ". dikkat resume goes on from the last good checkpoint");
    }
  }();
  collect(events, true);
  agree();
  if (saved_step_ != state_.step) {
    save(events, IfFailed::end);  // the run had continued after a save that failed, and is stopped before the next one
    collect(events, true);
  }
  saver_.reset();
  if (outcome == Outcome::stopped) {
    log(events, "stop", state_.step, MetricsLog::Fields{{"reason", events.stopped()}});
  } else {
    log(events, "finish", state_.step);
  }
  return outcome;
}

void Trainer::discard() {
  metrics_.reset();
  try {
    if (directory_) {
      std::move(*directory_).remove();
    }
  } catch (const Error&) {  // the caller has a failure of its own to report
  }
  directory_.reset();
}

template <class... Line>
void Trainer::log(TrainingEvents& events, const Line&... line) {
  if (metrics_) {
    attempt(events, IfFailed::as_configured, [&] { metrics_->write(line...); });
  }
}

void Trainer::require_same_run() {
  if (ranks_->size() == 1) {
    return;
  }
  const BuildInfo& info = build_info();
  ranks_->require_same("program", concat(info.version, ", ", info.compiler, ", ", info.flags, ", ", info.instruction_set));
  ranks_->require_same("corpus", state_.corpus_fingerprint);
  ranks_->require_same("configuration", to_hex(sha256(config_text_)));
  const ParameterStore& parameters = model_.parameters();
  const double squares =
      kernels::sum_of_squares(parameters.trainable_size(), parameters.weights<float>());  // a C library draws other numbers, say
  ranks_->require_same("sum of the weights' squares", fmt::format("{}", squares));
}

void Trainer::agree() {
  double values[] = {static_cast<double>(saved_step_), static_cast<double>(state_.best_step), state_.best_val_loss,
                     static_cast<double>(state_.evaluation_pending)};
  ranks_->share<double>(std::vector<OwnedRange>{{0, std::ssize(values), 0}}, values);
  saved_step_ = static_cast<index>(values[0]);
  state_.best_step = static_cast<index>(values[1]);
  state_.best_val_loss = values[2];
  state_.evaluation_pending = values[3] != 0;
}

Prefetcher Trainer::batches() const {
  return {loader_, state_.samples_seen, config_.train.batch_size, passes_of_steps(), {.number = ranks_->rank(), .of = ranks_->size()}};
}

void Trainer::begin_metrics(TrainingEvents& events) {
  attempt(events, IfFailed::as_configured, [&] {
    const Provenance by = own_provenance();
    if (!metrics_->has_header()) {
      metrics_->write(RunHeader{
          .provenance = by,
          .step = state_.step,
          .parameters = model_.parameters().parameter_count(),
          .tokenizer = std::string(data_.tokenizer->kind()),
          .vocab_size = data_.tokenizer->vocab_size(),
          .train_tokens = data_.train_tokens(),
          .val_tokens = data_.validation_tokens(),
          .corpus = state_.corpus_fingerprint,
          .bytes_per_token = data_.tokenizer->is_lossless() ? data_.bytes_per_target() : std::numeric_limits<double>::quiet_NaN()});
    }
    if (saved_step_ >= 0) {
      if (!metrics_->has_save_of_last_step()) {  // the run ended between the save and its line
        const auto file = directory_->checkpoints_path() / checkpoint_name(saved_step_);
        std::error_code error;
        if (const auto bytes = std::filesystem::file_size(file, error); !error) {
          metrics_->write("save", saved_step_, {{"file", file.filename().string()}, {"bytes", static_cast<index>(bytes)}});
        }
      }
      metrics_->write_resume(state_.step, by);
    }
    for (const ConfigDifference& change : std::exchange(changes_, {})) {
      metrics_->write("change", state_.step, {{"key", change.path}, {"before", change.ours}, {"after", change.theirs}});
    }
  });
}

Trainer::Outcome Trainer::train(TrainingEvents& events, const std::function<bool()>& stop) {
  if (saved_step_ < 0) {
    save(events, IfFailed::end);  // so that the run can be resumed whenever it ends
  }
  if (state_.evaluation_pending && !evaluate(events, stop)) {
    return Outcome::stopped;
  }
  Prefetcher batches = this->batches();
  while (!finished()) {
    const StepReport report = naming_memory("training step", [&] { return step(batches, events); });
    log(events, report);
    events.stepped(report);
    collect(events, false);

    const bool last = state_.step == config_.train.max_steps;
    const bool stopping = stop();
    state_.evaluation_pending = evaluates() && (last || due(config_.train.eval_interval));
    if (last || stopping || state_.evaluation_pending || due(config_.train.checkpoint_interval)) {
      // Before the evaluation: a finished step is never lost to one that fails.
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

bool Trainer::out_of_patience() const {
  const index interval = config_.train.eval_interval;
  return config_.train.patience > 0 && evaluates() && state_.best_step >= 0 && !state_.evaluation_pending &&
         state_.step / interval - state_.best_step / interval >= config_.train.patience;
}

/// The number of batches of this step, of the next one, and so on.
std::function<index()> Trainer::passes_of_steps() const {
  return [this, step = state_.step]() mutable { return accumulation_(step++); };
}

/// One update of the weights, from accumulation() batches that count as one.
StepReport Trainer::step(Prefetcher& batches, TrainingEvents& events) {
  const auto start = std::chrono::steady_clock::now();
  if (profile_ != nullptr) {
    profile_->step_begins();
  }
  const index micro_batches = accumulation_(state_.step);
  const index rows = config_.train.batch_size;

  StepReport report{.step = state_.step + 1, .learning_rate = schedule_.rate(state_.step)};
  ranks_->take_exchange_seconds();  // what was exchanged before
  parallel_step_->take_exchange_seconds();
  double flops = 0;
  const auto next_batch = [&]() -> const Batch& {
    const Profile::Piece piece(profile_, "waiting for batches");
    return batches.next();
  };
  const index own = parallel_step_->count(micro_batches), first = parallel_step_->first(micro_batches);
  losses_.assign(static_cast<std::size_t>(micro_batches), 0);
  index made = 0;
  for (index i = 0; i < own && seconds_since(start) < longest_step_; ++i, ++made) {
    parallel_step_->begin_pass(i, micro_batches);
    const Batch& batch = next_batch();
    flops += training_flops(model_, batch);
    Pass pass{.tape = tape_,
              .training = true,
              .seed = state_.seed,
              .step = static_cast<std::uint64_t>(state_.step),
              .first_sequence = (first + i) * rows,
              .recompute = config_.train.recompute,
              .operands = operand_type(config_.train)};
    const Tensor loss = model_.loss(pass, batch, batch.step_weight, config_.train.label_smoothing);
    report.tokens = static_cast<index>(batch.step_weight);
    losses_[static_cast<std::size_t>(first + i)] = static_cast<double>(*loss.data<float>());
    tape_.backward(loss);
    tape_.reset();
    if (batch.lengths == loader_.longest()) {
      tape_.freeze();  // no batch of the run is larger
    }
    parallel_step_->end_pass(i, micro_batches);
  }
  const GradientExchange::Seconds beside = parallel_step_->take_exchange_seconds();
  share_losses(report, seconds_since(start) - beside.waiting);
  {
    const Profile::Piece piece(profile_, "norm of the gradient",
                               {.bytes = static_cast<double>(model_.parameters().trainable_size()) * sizeof(float)});
    report.gradient_norm = parallel_step_->gradient_norm();
  }
  if (std::string objection = objection_to(report); !objection.empty()) {
    skip_or_fail(report, objection, events);
    report.skipped = true;
  } else {
    apply(report, events);
  }

  ++state_.step;
  state_.samples_seen += rows * micro_batches;
  state_.tokens_seen += report.tokens;
  state_.epoch = state_.samples_seen / loader_.epoch_size();
  const double of_passes = static_cast<double>(own) / static_cast<double>(made);  // above 1 in a trial of long steps
  report.seconds = (seconds_since(start) - report.optimizer_seconds) * of_passes + report.optimizer_seconds;
  flops *= of_passes;
  const double alone = ranks_->take_exchange_seconds();
  report.exchange_seconds =
      std::max(beside.exchanging, beside.waiting) + alone;  // in tiny steps the thread wakes later than this one waits
  report.waited_seconds = beside.waiting + alone;
  const double rate = flops / report.seconds;
  trained_seconds_ += report.seconds;
  report.mfu = reference_rate_.share(rate, trained_seconds_);
  if (profile_ != nullptr) {
    profile_->step_ends(report.seconds);
  }
  return report;
}

void Trainer::share_losses(StepReport& report, double seconds) {
  const auto ranks = static_cast<std::size_t>(ranks_->size());
  if (ranks > 1) {
    const std::size_t own = losses_.size() / ranks, each = own + 2;
    rank_reports_.assign(ranks * each, 0);
    const auto of_rank = [&](std::size_t rank) { return std::span(rank_reports_).subspan(rank * each, each); };
    const auto losses_of = [&](std::size_t rank) { return std::span(losses_).subspan(rank * own, own); };
    const auto mine = static_cast<std::size_t>(ranks_->rank());
    std::ranges::copy(losses_of(mine), of_rank(mine).begin());
    of_rank(mine)[own] = seconds;
    of_rank(mine)[own + 1] = static_cast<double>(process_memory().resident);
    ranks_->share_equally<double>(rank_reports_);
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      std::ranges::copy(of_rank(rank).first(own), losses_of(rank).begin());
      report.rank_seconds.push_back(of_rank(rank)[own]);
      report.rank_memory.push_back(of_rank(rank)[own + 1]);
    }
  }
  for (const double loss : losses_) {
    report.loss += loss;
  }
}

std::string Trainer::objection_to(const StepReport& report) const {
  if (!std::isfinite(report.loss) || !std::isfinite(report.gradient_norm)) {
    return concat("the loss is ", shown(report.loss), " and the gradient's norm ", shown(report.gradient_norm));
  }
  const LossWatch watch = watch_of(state_);
  if (const double z = watch.z_score(report.loss); config_.train.spike_z > 0 && z > config_.train.spike_z) {
    return concat("the loss is ", fmt::format("{:.4f}, {:.1f}", report.loss, z), " standard deviations above the ",
                  fmt::format("{:.4f}", watch.mean), " of the steps before (train.spike_z is ", config_.train.spike_z, ")");
  }
  return "";
}

void Trainer::apply(StepReport& report, TrainingEvents& events) {
  LossWatch watch = watch_of(state_);
  watch.take(report.loss);
  state_.losses_watched = watch.count;
  state_.loss_mean = watch.mean;
  state_.loss_variance = watch.variance;

  Update update = schedule_.at(state_.step);
  update.step = report.step - state_.steps_skipped;
  update.gradient_scale = clip_factor(report.gradient_norm, config_.optim.grad_clip);
  bool finite = true;
  {
    const Profile::Piece piece(profile_, optimizer_->name(), optimizer_->cost());
    const auto start = std::chrono::steady_clock::now();
    finite = parallel_step_->update(update);
    report.optimizer_seconds = seconds_since(start);
  }
  if (!finite) {
    collect(events, true);
    parallel_step_->gather_state();
    if (!ranks_->is_first()) {
      throw ExitQuietly();
    }
    const std::string reason =
        concat("step ", report.step, ": ", first_not_finite(model_.parameters(), *optimizer_).tensor, " is not finite after the update");
    throw Diverged(reason, concat(reason, ", which is not saved. ", last_good(), "; ", kAdvice));
  }
}

void Trainer::skip_or_fail(const StepReport& report, const std::string& objection, TrainingEvents& events) {
  collect(events, true);  // the last good checkpoint may be being written
  parallel_step_->gather_gradients();
  parallel_step_->gather_state();
  const NotFinite found = first_not_finite(model_.parameters(), *optimizer_);
  const bool may_skip = config_.train.on_nonfinite == OnNonfinite::skip && (found.tensor.empty() || found.in_gradients);
  const bool skips = ranks_->from_first(may_skip ? "skip" : "") == "skip" && state_.steps_skipped < config_.train.max_skipped;
  if (!ranks_->is_first()) {
    if (!skips) {
      throw ExitQuietly();
    }
    ++state_.steps_skipped;
    model_.parameters().clear_gradients();
    return;
  }
  const std::string reason = found.tensor.empty() ? objection : concat(objection, " (", found.tensor, " is not finite)");
  const std::string told = concat("step ", report.step, ": ", reason);
  if (!directory_) {  // of a trial, which writes nothing
    throw Diverged(told, told);
  }
  std::string batch;
  try {
    directory_->require_held();
    batch = concat("its batch is in ", write_bad_step(directory_->path(), {.report = report, .reason = reason, .losses = losses_}, loader_,
                                                      state_.samples_seen, config_.train.batch_size, *data_.tokenizer)
                                           .string());
  } catch (const Error& error) {
    batch = error.what();
  }
  const std::string what = concat(told, "; the update was not applied; ", batch);
  if (skips) {
    ++state_.steps_skipped;
    model_.parameters().clear_gradients();
    events.skipped(concat(what, "; skipped, number ", state_.steps_skipped, " of at most ", config_.train.max_skipped));
    return;
  }
  const std::string skipped = may_skip ? concat(state_.steps_skipped, " steps were skipped before (train.max_skipped). ") : "";
  throw Diverged(told, concat(what, ". ", skipped, last_good(), "; ", kAdvice,
                              found.in_gradients && !may_skip ? ", or skip such steps with train.on_nonfinite=skip" : ""));
}

namespace {

/// While it lives, the weights are their average, if the run keeps one. They stay so when an error ends the run: then the other ranks wait
/// for something else.
class WithAverage {
 public:
  explicit WithAverage(DataParallelStep& share) : share_(share) { share_.exchange_average(); }
  ~WithAverage() noexcept(false) {
    if (std::uncaught_exceptions() == exceptions_) {
      share_.exchange_average();
    }
  }
  WithAverage(const WithAverage&) = delete;
  WithAverage& operator=(const WithAverage&) = delete;

 private:
  DataParallelStep& share_;
  int exceptions_ = std::uncaught_exceptions();
};

}  // namespace

bool Trainer::evaluate(TrainingEvents& events, const std::function<bool()>& stop) {
  const WithAverage average(*parallel_step_);
  const auto start = std::chrono::steady_clock::now();
  auto measured = naming_memory("evaluation",
                                [&] { return evaluator_(state_.seed, state_.step, stop, [&](double done) { events.evaluating(done); }); });
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
  collect(events, true);  // a checkpoint must be on the disk before it is named the best
  report.seconds = seconds_since(start);
  report.memory = static_cast<index>(process_memory().resident);
  const auto samples = sample(events, stop);
  if (!samples) {
    return false;
  }
  agree();  // on what is saved
  attempt(events, IfFailed::as_configured, [&] { report.best = record_evaluation(report); });
  agree();  // and on which is the best
  // The line of the evaluation is the last one of the event: where it is missing, a resumed run repeats all of it (keep_metrics()).
  for (const PromptSampler::Continuation& one : *samples) {
    log(events, "sample", state_.step, MetricsLog::Fields{{"prompt", one.prompt}, {"text", one.text}});
  }
  log(events, report);
  events.evaluated(report);
  for (const PromptSampler::Continuation& one : *samples) {
    events.sampled(one);
  }
  return true;
}

std::optional<std::vector<PromptSampler::Continuation>> Trainer::sample(TrainingEvents& events, const std::function<bool()>& stop) {
  if (!ranks_->is_first()) {
    return std::vector<PromptSampler::Continuation>();
  }
  try {
    const bool may_stop = ranks_->size() == 1;  // the others do not sample, and are not asked
    return naming_memory("sampling", [&] { return sampler_(state_.step, may_stop ? stop : [] { return false; }); });
  } catch (const Error& error) {  // such as logits that are NaN: whether a run goes on, its steps decide
    events.not_sampled(error.what());
    return std::vector<PromptSampler::Continuation>();
  }
}

bool Trainer::record_evaluation(const EvaluationReport& report) {
  state_.evaluation_pending = false;
  if (!(report.val_loss < state_.best_val_loss) || saved_step_ != report.step) {
    return false;  // not better, or not saved (train.on_failed_save)
  }
  if (directory_) {
    directory_->record_best(report.step);
  }
  state_.best_val_loss = report.val_loss;
  state_.best_step = report.step;
  return true;
}

}  // namespace dikkat
