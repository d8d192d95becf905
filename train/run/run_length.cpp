#include "train/run/run_length.h"

#include <algorithm>
#include <cmath>

#include "autograd/base/error.h"
#include "train/config/accumulation.h"
#include "train/config/resolve.h"
#include "train/system/format_numbers.h"

namespace dikkat {
namespace {

// These decide the default length of a run.
constexpr double kMostEpochs = 10;  // for a small text
constexpr index kFewestSteps = 50;
// Fewer updates than this learn little, so a small text is read in smaller steps.
constexpr index kWantedSteps = 100;
// Fewer updates than this are remarked on.
constexpr index kFewSteps = 20;

/// Returns the number of windows that a run of the usual length reads. An epoch has `epoch` windows, and the configured run has `now`.
double usual_windows(const RunLength& length, double epoch, double now) {
  return std::min(std::max(length.usual_epochs * epoch, std::min(kMostEpochs * epoch, static_cast<double>(kFewestSteps))), now);
}

/// Halves the windows of a step until there are kWantedSteps.
void fit_step(TrainConfig& train, double windows) {
  const index lanes = train.lanes.is_open() ? 1 : index{train.lanes};
  const auto steps = [&] { return windows / static_cast<double>(train.batch_size * train.gradient_accumulation_steps); };
  while (steps() < static_cast<double>(kWantedSteps)) {
    if (const index half = train.gradient_accumulation_steps / 2; train.gradient_accumulation_steps % 2 == 0 && half % lanes == 0) {
      train.gradient_accumulation_steps = half;
    } else if (train.batch_size > 1) {
      train.batch_size /= 2;
    } else {
      return;
    }
  }
}

/// Returns the smallest number of steps that read so many windows.
index steps_for(const TrainConfig& train, double windows) {
  constexpr index kMost = 1'000'000'000;
  const Accumulation passes(train);
  const auto read = [&](index steps) { return static_cast<double>(passes.passes(0, steps)) * static_cast<double>(train.batch_size); };
  require_input(read(kMost) >= windows, "--epochs asks for more than ", kMost, " steps, expected fewer");
  index too_few = 0, enough = kMost;
  while (enough - too_few > 1) {
    const index middle = too_few + (enough - too_few) / 2;
    (read(middle) >= windows ? enough : too_few) = middle;
  }
  return enough;
}

}  // namespace

std::string set_length(Config& config, const TrainingData& data, const RunLength& length) {
  if (length.epochs <= 0) {
    return "";
  }
  TrainConfig& train = config.train;
  const SourceData& first = data.sources.front();
  const double epoch = static_cast<double>(first.training->count()) / first.share;
  const index windows_of_step = train.batch_size * train.gradient_accumulation_steps;
  const double usual = usual_windows(length, epoch, static_cast<double>(train.max_steps * windows_of_step));
  const double windows = length.is_default ? usual : length.epochs * epoch;
  if (length.fits_step) {
    fit_step(train, usual);
  }
  train.max_steps = steps_for(train, windows);
  config.optim.decay_steps.derive(train.max_steps);
  if (length.fits_warmup) {
    config.optim.warmup_steps = std::min<index>(config.optim.warmup_steps, train.max_steps / 10);
  }
  if (length.fits_evaluations) {
    train.eval_interval = std::min<index>(train.eval_interval, ceil_div(train.max_steps, 10));
  }
  validate(config);
  const index now = train.batch_size * train.gradient_accumulation_steps;
  const std::string steps =
      concat(grouped_digits(train.max_steps), train.max_steps == 1 ? " step of " : " steps of ", now, now == 1 ? " window" : " windows");
  if (length.usual_epochs > 0 && train.max_steps < kFewSteps) {
    const auto enough = static_cast<index>(std::ceil(static_cast<double>(kWantedSteps * now) / epoch));
    return concat("only ", steps, " at a rate of ", config.optim.learning_rate, " may change the model little: --epochs ", enough,
                  " makes ", kWantedSteps, " steps, and --set optim.learning_rate=R sets a higher rate, which a small model needs",
                  config.data.val_fraction > 0 ? "; --set data.val_fraction=0 learns the part for validation too" : "");
  }
  if (!length.is_default && now == windows_of_step) {
    return "";
  }
  return concat(length.is_default ? "the length follows from the text: " : "", steps,
                length.is_default ? "; choose another one with --epochs N, or with --set train.max_steps=N" : "");
}

}  // namespace dikkat
