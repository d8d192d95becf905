// How long do the output head and its cross-entropy take, forward and backward, from (rows, width) to a loss? All gradients are computed.
#include <span>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/resource.h>

#include "autograd/base/parallel.h"
#include "autograd/ops/basic.h"
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
  index rows = 1024, width = 768, vocabulary = 50257;
  int runs = 7, warmup = 2;
  bool two_ops = false, bf16 = false, json = false;
};

struct Head {
  explicit Head(const Arguments& a) : shape{a.rows, a.width}, two_ops(a.two_ops), in_bf16(a.bf16) {
    weight = store.add("weight", {a.vocabulary, a.width}, Init::normal(0.02), Decay::yes, Role::hidden);
    store.allocate(1);
    const RandomStream stream(1, "bench", 0);
    for (index i = 0; i < shape.size(); ++i) {
      x.push_back(static_cast<float>(stream.word(i) >> 8) * 0x1p-23F - 1);
    }
    for (index i = 0; i < a.rows; ++i) {
      targets.push_back(static_cast<std::int32_t>(stream.word(i) % static_cast<std::uint32_t>(a.vocabulary)));
    }
  }

  Tensor loss(Tape& tape) {
    const Tensor in = cast(tape.input<float>(shape, x, true), in_bf16 ? DType::bf16 : DType::f32);
    const Tensor right = tape.input<std::int32_t>({shape.rows()}, targets);
    return two_ops ? cross_entropy(linear(in, weight, {}, {.dtype = DType::f32}), right)
                   : linear_cross_entropy(in, weight, right, {.is_root = true});
  }

  Shape shape;
  bool two_ops, in_bf16;
  ParameterStore store;
  Parameter weight;
  std::vector<float> x;
  std::vector<std::int32_t> targets;
};

struct Row {
  const char* what = "";
  Times times;
  double flops = 0;

  double gflop_s() const { return flops / times.median * 1e-6; }
};

void run(const Arguments& a) {
  const double product = 2.0 * static_cast<double>(a.rows) * static_cast<double>(a.width) * static_cast<double>(a.vocabulary);
  // Time forward on its own, then with backward.
  Head head(a);
  Tape evaluating(Recording::off);
  Row rows[] = {{"forward", {}, product}, {"forward + backward", {}, 3 * product}};
  rows[0].times = measure(a.warmup, a.runs, [&] {
    head.loss(evaluating);
    evaluating.reset();
  });
  Tape tape;
  rows[1].times = measure(a.warmup, a.runs, [&] {
    tape.backward(head.loss(tape));
    tape.reset();
    head.store.clear_gradients();
  });
  const double peak = a.bf16 ? bf16_peak_flops() : peak_flops();
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);

  // Print the figures as JSON or as text.
  if (a.json) {
    nlohmann::ordered_json object{{"rows", a.rows},
                                  {"width", a.width},
                                  {"vocabulary", a.vocabulary},
                                  {"ops", a.two_ops ? "linear, cross_entropy" : "linear_cross_entropy"},
                                  {"threads", thread_count()},
                                  {"runs", a.runs},
                                  {"peak_gflop_s", peak},
                                  {"activation_bytes", tape.activation_bytes()},
                                  {"gradient_bytes", tape.gradient_bytes()},
                                  {"peak_bytes", usage.ru_maxrss * 1024}};
    for (const Row& row : rows) {
      object["cases"].push_back({{"what", row.what},
                                 {"ms_median", row.times.median},
                                 {"ms_min", row.times.min},
                                 {"ms_max", row.times.max},
                                 {"gflop_s", row.gflop_s()},
                                 {"share_of_peak", row.gflop_s() / peak}});
    }
    fmt::print("{}\n", object.dump());
    return;
  }
  fmt::print(
      "{} x {} x {}, {} threads, at most {:.0f} GFLOP/s; the tape took {:.0f} MB, gradients of activations {:.0f} MB, all {:.0f} MB\n",
      a.rows, a.width, a.vocabulary, thread_count(), peak, static_cast<double>(tape.activation_bytes()) * 1e-6,
      static_cast<double>(tape.gradient_bytes()) * 1e-6, static_cast<double>(usage.ru_maxrss) * 1024e-6);
  for (const Row& row : rows) {
    fmt::print("{:<20}{:10.2f} ms (min {:.2f}, max {:.2f}; {} runs){:8.1f} GFLOP/s, {:.0f} %\n", row.what, row.times.median, row.times.min,
               row.times.max, a.runs, row.gflop_s(), 100 * row.gflop_s() / peak);
  }
}

}  // namespace
}  // namespace dikkat::bench

int main(int argc, char** argv) {
  dikkat::bench::Arguments a;
  CLI::App app{"Times an output head with its cross-entropy."};
  app.add_option("--rows", a.rows, "Number of targets")->capture_default_str()->check(CLI::PositiveNumber);
  app.add_option("--width", a.width, "Width of the model")->capture_default_str()->check(CLI::PositiveNumber);
  app.add_option("--vocabulary", a.vocabulary, "Number of classes")->capture_default_str()->check(CLI::PositiveNumber);
  app.add_option("--runs", a.runs, "Timed runs")->capture_default_str()->check(CLI::PositiveNumber);
  app.add_option("--warmup", a.warmup, "Untimed runs before them")->capture_default_str();
  app.add_flag("--two-ops", a.two_ops, "Use the two ops linear and cross_entropy, with a matrix of all logits");
  app.add_flag("--bf16", a.bf16, "Products of bf16");
  app.add_flag("--json", a.json, "Print one JSON object");
  return dikkat::bench::run_program(app, argc, argv, [&] { dikkat::bench::run(a); });
}
