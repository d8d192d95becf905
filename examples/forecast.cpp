// Forecasts many short series with one small transformer. Each series is cut into patches of a season, which are its tokens (PatchTST; Nie
// et al., arXiv 2211.14730). For each next step the network returns three quantiles, trained with the pinball loss. The last HORIZON points
// of each series are held out: they show how good the network is, next to a seasonal naive forecast.
//
//   forecast SERIES.csv OUT.csv OUT.svg [SEASON [HORIZON [STEPS]]]      by default 12, 24 and 600
//
// SERIES.csv has the columns series, time (or order) and value, and a row for each point. A time is a whole number, or a month: 2024-03.
// Rows may have any order, but a series has no gaps. OUT.csv has the quantiles of the HORIZON steps after the end of each series.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "dikkat/autograd.h"
#include "forecast_files.h"
#include "layers/stack.h"
#include "train/library/array_loader.h"
#include "train/system/file.h"

namespace dikkat {
namespace {

constexpr std::array kLevels{0.1, 0.5, 0.9};
constexpr index kTokens = 4;  // patches that the network reads
constexpr index kWidth = 64;
constexpr std::uint64_t kSeed = 1;

/// The sizes of a forecast, in points.
struct Task {
  index season = 12, horizon = 24, steps = 600;
  index patch() const { return season >= 4 ? season : 8 / season * season; }  // whole seasons
  index context() const { return kTokens * patch(); }
  index shortest() const { return context() + 2 * horizon; }  // a window to train on, and the held-out end
};

/// Returns the mean |y[t] - y[t - season]| before the held-out points, the error of a naive forecast in the past. Errors are divided by it.
double naive_error(const Series& y, const Task& task) {
  double sum = 0;
  for (index t = task.season; t < y.size() - task.horizon; ++t) {
    sum += std::abs(y[t] - y[t - task.season]);
  }
  return sum / static_cast<double>(y.size() - task.horizon - task.season);
}

// --- The network and its loss -------------------------------------------------------------------------------------------------------

/// Maps contexts (B, kTokens * patch) to quantiles (B, horizon, 3). They never cross: the outer ones are the middle one minus and plus
/// positive numbers.
struct Forecaster {
  index patch, horizon;
  Linear read;
  Stack blocks;
  Norm norm;
  Linear write;

  static TransformerConfig config() {
    return with_defaults(
        {.n_layer = 2, .n_head = 4, .n_embd = kWidth, .block_size = kTokens, .dropout = 0.1, .positions = Positions::rope});
  }
  Forecaster(const Scope& s, const Task& task)
      : patch(task.patch()),
        horizon(task.horizon),
        read(s / "read", patch, kWidth),
        blocks(s / "blocks", config(), {.layers = config().n_layer, .causal = false}),
        norm(s / "norm", kWidth),
        write(s / "write", kTokens * kWidth, 3 * horizon) {}

  Tensor operator()(Pass& pass, Tensor context) const {
    const index batch = context.shape()[0];
    const Tensor tokens = norm(pass, blocks(pass, read(pass, reshape(context, {batch, kTokens, patch}))));
    const Tensor y = reshape(write(pass, reshape(tokens, {batch, kTokens * kWidth})), {batch, horizon, 3});
    const Tensor middle = slice(y, 2, 1, 1);
    return concat({middle - softplus(slice(y, 2, 0, 1)), middle, middle + softplus(slice(y, 2, 2, 1))}, 2);
  }
};

/// Returns the mean pinball loss of quantiles (B, horizon, 3) for truths (B, horizon). A forecast of the quantile `level` that is too low
/// by d costs level * d, and one that is too high costs (1 - level) * d. So it is best where a share `level` of the truths lies below it.
Tensor pinball_loss(Tensor quantiles, Tensor truth) {
  const auto loss = [&](int i) {
    const auto formula = [level = kLevels[static_cast<std::size_t>(i)]](auto q, auto y) {
      return max(level * (y - q), (1 - level) * (q - y));
    };
    return mean(elementwise(formula, select(quantiles, 2, i), truth));
  };
  return (loss(0) + loss(1) + loss(2)) / 3;
}

/// Returns the error of the loss's gradient: its largest difference from central differences.
double gradient_error_of_loss() {
  const std::vector<CheckedOperand> operands = {{Shape{1, 2, 3}, {-1, 0.25, 2, -0.5, 1, 1.5}}, {Shape{1, 2}, {0.75, -0.25}}};
  return gradient_error([](Tape&, std::span<const Tensor> x) { return pinball_loss(x[0], x[1]); }, operands);
}

/// The mean of a context's last season, and the distance of its points from that. The network sees (value - level) / spread, so one network
/// fits series of all sizes.
struct Scale {
  double level = 0, spread = 0;

  Scale(const Series& y, index begin, const Task& task) {
    const index end = begin + task.context();
    for (index i = end - task.patch(); i < end; ++i) {
      level += y[i] / static_cast<double>(task.patch());
    }
    for (index i = begin; i < end; ++i) {
      spread += (y[i] - level) * (y[i] - level) / static_cast<double>(task.context());
    }
    spread = std::max({std::sqrt(spread), naive_error(y, task) / 100, std::abs(level) * 1e-9, 1e-30});  // a context may be constant
  }
  float operator()(double value) const { return static_cast<float>((value - level) / spread); }
};

/// Trains on every window of every series that ends before the held-out points.
void train(const Forecaster& net, ParameterStore& parameters, const std::vector<Series>& all, const Task& task) {
  std::vector<float> contexts, targets;
  index count = 0;
  for (const Series& y : all) {
    for (index begin = 0; begin + task.shortest() <= y.size(); ++begin, ++count) {
      const Scale scaled(y, begin, task);
      for (index i = 0; i < task.context() + task.horizon; ++i) {
        (i < task.context() ? contexts : targets).push_back(scaled(y[begin + i]));
      }
    }
  }
  fmt::print("{} series, {} windows of {} + {} points; {} parameters\n", all.size(), count, task.context(), task.horizon,
             parameters.parameter_count());
  ArrayLoader loader({Array({count, task.context()}, contexts), Array({count, task.horizon}, targets)}, {.batch_size = 64, .seed = kSeed});
  const Schedule rate{.learning_rate = 2e-3, .min_lr = 1e-5, .warmup_steps = 20, .decay_steps = task.steps};
  AdamW adamw(parameters, {.weight_decay = 0.1});
  Tape tape;
  for (index step = 0; step < task.steps; ++step) {
    const ArrayLoader::Batch batch = loader.next();
    Pass pass{.tape = tape, .training = true, .seed = kSeed, .step = static_cast<std::uint64_t>(step)};
    const Tensor loss = pinball_loss(net(pass, batch.tensor(tape, 0)), batch.tensor(tape, 1));
    tape.backward(loss);
    if (step % 100 == 0 || step == task.steps - 1) {
      fmt::print("step {:4}   pinball loss {:.4f}\n", step, loss.item());
    }
    tape.reset();
    adamw.step(step + 1, rate(step), clip_factor(gradient_norm(parameters), 1.0));
  }
}

// --- Forecasts ----------------------------------------------------------------------------------------------------------------------

/// Forecasts the points after the first `end` of a series.
Forecast forecast(const Forecaster& net, const Series& y, index end, const Task& task) {
  const index begin = end - task.context();
  const Scale scaled(y, begin, task);
  std::vector<float> context;
  for (index i = begin; i < end; ++i) {
    context.push_back(scaled(y[i]));
  }
  Tape tape(Recording::off);
  Pass pass{.tape = tape};
  const Tensor quantiles = net(pass, tape.input<float>({1, task.context()}, context));
  Forecast made;
  for (index i = 0; i < quantiles.size(); ++i) {
    made[static_cast<std::size_t>(i % 3)].push_back(scaled.level + scaled.spread * static_cast<double>(quantiles.data<float>()[i]));
  }
  return made;
}

/// Repeats the last season of the first `end` points. The outer quantiles are those of the errors that such a forecast had before.
Forecast naive_forecast(const Series& y, index end, const Task& task) {
  Forecast made;
  for (index step = 0; step < task.horizon; ++step) {
    const index lag = (step / task.season + 1) * task.season;
    std::vector<double> errors;
    for (index t = lag; t < end; ++t) {
      errors.push_back(y[t] - y[t - lag]);
    }
    std::ranges::sort(errors);
    for (std::size_t k = 0; k < 3; ++k) {
      const auto at = static_cast<std::size_t>(kLevels[k] * static_cast<double>(errors.size() - 1));
      made[k].push_back(y[end + step - lag] + (k == 1 ? 0 : errors[at]));
    }
  }
  return made;
}

/// Figures of forecasts of the held-out points: pinball loss and absolute error (MASE), both divided by naive_error(), and the share of
/// points between the outer quantiles, which should be 0.8.
struct Figures {
  double pinball = 0, mase = 0, inside = 0, points = 0;

  /// Adds a series. One that repeats itself exactly has no error to divide by, and is left out.
  void add(const Series& y, const Forecast& q, const Task& task) {
    const double error = naive_error(y, task);
    for (std::size_t i = 0; error > 0 && i < q[1].size(); ++i, ++points) {
      const double truth = y[y.size() - task.horizon + static_cast<index>(i)];
      for (std::size_t k = 0; k < 3; ++k) {
        pinball += std::max(kLevels[k] * (truth - q[k][i]), (1 - kLevels[k]) * (q[k][i] - truth)) / error / 3;
      }
      mase += std::abs(truth - q[1][i]) / error;
      inside += truth >= q[0][i] && truth <= q[2][i] ? 1 : 0;
    }
  }
  void print(const char* name) const {
    const double n = std::max(points, 1.0);
    fmt::print("{:<16} {:9.3f} {:9.3f} {:9.1f} %\n", name, pinball / n, mase / n, 100 * inside / n);
  }
};

int run(const std::vector<std::string>& given) {
  require_input(given.size() >= 3 && given.size() <= 6, "forecast: found ", given.size(),
                " arguments, expected SERIES.csv OUT.csv OUT.svg [SEASON [HORIZON [STEPS]]]");
  Task task;
  index* const sizes[] = {&task.season, &task.horizon, &task.steps};
  for (std::size_t i = 3; i < given.size(); ++i) {
    require_input(is_number(given[i], *sizes[i - 3]) && *sizes[i - 3] >= 1 && *sizes[i - 3] <= 100'000, "forecast: found ", given[i],
                  ", expected a whole number between 1 and 100000");
  }
  for (std::size_t i = 1; i < 3; ++i) {
    const std::filesystem::path out = std::filesystem::absolute(given[i]);
    require_input(!is_taken(out) && is_there(out.parent_path()) && given[1] != given[2], "forecast: ", given[i],
                  " exists, or its folder does not: name two new files");
  }
  const std::vector<Series> all = read_series(given[0], task.shortest());
  const double error = gradient_error_of_loss();
  require(error < 1e-7, "forecast: the loss's gradient has an error of ", error, ", expected at most 1e-7");

  ParameterStore parameters;
  const Forecaster net(Scope(parameters), task);
  parameters.allocate(kSeed);
  train(net, parameters, all, task);

  Figures figures, naive_figures;
  std::string csv = "series,step,q0.1,q0.5,q0.9\n", svg = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 660 600\">\n";
  for (std::size_t s = 0; s < all.size(); ++s) {
    const Series& y = all[s];
    figures.add(y, forecast(net, y, y.size() - task.horizon, task), task);
    naive_figures.add(y, naive_forecast(y, y.size() - task.horizon, task), task);
    const Forecast q = forecast(net, y, y.size(), task);
    csv += csv_rows(y.name, q);
    svg += s < 4 ? drawing_of(y, 2 * task.context(), q, naive_forecast(y, y.size(), task)[1], 150 * static_cast<double>(s)) : "";
  }
  fmt::print("\nheld-out points    pinball      MASE      inside\n");
  figures.print("network");
  naive_figures.print("seasonal naive");
  fmt::print("The {} is better.\n", figures.pinball < naive_figures.pinball ? "network" : "naive forecast");
  replace_file(given[1], csv);
  replace_file(given[2], svg + "</svg>\n");
  return 0;
}

}  // namespace
}  // namespace dikkat

int main(int argc, char** argv) {
  return dikkat::run_main(argc, argv, [](const std::vector<std::string>& given) {
    try {
      return dikkat::run(given);
    } catch (const dikkat::InputError& error) {
      fmt::print(stderr, "{}\n", error.what());
      return 2;
    }
  });
}
