// How much faster does a GPT generate several samples at once than one? Measures tokens per second of the scheduler for several numbers of
// streams, each with a prompt of its own; the time to the first token and between tokens; and what the machine allows: a token of all
// streams needs the weights once from memory, and the multiply-adds of each stream. Numbers of streams are timed in turn, since the speed
// of a shared machine varies.
#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "autograd/base/pages.h"
#include "autograd/base/parallel.h"
#include "bench/machine.h"
#include "bench/model.h"
#include "bench/program.h"
#include "train/model/language_model.h"
#include "train/model/pack_weights.h"
#include "train/sample/scheduler.h"

namespace dikkat::bench {
namespace {

using Clock = std::chrono::steady_clock;

struct Arguments {
  std::vector<std::string> shapes = {"gpt2", "smollm2-135m"};
  std::vector<std::string> weights = {"f32", "bf16", "q8"};
  std::vector<index> streams = {1, 2, 4, 8};
  std::string cache = "f32";
  index prompt = 128;
  index tokens = 64;
  int rounds = 5;
  bool greedy = false;
  bool json = false;
};

double ms(Clock::time_point from, Clock::time_point to) { return std::chrono::duration<double, std::milli>(to - from).count(); }

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}

TransformerConfig config_of(const std::string& shape) {
  if (shape == "gpt2") {
    return {.n_layer = 12, .n_head = 12, .n_embd = 768, .block_size = 1024, .vocab_size = 50257};
  }
  require_input(shape == "smollm2-135m", "--shape is ", shape, ", expected gpt2 or smollm2-135m");
  TransformerConfig c{.n_layer = 30, .n_head = 9, .n_kv_head = 3, .n_embd = 576, .block_size = 2048, .vocab_size = 49152, .bias = false};
  c.n_hidden = 1536;
  c.positions = Positions::rope;
  c.norm = NormKind::rms_norm;
  c.activation = Activation::silu;
  c.gated = true;
  return c;
}

/// Bytes and multiply-adds of a token: those of the weights that products read.
struct Needs {
  double bytes = 0, multiply_adds = 0;
};
Needs needs_of(const LanguageModel& model) {
  Needs needs;
  for (const ParameterStore::Entry* entry : model.parameters().entries()) {
    if (entry->shape().rank() == 2 && entry->path != "wpe.weight") {
      const Shape& shape = entry->shape();
      const PackedType packing = entry->record.packing;
      needs.bytes += static_cast<double>(packing == PackedType::f32 ? 4 * shape.size() : packed_bytes(packing, shape[0], shape[1]));
      needs.multiply_adds += static_cast<double>(shape.size());
    }
  }
  return needs;
}

/// The times that one round measured.
struct Round {
  std::vector<double> first_ms{};  // of each stream, from the moment when all requests come
  std::vector<double> step_ms{};   // of passes with a token of every stream
};

/// `number`: prompts of another round are others, since a scheduler keeps those that it has read.
Round run_round(const LanguageModel& model, Scheduler& scheduler, index streams, int number, const Arguments& a) {
  const Gpt& gpt = model.gpt();
  Round round;
  const auto begin = Clock::now();
  for (index i = 0; i < streams; ++i) {
    scheduler.add({.model = &gpt,
                   .vocabulary = {.size = gpt.config().vocab_size},
                   .prompt = random_tokens(a.prompt, gpt.config().vocab_size, static_cast<std::uint64_t>(number * streams + i)),
                   .options = {.max_new_tokens = a.tokens + 2 * streams, .temperature = a.greedy ? 0.0 : 0.8},
                   .sample = i});
  }
  std::vector<index> numbers;  // that have a token
  while (!scheduler.is_idle()) {
    const auto before = Clock::now();
    index tokens = 0, ends = 0;
    const auto events = scheduler.step();
    const auto after = Clock::now();
    for (const Scheduler::Event& event : events) {
      tokens += event.ending ? 0 : 1;
      ends += event.ending ? 1 : 0;
      if (!event.ending && std::ranges::find(numbers, event.number) == numbers.end()) {
        numbers.push_back(event.number);
        round.first_ms.push_back(ms(begin, after));
        --tokens;  // a chunk of its prompt was read in this step
      }
    }
    if (tokens == streams && ends == 0) {
      round.step_ms.push_back(ms(before, after));
    }
  }
  return round;
}

void run(const Arguments& a) {
  require_input(a.cache == "f32" || a.cache == "bf16", "--cache is ", a.cache, ", expected f32 or bf16");
  const DType cache = a.cache == "f32" ? DType::f32 : DType::bf16;
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  double peak = peak_flops();
  if (!a.json) {
    fmt::print("{} threads, keys and values as {}, prompts of {} tokens\n", thread_count(), a.cache, a.prompt);
  }
  for (const std::string& shape : a.shapes) {
    for (const std::string& weights : a.weights) {
      const auto type = value_named<PackedType>(weights);
      require_input(type.has_value(), "--weights is ", weights, ", expected one of ", all_names<PackedType>());
      const TransformerConfig config = config_of(shape);
      LanguageModel model(config, config.vocab_size);
      model.parameters().allocate(1);
      pack_weights(model.parameters(), *type);
      const Needs needs = needs_of(model);
      const Pages memory(static_cast<std::size_t>(needs.bytes), "memory to be read");
      touch_in_shares(memory.data(), memory.size());

      std::vector<std::vector<double>> step_ms(a.streams.size()), first_ms(a.streams.size());
      std::vector<double> read_ms;
      std::vector<Scheduler> schedulers;
      for (const index streams : a.streams) {
        schedulers.emplace_back(model.gpt(), Scheduler::Options{.streams = streams, .cache = cache});
      }
      for (int round = -1; round < a.rounds; ++round) {  // the first one warms up
        for (std::size_t i = 0; i < a.streams.size(); ++i) {
          const Round one = run_round(model, schedulers[i], a.streams[i], round + 1, a);
          const auto before = Clock::now();
          read_all(reinterpret_cast<const float*>(memory.data()), static_cast<index>(memory.size() / sizeof(float)));
          if (round >= 0) {
            read_ms.push_back(ms(before, Clock::now()));
            step_ms[i].push_back(median(one.step_ms));
            first_ms[i].push_back(median(one.first_ms));
          }
        }
      }

      peak = std::max(peak, peak_flops());  // others may have been busy before
      const double bandwidth = needs.bytes / median(read_ms) * 1e-6;
      if (!a.json) {
        fmt::print("\n{}, {}: {:.0f} MB of weights, read at {:.1f} GB/s; {:.0f} GFLOP/s\n", shape, weights, needs.bytes * 1e-6, bandwidth,
                   peak);
        fmt::print("{:>8} {:>10} {:>7} {:>13} {:>10} {:>9} {:>9} {:>9}\n", "streams", "tokens/s", "ratio", "between (ms)", "first (ms)",
                   "read (ms)", "flop (ms)", "of floor");
      }
      double one_rate = 0;
      for (std::size_t i = 0; i < a.streams.size(); ++i) {
        const double step = median(step_ms[i]);
        const double rate = 1e3 * static_cast<double>(a.streams[i]) / step;
        one_rate = one_rate == 0 ? rate / static_cast<double>(a.streams[i]) : one_rate;
        const double read = median(read_ms), flop = 2 * needs.multiply_adds * static_cast<double>(a.streams[i]) / peak * 1e-6;
        if (!a.json) {
          fmt::print("{:>8} {:>10.1f} {:>7.2f} {:>13.2f} {:>10.1f} {:>9.2f} {:>9.2f} {:>8.0f}%\n", a.streams[i], rate, rate / one_rate,
                     step, median(first_ms[i]), read, flop, 100 * std::max(read, flop) / step);
          std::fflush(stdout);
        }
        list.push_back({{"shape", shape},
                        {"weights", weights},
                        {"streams", a.streams[i]},
                        {"tokens_per_s", rate},
                        {"ratio", rate / one_rate},
                        {"between_ms", step},
                        {"first_ms", median(first_ms[i])},
                        {"read_ms", read},
                        {"flop_ms", flop}});
      }
    }
  }
  if (a.json) {
    fmt::print("{}\n",
               nlohmann::ordered_json{{"threads", thread_count()}, {"cache", a.cache}, {"prompt", a.prompt}, {"cases", list}}.dump());
  }
}

}  // namespace
}  // namespace dikkat::bench

int main(int argc, char** argv) {
  dikkat::bench::Arguments a;
  CLI::App app{"Times batched generation of GPTs of random weights, against one stream and against what the machine allows."};
  app.add_option("--shape", a.shapes, "gpt2, smollm2-135m")->delimiter(',');
  app.add_option("--weights", a.weights, "How weights lie in memory: f32, bf16, q8, q4")->delimiter(',');
  app.add_option("--streams", a.streams, "Numbers of streams")->delimiter(',')->check(CLI::PositiveNumber);
  app.add_option("--cache", a.cache, "How keys and values lie in memory: f32, bf16")->capture_default_str();
  app.add_option("--prompt", a.prompt, "Tokens of each prompt")->capture_default_str()->check(CLI::PositiveNumber);
  app.add_option("--tokens", a.tokens, "Tokens of each stream that are timed")->capture_default_str()->check(CLI::PositiveNumber);
  app.add_option("--rounds", a.rounds, "Rounds, of which medians are reported")->capture_default_str()->check(CLI::PositiveNumber);
  app.add_flag("--greedy", a.greedy, "Temperature 0");
  app.add_flag("--json", a.json, "Print one JSON object");
  return dikkat::bench::run_program(app, argc, argv, [&] { dikkat::bench::run(a); });
}
