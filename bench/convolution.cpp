// How fast are convolutions and pooling? Times the layers of a small classifier of digits and of typical image models: forward, gradient of
// x, gradient of the weights; and a whole step of the classifier.
#include "autograd/kernels/image/convolution.h"

#include <functional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "autograd/base/parallel.h"
#include "autograd/kernels/image/pool.h"
#include "autograd/ops/basic.h"
#include "autograd/ops/convolution.h"
#include "autograd/ops/linear.h"
#include "autograd/ops/loss.h"
#include "autograd/simd/philox.h"
#include "autograd/tape/parameters.h"
#include "autograd/tape/tape.h"
#include "bench/machine.h"
#include "bench/measure.h"
#include "bench/program.h"

namespace dikkat::bench {
namespace {

struct Arguments {
  index batch = 64;
  double budget = 0.5;  // seconds for one case
  std::string only;
  bool json = false;
};

struct Layer {
  const char* name;
  index channels, filters, groups;
  kernels::Window height, width;
};

constexpr Layer kLayers[] = {
    {"digits 1", 1, 16, 1, {28, 3, 1, 1}, {28, 3, 1, 1}},
    {"digits 2", 16, 32, 1, {28, 3, 1, 1}, {28, 3, 1, 1}},
    {"digits 2, after pooling", 16, 32, 1, {14, 3, 1, 1}, {14, 3, 1, 1}},
    {"without padding", 16, 32, 1, {28, 3}, {28, 3}},
    {"stride 2", 32, 64, 1, {28, 3, 2, 1}, {28, 3, 2, 1}},
    {"64 channels", 64, 64, 1, {14, 3, 1, 1}, {14, 3, 1, 1}},
    {"small images", 128, 128, 1, {7, 3, 1, 1}, {7, 3, 1, 1}},
    {"1 x 1", 64, 128, 1, {28}, {28}},
    {"depthwise", 64, 64, 64, {28, 3, 1, 1}, {28, 3, 1, 1}},
    {"text, 5 of 256", 64, 128, 1, {}, {256, 5, 1, 2}},
};

std::vector<float> numbers(index count, std::uint64_t seed) {
  const RandomStream stream(seed, "bench", 0);
  std::vector<float> values;
  for (index i = 0; i < count; ++i) {
    values.push_back(static_cast<float>(stream.word(i) >> 8) * 0x1p-23F - 1);
  }
  return values;
}

struct Row {
  std::string name;
  double flops;  // 0: of a case that memory limits
  Times times{};
};

/// Times one case, as many times as fit into the budget, and prints it.
class Report {
 public:
  explicit Report(const Arguments& a) : arguments_(a), peak_(peak_flops()) {
    if (!a.json) {
      fmt::print("{} threads, {:.0f} GFLOP/s at most, batches of {}\n\n", thread_count(), peak_, a.batch);
      fmt::print("{:<40} {:>10} {:>10} {:>10} {:>9} {:>8} {:>10}\n", "case", "median ms", "min", "max", "GFLOP/s", "of peak", "floor ms");
    }
  }

  void time(Row row, const std::function<void()>& f) {
    constexpr double kMostRuns = 2000;
    if (row.name.find(arguments_.only) == std::string::npos) {
      return;
    }
    const double once = measure(1, 1, f).min;
    row.times = measure(1, static_cast<int>(std::clamp(1e3 * arguments_.budget / once, 5.0, kMostRuns)), f);
    const double rate = row.flops / row.times.median * 1e-6, floor = row.flops / peak_ * 1e-6;
    if (!arguments_.json) {
      fmt::print("{:<40} {:>10.4f} {:>10.4f} {:>10.4f}", row.name, row.times.median, row.times.min, row.times.max);
      row.flops > 0 ? fmt::print(" {:>9.1f} {:>7.1f}% {:>10.4f}\n", rate, 100 * rate / peak_, floor) : fmt::print("\n");
      std::fflush(stdout);
    }
    list_.push_back({{"name", row.name},
                     {"median_ms", row.times.median},
                     {"min_ms", row.times.min},
                     {"max_ms", row.times.max},
                     {"flops", row.flops},
                     {"gflop_per_s", rate},
                     {"floor_ms", floor},
                     {"share_of_peak", rate / peak_}});
  }

  void finish() const {
    if (arguments_.json) {
      const nlohmann::ordered_json object{
          {"threads", thread_count()}, {"peak_gflop_per_s", peak_}, {"batch", arguments_.batch}, {"cases", list_}};
      fmt::print("{}\n", object.dump());
    }
  }

 private:
  const Arguments& arguments_;
  double peak_;
  nlohmann::ordered_json list_ = nlohmann::ordered_json::array();
};

void time_layer(const Arguments& a, const Layer& layer, Report& report) {
  const kernels::ConvolutionSizes s{a.batch, layer.channels, layer.filters, layer.groups, layer.height, layer.width};
  const auto x = numbers(s.images * s.channels * s.image(), 1), weight = numbers(s.filters * s.depth(), 2), bias = numbers(s.filters, 3);
  const auto dy = numbers(s.images * s.filters * s.pixels(), 4);
  std::vector<float> y(dy.size()), dx(x.size()), dweight(weight.size()), dbias(bias.size());
  const double flops = 2 * s.multiply_adds();
  const auto name = [&](const char* pass) { return fmt::format("{}, {}", layer.name, pass); };
  report.time({name("forward"), flops}, [&] {
    kernels::convolution_forward<float>({.sizes = s, .x = x.data(), .weight = weight.data(), .bias = bias.data(), .y = y.data()});
  });
  kernels::Convolution<float> backward{.sizes = s, .x = x.data(), .weight = weight.data(), .dy = dy.data()};
  backward.dx = {dx.data()};
  report.time({name("dx"), flops}, [&] { kernels::convolution_backward(backward); });
  backward.dx = {};
  backward.dweight = {dweight.data()};
  backward.dbias = {dbias.data()};
  report.time({name("dW and db"), flops}, [&] { kernels::convolution_backward(backward); });
}

void time_pooling(const Arguments& a, Report& report) {
  const kernels::Window half{28, 2, 2};
  const index planes = 32 * a.batch;
  const auto x = numbers(planes * 28 * 28, 1), dy = numbers(planes * 14 * 14, 2);
  std::vector<float> y(dy.size()), dx(x.size());
  std::vector<std::int32_t> positions(dy.size());
  const kernels::Pool<float> pool{.planes = planes,
                                  .height = half,
                                  .width = half,
                                  .x = x.data(),
                                  .y = y.data(),
                                  .positions = positions.data(),
                                  .dy = dy.data(),
                                  .dx = {dx.data()}};
  report.time({"max_pool2d 2 x 2 of 32 x 28 x 28, forward", 0}, [&] { kernels::max_pool_forward(pool); });
  report.time({"max_pool2d, backward", 0}, [&] { kernels::max_pool_backward(pool); });
  report.time({"avg_pool2d, forward", 0}, [&] { kernels::avg_pool_forward(pool); });
  report.time({"avg_pool2d, backward", 0}, [&] { kernels::avg_pool_backward(pool); });
}

/// Two convolutions, each with relu and pooling, and a linear layer.
struct Digits {
  explicit Digits(index batch_) : batch(batch_), x(numbers(batch * 28 * 28, 1)) {
    const auto add = [&](const char* path, Shape shape) { return store.add(path, shape, Init::normal(0.1), Decay::yes, Role::hidden); };
    weights = {add("one", {16, 1, 3, 3}), add("two", {32, 16, 3, 3}), add("head", {10, 32 * 7 * 7})};
    biases = {add("one.bias", {16}), add("two.bias", {32}), add("head.bias", {10})};
    store.allocate(1);
    for (index i = 0; i < batch; ++i) {
      targets.push_back(static_cast<std::int32_t>(i % 10));
    }
  }

  void step(Tape& tape) {
    Tensor h = tape.input<float>({batch, 1, 28, 28}, x);
    for (std::size_t layer = 0; layer < 2; ++layer) {
      h = max_pool2d(relu(conv2d(h, weights[layer], biases[layer], {.padding = 1})), 2);
    }
    const Tensor logits = linear(reshape(h, {batch, 32 * 7 * 7}), weights[2], biases[2]);
    tape.backward(cross_entropy(logits, tape.input<std::int32_t>({batch}, targets)));
    tape.reset();
    store.clear_gradients();
  }
  /// Multiply-adds count twice. The first convolution has no gradient of x.
  double flops() const {
    const double one = 28 * 28 * 9 * 16, two = 14 * 14 * 16 * 9 * 32, head = 32 * 7 * 7 * 10;
    return 2 * static_cast<double>(batch) * (2 * one + 3 * two + 3 * head);
  }

  index batch;
  std::vector<float> x;
  std::vector<std::int32_t> targets;
  ParameterStore store;
  std::vector<Parameter> weights, biases;
};

void run(const Arguments& a) {
  Report report(a);
  for (const Layer& layer : kLayers) {
    time_layer(a, layer, report);
  }
  time_pooling(a, report);
  Digits digits(a.batch);
  Tape tape;
  report.time({"a step of the classifier of digits", digits.flops()}, [&] { digits.step(tape); });
  report.finish();
}

}  // namespace
}  // namespace dikkat::bench

int main(int argc, char** argv) {
  dikkat::bench::Arguments a;
  CLI::App app{"Times convolutions and pooling, and their share of the peak measured in this process."};
  app.add_option("--batch", a.batch, "Images")->capture_default_str()->check(CLI::Range(1, 1 << 16));
  app.add_option("--budget", a.budget, "Seconds for each case")->capture_default_str()->check(CLI::PositiveNumber);
  app.add_option("--only", a.only, "Cases whose names have this text");
  app.add_flag("--json", a.json, "Print one JSON object");
  return dikkat::bench::run_program(app, argc, argv, [&] { dikkat::bench::run(a); });
}
