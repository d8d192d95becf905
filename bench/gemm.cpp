// How fast are matrix products? Times those of the linear layers of GPT-2, of the character model, and of SmolLM2-135M with adapters:
// forward, gradient of x, gradient of the weights.
#include "autograd/kernels/gemm/gemm.h"

#include <map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "autograd/base/parallel.h"
#include "autograd/kernels/gemm/gemm_eigen_loops.h"
#include "autograd/simd/philox.h"
#include "bench/machine.h"
#include "bench/measure.h"
#include "bench/program.h"

namespace dikkat::bench {
namespace {

struct Arguments {
  std::vector<std::string> models = {"gpt2", "char"};
  std::vector<std::string> libraries = {"own"};
  index rows = 0;       // of x; 0: a batch of the model
  double budget = 0.3;  // seconds for one product
  bool json = false;
};

struct Linear {
  const char* model;
  const char* name;
  index rows;
  index in, out;
};

constexpr Linear kLinears[] = {
    {"gpt2", "qkv", 1024, 768, 2304},  {"gpt2", "proj", 1024, 768, 768},   {"gpt2", "up", 1024, 768, 3072},
    {"gpt2", "down", 1024, 3072, 768}, {"gpt2", "head", 1024, 768, 50257}, {"char", "qkv", 768, 128, 384},
    {"char", "proj", 768, 128, 128},   {"char", "up", 768, 128, 512},      {"char", "down", 768, 512, 128},
    {"char", "head", 768, 128, 65},    {"lora", "qkv", 512, 576, 960},     {"lora", "qkv a", 512, 576, 16},
    {"lora", "qkv b", 512, 16, 960},   {"lora", "up", 512, 576, 3072},     {"lora", "up a", 512, 576, 16},
    {"lora", "up b", 512, 16, 3072},   {"lora", "down", 512, 1536, 576},   {"lora", "down a", 512, 1536, 16},
    {"lora", "down b", 512, 16, 576},
};

std::vector<float> numbers(index count, const char* what) {
  const RandomStream stream(1, what, 0);
  std::vector<float> values(static_cast<std::size_t>(count));
  parallel_blocks(count, 1 << 14, [&](index begin, index end) {
    for (index i = begin; i < end; ++i) {
      values[static_cast<std::size_t>(i)] = static_cast<float>(stream.uniform(i)) - 0.5F;
    }
  });
  return values;
}

struct Case {
  const Linear& linear;
  const char* pass;
  kernels::Gemm<float> problem;
  const bf16 *a, *b;  // the operands as bf16
  Times times{};

  /// The product with operands of bf16, stored as `a` and `b`.
  kernels::Bf16Gemm as_bf16(kernels::Bf16Source from_a, kernels::Bf16Source from_b) const {
    const kernels::Gemm<float>& p = problem;
    return {.m = p.m,
            .n = p.n,
            .k = p.k,
            .a = from_a,
            .lda = p.lda,
            .transpose_a = p.transpose_a,
            .b = from_b,
            .ldb = p.ldb,
            .transpose_b = p.transpose_b,
            .c = p.c,
            .ldc = p.ldc};
  }
  double rate() const {
    return 2 * static_cast<double>(problem.m) * static_cast<double>(problem.n) * static_cast<double>(problem.k) / times.median * 1e-6;
  }
};

struct Library {
  bool is_bf16;
  void (*multiply)(const Case& c);
};
/// The library for each name that --library takes.
const std::map<std::string, Library> kLibraries = {
    {"own", {false, [](const Case& c) { kernels::gemm(c.problem); }}},
    {"eigen", {false, [](const Case& c) { kernels::gemm_eigen(c.problem); }}},
    {"own-bf16", {true, [](const Case& c) { kernels::gemm(c.as_bf16(c.problem.a, c.problem.b)); }}},
    {"own-bf16-stored", {true, [](const Case& c) { kernels::gemm(c.as_bf16(c.a, c.b)); }}},
};

/// As many runs as fit into the budget, but at least three.
template <class F>
Times timed(double budget, F&& f) {
  constexpr double kMostRuns = 10'000;
  const double once = measure(1, 1, f).min;
  return measure(1, static_cast<int>(std::clamp(1e3 * budget / once, 3.0, kMostRuns)), f);
}

/// Random numbers as f32 and as bf16.
struct Numbers {
  Numbers(index count, const char* what) : f32(numbers(count, what)) {
    for (const float number : f32) {
      rounded.push_back(to_bf16(number));
    }
  }
  std::vector<float> f32;
  std::vector<bf16> rounded;
};

/// y = x W^T, dx = dy W, dW = dy^T x.
// NOLINTNEXTLINE(readability-non-const-parameter): products are written to it
std::vector<Case> cases_of(const Linear& l, const Numbers& x, const Numbers& y, const Numbers& w, float* to) {
  const auto problem = [&](index m, index n, index k, const Numbers& a, index lda, bool transpose_a, const Numbers& b, bool transpose_b) {
    return kernels::Gemm<float>{.m = m,
                                .n = n,
                                .k = k,
                                .a = a.f32.data(),
                                .lda = lda,
                                .transpose_a = transpose_a,
                                .b = b.f32.data(),
                                .ldb = l.in,
                                .transpose_b = transpose_b,
                                .c = to,
                                .ldc = n};
  };
  return {{l, "forward", problem(l.rows, l.out, l.in, x, l.in, false, w, true), x.rounded.data(), w.rounded.data()},
          {l, "dx", problem(l.rows, l.in, l.out, y, l.out, false, w, false), y.rounded.data(), w.rounded.data()},
          {l, "dW", problem(l.out, l.in, l.rows, y, l.out, true, x, false), y.rounded.data(), x.rounded.data()}};
}

void run(const Arguments& a) {
  const double peak = peak_flops(), bf16_peak = bf16_peak_flops();
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  if (!a.json) {
    fmt::print("{} threads, {:.0f} GFLOP/s at most, {:.0f} of bf16\n\n", thread_count(), peak, bf16_peak);
    fmt::print("{:<12} {:<8} {:<18} {:>6} {:>6} {:>6} {:>10} {:>10} {:>10} {:>9} {:>8}\n", "layer", "pass", "library", "m", "n", "k",
               "median ms", "min", "max", "GFLOP/s", "of peak");
  }
  // Time each pass of each layer with each library.
  for (Linear l : kLinears) {
    if (std::find(a.models.begin(), a.models.end(), l.model) == a.models.end()) {
      continue;
    }
    l.rows = a.rows > 0 ? a.rows : l.rows;
    const Numbers x(l.rows * l.in, "x"), y(l.rows * l.out, "y"), w(l.out * l.in, "w");
    std::vector<float> to(std::max({x.f32.size(), y.f32.size(), w.f32.size()}));
    for (Case& c : cases_of(l, x, y, w, to.data())) {
      for (const std::string& library : a.libraries) {
        const Library& own = kLibraries.at(library);
        c.times = timed(a.budget, [&] { own.multiply(c); });
        const double most = own.is_bf16 ? bf16_peak : peak;
        const std::string name = fmt::format("{} {}", l.model, l.name);
        if (!a.json) {
          fmt::print("{:<12} {:<8} {:<18} {:>6} {:>6} {:>6} {:>10.4f} {:>10.4f} {:>10.4f} {:>9.1f} {:>7.1f}%\n", name, c.pass, library,
                     c.problem.m, c.problem.n, c.problem.k, c.times.median, c.times.min, c.times.max, c.rate(), 100 * c.rate() / most);
          std::fflush(stdout);
        }
        list.push_back({{"name", fmt::format("{} {}", name, c.pass)},
                        {"library", library},
                        {"m", c.problem.m},
                        {"n", c.problem.n},
                        {"k", c.problem.k},
                        {"median_ms", c.times.median},
                        {"min_ms", c.times.min},
                        {"max_ms", c.times.max},
                        {"gflop_per_s", c.rate()},
                        {"share_of_peak", c.rate() / most}});
      }
    }
  }
  if (a.json) {
    const nlohmann::ordered_json object{
        {"threads", thread_count()}, {"peak_gflop_per_s", peak}, {"bf16_peak_gflop_per_s", bf16_peak}, {"cases", list}};
    fmt::print("{}\n", object.dump());
  }
}

}  // namespace
}  // namespace dikkat::bench

int main(int argc, char** argv) {
  dikkat::bench::Arguments a;
  CLI::App app{"Times the matrix products of linear layers, and their share of the peak measured in this process."};
  app.add_option("--model", a.models, "Models whose products are timed; lora is SmolLM2-135M with adapters of rank 16")
      ->delimiter(',')
      ->check(CLI::IsMember({"gpt2", "char", "lora"}));
  app.add_option("--library", a.libraries,
                 "Library; several are timed in turn. With bf16, f32 is rounded by the product, or operands are stored as bf16")
      ->delimiter(',')
      ->check(CLI::IsMember(dikkat::bench::kLibraries));
  app.add_option("--rows", a.rows, "Rows of x; 0: those of a batch of the model")->capture_default_str()->check(CLI::Range(0, 1 << 20));
  app.add_option("--budget", a.budget, "Seconds for each product")->capture_default_str()->check(CLI::PositiveNumber);
  app.add_flag("--json", a.json, "Print one JSON object");
  return dikkat::bench::run_program(app, argc, argv, [&] { dikkat::bench::run(a); });
}
