// How long does an update of the weights take? It consists of the gradient's norm, clipping and AdamW, which memory bandwidth limits.
#include "bench/memory_cases.h"
#include "bench/program.h"
#include "optim/adamw.h"
#include "optim/clip.h"

namespace dikkat::bench {
namespace {

struct Arguments {
  index parameters = 124'439'808;  // GPT-2's smallest
  MemoryRuns runs{.warmup = 2, .count = 10};
};

void run(const Arguments& a) {
  ParameterStore store;
  store.add("weight", {a.parameters}, Init::zeros(), Decay::yes, Role::hidden);
  store.allocate(1);
  AdamW optimizer(store, {});
  ParameterStore::Entry& entry = store.entry("weight");
  const auto write_gradients = [&] { entry.gradient.written = true; };  // as a backward pass does
  parallel_blocks(a.parameters, 1 << 14,
                  [&](index begin, index end) { std::fill(store.gradients<float>() + begin, store.gradients<float>() + end, 1e-3F); });

  index step = 0;
  const double slab = static_cast<double>(a.parameters) * sizeof(float);
  report_memory_cases({{"gradient norm", slab,
                        [&] {
                          write_gradients();
                          gradient_norm(store);
                        }},
                       {"adamw", 7 * slab,
                        [&] {
                          write_gradients();
                          optimizer.step(++step, 1e-4);
                        }},
                       {"gradient norm, clipping and adamw", 8 * slab,
                        [&] {
                          write_gradients();
                          const double norm = gradient_norm(store);
                          optimizer.step(++step, 1e-4, clip_factor(norm, 1));
                        }}},
                      a.runs);
}

}  // namespace
}  // namespace dikkat::bench

int main(int argc, char** argv) {
  dikkat::bench::Arguments a;
  CLI::App app{"Times updates of f32 weights by AdamW with clipping."};
  app.add_option("--parameters", a.parameters, "Number of parameters")->capture_default_str()->check(CLI::PositiveNumber);
  app.add_option("--runs", a.runs.count, "Timed runs")->capture_default_str()->check(CLI::PositiveNumber);
  app.add_option("--warmup", a.runs.warmup, "Untimed runs before them")->capture_default_str();
  app.add_flag("--json", a.runs.json, "Print one JSON object");
  return dikkat::bench::run_program(app, argc, argv, [&] { dikkat::bench::run(a); });
}
