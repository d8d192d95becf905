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
#include <charconv>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "dikkat/autograd.h"
#include "layers/stack.h"
#include "train/library/array_loader.h"
#include "train/system/file.h"
#include "train/text/table_reader.h"

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

struct Point {
  index time, row;  // row: as spreadsheets count it
  double value;
};

struct Series {
  std::string name;
  std::vector<Point> points{};

  index size() const { return std::ssize(points); }
  double operator[](index i) const { return points[static_cast<std::size_t>(i)].value; }
  /// Returns the mean |y[t] - y[t - season]| before the held-out points: the error of a naive forecast in the past. Errors are divided by
  /// it.
  double naive_error(const Task& task) const {
    double sum = 0;
    for (index t = task.season; t < size() - task.horizon; ++t) {
      sum += std::abs((*this)[t] - (*this)[t - task.season]);
    }
    return sum / static_cast<double>(size() - task.horizon - task.season);
  }
};

// --- Reading ------------------------------------------------------------------------------------------------------------------------

template <class N>
bool is_number(std::string_view text, N& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

/// Returns a whole number, or the months of 2024-03; -1 if the text is neither.
index time_of(std::string_view text) {
  index number = -1, month = 0;
  if (text.size() == 7 && text[4] == '-' && is_number(text.substr(0, 4), number) && is_number(text.substr(5), month)) {
    return month >= 1 && month <= 12 ? 12 * number + month - 1 : -1;
  }
  return is_number(text, number) && number < index{1} << 40 ? number : -1;
}

/// Sorts the points by time. Throws InputError for a series that is too short, has a time twice, or has a gap.
void check(Series& series, const Task& task, const std::string& path) {
  auto& points = series.points;
  const auto refuse = [&](index row, const auto&... parts) {
    fail_input(path, ": row ", row, ": the series \"", series.name, "\" ", parts...);
  };
  if (series.size() < task.shortest()) {
    refuse(points[0].row, "has ", series.size(), " points, expected at least ", task.shortest(), ": ", task.context(),
           " to read, and twice the horizon of ", task.horizon);
  }
  std::ranges::stable_sort(points, {}, &Point::time);
  for (std::size_t i = 1; i < points.size(); ++i) {
    if (points[i].time == points[i - 1].time) {
      refuse(points[i].row, "has the time of row ", points[i - 1].row, " again, expected another time");
    }
    if (points[i].time - points[i - 1].time != points[1].time - points[0].time) {
      refuse(points[i].row, "has a gap before this time, expected times at equal distances");
    }
  }
}

/// Returns the series in the order in which the file names them. Throws InputError, with the row, for anything that is not a point.
std::vector<Series> read_series(const std::string& path, const Task& task) {
  std::vector<Series> all;
  std::unordered_map<std::string, std::size_t> places;
  index row = 1;
  try {
    bool is_read = false;
    TableReader table([&](std::string& text) { return !std::exchange(is_read, true) && (text += read_bytes(path), true); });
    const auto column_of = [&](std::string_view name, std::string_view other) {
      const auto found =
          std::ranges::find_if(table.columns(), [&](const std::string& column) { return column == name || column == other; });
      require_input(found != table.columns().end(), path, ": row 1: found no column ", name,
                    ", expected series, time (or order) and value");
      return static_cast<std::size_t>(found - table.columns().begin());
    };
    const std::size_t series = column_of("series", "series"), time = column_of("time", "order"), value = column_of("value", "value");
    while (row = table.row() + 1, table.next()) {
      const auto fields = table.fields();
      Point point{.time = time_of(fields[time]), .row = row = table.row(), .value = 0};
      require_input(point.time >= 0, path, ": row ", row, ": found the time \"", fields[time],
                    "\", expected a whole number, or a month: 2024-03");
      require_input(is_number(fields[value], point.value) && std::abs(point.value) < 1e30, path, ": row ", row, ": found the value \"",
                    fields[value], "\", expected a number between -1e30 and 1e30");
      const auto [place, is_new] = places.try_emplace(std::string(fields[series]), all.size());
      if (is_new) {
        all.push_back({.name = place->first});
      }
      all[place->second].points.push_back(point);
    }
  } catch (const BadTable& error) {
    fail_input(path, ": row ", row, ": ", error.what());
  }
  require_input(!all.empty(), path, ": row 1: found no rows after the header, expected a row for each point");
  for (Series& series : all) {
    check(series, task, path);
  }
  return all;
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
    spread = std::max({std::sqrt(spread), y.naive_error(task) / 100, 1e-30});  // a context may be constant
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
  AdamW adamw(parameters);
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

/// The next steps of a series: all values of each quantile.
using Forecast = std::array<std::vector<double>, 3>;

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
    const double error = y.naive_error(task);
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
    fmt::print("{:<16} {:9.3f} {:9.3f} {:9.1f} %\n", name, pinball / points, mase / points, 100 * inside / points);
  }
};

/// Returns the text with each `special` replaced by `with`.
std::string replaced(std::string text, char special, std::string_view with) {
  for (std::size_t at = 0; (at = text.find(special, at)) != std::string::npos; at += with.size()) {
    text.replace(at, 1, with);
  }
  return text;
}

/// Draws a series: its last points in gray, the quantiles in blue, and the naive forecast as a dashed line.
std::string drawing_of(const Series& y, const Forecast& q, const Task& task, double top) {
  const index begin = std::max<index>(0, y.size() - 2 * task.context());
  std::vector<double> past;
  for (index i = begin; i < y.size(); ++i) {
    past.push_back(y[i]);
  }
  const Forecast naive = naive_forecast(y, y.size(), task);
  const std::pair<const std::vector<double>*, const char*> lines[] = {
      {&past, "gray"}, {&q[0], "skyblue"}, {&q[2], "skyblue"}, {&q[1], "blue"}, {&naive[1], "darkorange\" stroke-dasharray=\"4"}};
  double low = past[0], high = past[0];
  for (const auto& [values, color] : lines) {
    low = std::min(low, std::ranges::min(*values));
    high = std::max(high, std::ranges::max(*values));
  }
  std::string out = fmt::format("<text x=\"10\" y=\"{}\">{}</text>\n", top + 20, replaced(replaced(y.name, '&', "&amp;"), '<', "&lt;"));
  for (const auto& [values, color] : lines) {
    out += fmt::format("<polyline fill=\"none\" stroke=\"{}\" points=\"", color);
    for (std::size_t i = 0; i < values->size(); ++i) {
      const double x = static_cast<double>(i + (values == &past ? 0 : past.size())) / static_cast<double>(past.size() + q[0].size());
      out += fmt::format("{:.1f},{:.1f} ", 10 + 640 * x, top + 140 - 110 * ((*values)[i] - low) / std::max(high - low, 1e-30));
    }
    out += "\"/>\n";
  }
  return out;
}

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
    require_input(!is_taken(out) && is_there(out.parent_path()), "forecast: ", given[i],
                  " exists, or its folder does not: name a new file");
  }
  const std::vector<Series> all = read_series(given[0], task);
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
    for (std::size_t i = 0; i < q[0].size(); ++i) {
      csv += fmt::format("\"{}\",{},{:.7g},{:.7g},{:.7g}\n", replaced(y.name, '"', "\"\""), i + 1, q[0][i], q[1][i], q[2][i]);
    }
    svg += s < 4 ? drawing_of(y, q, task, 150 * static_cast<double>(s)) : "";
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
