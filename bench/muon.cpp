// How fast does Muon update the hidden matrices of a model, and how orthogonal are the updates? Nearly all of its work is matrix products
// (Newton-Schulz).
#include "optim/muon.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "autograd/base/parallel.h"
#include "autograd/simd/philox.h"
#include "bench/machine.h"
#include "bench/measure.h"
#include "bench/program.h"
#include "tests/support/orthogonality.h"

namespace dikkat::bench {
namespace {

using testing::orthogonality;
using testing::Orthogonality;

struct Arguments {
  std::vector<std::string> models = {"char", "gpt2"};
  std::vector<std::string> coefficients = {"jordan"};
  index steps = 0;  // 0: the usual number
  index rank = 0;   // of the gradients whose update is judged; 0: full
  bool bf16 = false;
  bool normalize = false;
  int runs = 0;  // 0: as many as take about two seconds
  bool json = false;
};

struct Matrices {
  const char* model;
  const char* name;
  index count, rows, cols;
};

constexpr Matrices kMatrices[] = {
    {"char", "attention", 16, 128, 128}, {"char", "up", 4, 512, 128},  {"char", "down", 4, 128, 512},
    {"gpt2", "attention", 8, 768, 768},  {"gpt2", "up", 2, 3072, 768}, {"gpt2", "down", 2, 768, 3072},
};

Muon::Options options_of(const Arguments& a, const std::string& coefficients) {
  Muon::Options options{.coefficients = *value_named<MuonCoefficients>(coefficients)};
  options.steps = a.steps > 0 ? a.steps : usual_steps(options.coefficients);
  options.bf16_products = a.bf16;
  options.beta2 = a.normalize ? std::optional(0.9) : std::nullopt;
  return options;
}

/// Writes a matrix of uniform random numbers, or a product of two such matrices, which has a lower rank.
void write_gradient(const Matrices& m, index rank, float* to) {
  const RandomStream stream(1, "gradients", 0);
  const auto number = [&](index i) { return static_cast<float>(stream.uniform(i)) - 0.5F; };
  for (index i = 0; i < m.rows; ++i) {
    for (index j = 0; j < m.cols; ++j) {
      float& out = to[i * m.cols + j];
      out = rank == 0 ? number(i * m.cols + j) : 0;
      for (index r = 0; r < rank; ++r) {
        out += number(i * rank + r) * number(m.rows * rank + r * m.cols + j);
      }
    }
  }
}

/// Returns how orthogonal one update is.
Orthogonality orthogonality_of(const Matrices& m, const Muon::Options& options, index rank) {
  ParameterStore store;
  store.add("matrix", {m.rows, m.cols}, Init::zeros(), Decay::yes, Role::hidden);
  store.allocate(1);
  Muon optimizer(store, options);
  write_gradient(m, rank, store.gradients<float>());
  store.entry("matrix").gradient.written = true;
  optimizer.step(1, 1);
  std::vector<float> update(store.weights<float>(), store.weights<float>() + m.rows * m.cols);
  for (float& x : update) {
    x /= -0.2F * std::sqrt(static_cast<float>(std::max(m.rows, m.cols)));
  }
  return orthogonality(m.rows, m.cols, update.data());
}

void run(const Arguments& a) {
  const double peak = peak_flops();
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  if (!a.json) {
    fmt::print("{} threads, {:.0f} GFLOP/s of FMA at most\n\n", thread_count(), peak);
    fmt::print("{:<16} {:>5} {:>6} {:>6} {:<14} {:>5} {:>10} {:>10} {:>9} {:>8} {:>8} {:>8}\n", "matrices", "count", "rows", "cols",
               "coefficients", "steps", "median ms", "min", "GFLOP/s", "of peak", "rms", "largest");
  }
  const auto run_case = [&](const Matrices& m, const std::string& coefficients) {
    const Muon::Options options = options_of(a, coefficients);
    const Orthogonality from_orthogonal = orthogonality_of(m, options, a.rank);
    // Make the matrices, and gradients for all of them.
    ParameterStore store;
    for (index i = 0; i < m.count; ++i) {
      store.add(concat("matrix", i), {m.rows, m.cols}, Init::normal(0.02), Decay::yes, Role::hidden);
    }
    store.allocate(1);
    Muon optimizer(store, options);
    const RandomStream stream(1, "gradients", 0);
    for (index i = 0; i < m.count * m.rows * m.cols; ++i) {
      store.gradients<float>()[i] = static_cast<float>(stream.uniform(i)) - 0.5F;
    }
    index step = 0;
    const auto update = [&] {
      for (index i = 0; i < m.count; ++i) {
        store.entry(concat("matrix", i)).gradient.written = true;  // as a backward pass does
      }
      optimizer.step(++step, 1e-4);
    };
    // Time as many updates as asked for, or as fit into about two seconds.
    const double once = measure(1, 1, update).min;
    const Times t = measure(1, a.runs > 0 ? a.runs : static_cast<int>(std::clamp(2e3 / once, 5.0, 1e4)), update);
    const double rate = optimizer.cost().flops / t.median * 1e-6;
    const std::string name = fmt::format("{} {}", m.model, m.name);
    if (a.json) {
      list.push_back({{"name", name},
                      {"count", m.count},
                      {"rows", m.rows},
                      {"cols", m.cols},
                      {"coefficients", coefficients},
                      {"steps", *options.steps},
                      {"orthogonality_rms", from_orthogonal.rms},
                      {"orthogonality_largest", from_orthogonal.largest},
                      {"median_ms", t.median},
                      {"min_ms", t.min},
                      {"gflop_per_s", rate},
                      {"share_of_peak", rate / peak}});
    } else {
      fmt::print("{:<16} {:>5} {:>6} {:>6} {:<14} {:>5} {:>10.3f} {:>10.3f} {:>9.1f} {:>7.1f}% {:>8.3f} {:>8.3f}\n", name, m.count, m.rows,
                 m.cols, coefficients, *options.steps, t.median, t.min, rate, 100 * rate / peak, from_orthogonal.rms,
                 from_orthogonal.largest);
      std::fflush(stdout);
    }
  };
  for (const Matrices& m : kMatrices) {
    for (const std::string& coefficients : a.coefficients) {
      if (std::find(a.models.begin(), a.models.end(), m.model) != a.models.end()) {
        run_case(m, coefficients);
      }
    }
  }
  if (a.json) {
    fmt::print("{}\n", nlohmann::ordered_json{{"threads", thread_count()}, {"peak_gflop_per_s", peak}, {"cases", list}}.dump());
  }
}

}  // namespace
}  // namespace dikkat::bench

int main(int argc, char** argv) {
  dikkat::bench::Arguments a;
  CLI::App app{
      "Times Muon's updates of a model's hidden matrices, with the share of the rate of fused multiply-adds measured in this process, and "
      "how far the squares of an update's singular values are from 1 (root mean square, and largest)."};
  app.add_option("--model", a.models, "Whose matrices: char, gpt2 (two blocks), or both")
      ->delimiter(',')
      ->check(CLI::IsMember({"char", "gpt2"}));
  app.add_option("--coefficients", a.coefficients, "jordan, polar_express and turbo, or some of them")
      ->delimiter(',')
      ->check(CLI::IsMember({"jordan", "polar_express", "turbo"}));
  app.add_option("--steps", a.steps, "Newton-Schulz steps; 0: the usual number")->capture_default_str()->check(CLI::NonNegativeNumber);
  app.add_option("--rank", a.rank, "Rank of the gradients whose update is judged; 0: full")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);
  app.add_flag("--bf16", a.bf16, "Products round their operands to bf16");
  app.add_flag("--normalize", a.normalize, "NorMuon");
  app.add_option("--runs", a.runs, "Runs that are timed; 0: about two seconds of them")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);
  app.add_flag("--json", a.json, "One object");
  return dikkat::bench::run_program(app, argc, argv, [&] { dikkat::bench::run(a); });
}
