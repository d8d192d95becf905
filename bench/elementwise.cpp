// How long do the kernels other than matrix products and attention take? A matrix that fits into a cache is read faster than memory can be
// copied, so shares above 100 % are possible.
#include "autograd/kernels/elementwise.h"

#include "autograd/kernels/formulas.h"
#include "autograd/kernels/layer_norm.h"
#include "autograd/kernels/reduce/softmax.h"
#include "autograd/ops/broadcast_loops.h"
#include "autograd/simd/philox.h"
#include "bench/memory_cases.h"
#include "bench/program.h"

namespace dikkat::bench {
namespace {

struct Arguments {
  index rows = 1024, cols = 3072;
  double dropout = 0.1;
  MemoryRuns runs;
};

std::vector<float> numbers(index count, std::uint64_t seed) {
  const RandomStream stream(seed, "bench", 0);
  std::vector<float> values;
  for (index i = 0; i < count; ++i) {
    values.push_back(static_cast<float>(6 * stream.uniform(i) - 3));
  }
  return values;
}

void run(const Arguments& a) {
  const index n = a.rows * a.cols;
  const auto x = numbers(n, 1), branch = numbers(n, 2), dy = numbers(n, 3), row = numbers(a.cols, 4);
  std::vector<float> y(x.size()), other(x.size()), drow(row.size()), drow2(row.size());
  std::vector<float> mean(static_cast<std::size_t>(a.rows)), rstd(mean.size());

  std::vector<MemoryCase> cases;
  const double matrix = static_cast<double>(n) * sizeof(float);
  const auto add = [&](std::string name, double matrices, std::function<void()> f) {
    cases.push_back({std::move(name), matrices * matrix, std::move(f)});
  };
  // Add the activations: forward, backward and both.
  const auto map = [&](const char* name, const auto& function) {
    const auto forward = [&, function] { detail::map_forward<float>(kernels::formula(function), n, x.data(), y.data()); };
    const auto backward = [&, function] {
      detail::map_backward<float>(kernels::formula(function), n, x.data(), dy.data(), {other.data()});
    };
    add(fmt::format("{} forward", name), 2, forward);
    add(fmt::format("{} backward", name), 3, backward);
    add(fmt::format("{} forward + backward", name), 5, [=] {
      forward();
      backward();
    });
  };
  map("gelu", kernels::Gelu{});
  map("relu", kernels::Relu{});
  map("tanh", kernels::Tanh{});
  map("sigmoid", kernels::Sigmoid{});
  map("exp", kernels::Exp{});

  // Add sums, dropout and softmax.
  add("sum of rows", 1, [&] { kernels::sum_rows<float>(a.rows, a.cols, x.data(), {drow.data()}); });
  const kernels::Dropping dropping{.probability = a.dropout, .stream = RandomStream(1, "bench", 7)};
  add("dropout", 2, [&] { kernels::dropout<float>({.n = n, .dropping = dropping, .x = x.data(), .y = {y.data()}}); });
  const kernels::Softmax<float> softmax{
      .rows = a.rows, .cols = a.cols, .x = x.data(), .y = y.data(), .dy = dy.data(), .dx = {other.data()}};
  add("softmax forward", 2, [=] { kernels::softmax_forward(softmax); });
  add("softmax backward", 3, [=] { kernels::softmax_backward(softmax); });

  // Add the norms.
  const kernels::LayerNormForward<float> norm{.rows = a.rows,
                                              .cols = a.cols,
                                              .x = x.data(),
                                              .gamma = row.data(),
                                              .beta = row.data(),
                                              .y = y.data(),
                                              .mean = mean.data(),
                                              .rstd = rstd.data()};
  const kernels::LayerNormBackward<float> norm_backward{.rows = a.rows,
                                                        .cols = a.cols,
                                                        .dy = dy.data(),
                                                        .x = x.data(),
                                                        .gamma = row.data(),
                                                        .mean = mean.data(),
                                                        .rstd = rstd.data(),
                                                        .dx = {other.data()},
                                                        .dgamma = {drow.data()},
                                                        .dbeta = {drow2.data()}};
  add("layer_norm forward", 2, [=] { kernels::layer_norm_forward(norm); });
  add("layer_norm backward", 3, [=] { kernels::layer_norm_backward(norm_backward); });

  // Add the norms of a sum.
  auto add_norm = norm;
  add_norm.residual = x.data();
  add_norm.branch = branch.data();
  add_norm.sum = other.data();
  add("add_layer_norm forward", 4, [=] { kernels::layer_norm_forward(add_norm); });
  add_norm.dropping = dropping;
  add("add_layer_norm forward, with dropout", 4, [=] { kernels::layer_norm_forward(add_norm); });
  auto add_norm_backward = norm_backward;
  add_norm_backward.dx.add = true;
  add("add_layer_norm backward", 4, [=] { kernels::layer_norm_backward(add_norm_backward); });
  add_norm_backward.dropping = dropping;
  add_norm_backward.dbranch = {y.data()};
  add("add_layer_norm backward, with dropout", 5, [=] { kernels::layer_norm_backward(add_norm_backward); });
  report_memory_cases(cases, a.runs);
}

}  // namespace
}  // namespace dikkat::bench

int main(int argc, char** argv) {
  dikkat::bench::Arguments a;
  CLI::App app{"Times the kernels other than matrix products and attention, on one f32 matrix."};
  app.add_option("--rows", a.rows, "Rows of the matrix")->capture_default_str()->check(CLI::PositiveNumber);
  app.add_option("--cols", a.cols, "Columns")->capture_default_str()->check(CLI::PositiveNumber);
  app.add_option("--dropout", a.dropout, "Dropout probability")->capture_default_str()->check(CLI::Range(0.0, 0.99));
  app.add_option("--runs", a.runs.count, "Timed runs")->capture_default_str()->check(CLI::PositiveNumber);
  app.add_option("--warmup", a.runs.warmup, "Untimed runs before them")->capture_default_str();
  app.add_flag("--json", a.runs.json, "Print one JSON object");
  return dikkat::bench::run_program(app, argc, argv, [&] { dikkat::bench::run(a); });
}
