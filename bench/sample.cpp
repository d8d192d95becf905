// How fast does a GPT generate? Measures tokens per second with the key/value cache, for a short prompt and for one that nearly fills the
// context, or for different prompts together. Also prints the share of the memory's read bandwidth: each token reads all weights once.
#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "autograd/base/parallel.h"
#include "bench/machine.h"
#include "bench/measure.h"
#include "bench/model.h"
#include "bench/program.h"
#include "train/model/language_model.h"
#include "train/model/pack_weights.h"
#include "train/model/trained_model.h"
#include "train/sample/generate.h"

namespace dikkat::bench {
namespace {

using Clock = std::chrono::steady_clock;

struct Arguments {
  std::string config = "configs/gpt2-124m.toml";
  std::vector<std::string> set;
  std::string model{};  // a run, or an imported model, instead of a configuration
  std::vector<index> samples = {1, 4, 8};
  std::vector<index> prompts = {16, 900};
  index tokens = 64;      // that are timed
  index vocab_size = 65;  // for a configuration that leaves it to a tokenizer
  std::string weights = "f32";
  bool different = false;  // prompts
  bool json = false;
};

double ms(Clock::time_point from, Clock::time_point to) { return std::chrono::duration<double, std::milli>(to - from).count(); }

struct Result {
  double prompt_ms = 0;      // until the first token
  Times token{}, weights{};  // ms from one token to the next; ms of reading all weights, timed in turn
};

Times sorted(std::vector<double> ms) {
  std::sort(ms.begin(), ms.end());
  return {.median = ms[ms.size() / 2], .min = ms.front(), .max = ms.back()};
}

/// A prompt for all samples; or one for each, of different lengths up to `longest`.
std::vector<std::vector<Token>> prompts_of(index samples, index longest, bool different, index vocabulary) {
  std::vector<std::vector<Token>> prompts;
  for (index i = different ? 1 : samples; i <= samples; ++i) {
    prompts.push_back(random_tokens(std::max<index>(longest * i / samples, 1), vocabulary, 0));
  }
  return prompts;
}

Result measure_one(const LanguageModel& model, const Pages& memory, const std::vector<std::vector<Token>>& prompts, index samples,
                   index tokens) {
  const Gpt& gpt = model.gpt();
  const index vocabulary = gpt.config().vocab_size;
  const index each = samples / std::ssize(prompts);
  generate(gpt, {.size = vocabulary}, prompts, {.max_new_tokens = 2, .num_samples = each});  // warms up

  std::vector<double> token_ms, weights_ms;
  auto last = Clock::now();
  Generation generation(gpt, {.size = vocabulary}, prompts, {.max_new_tokens = tokens + 1, .num_samples = each});
  while (const auto event = generation.next()) {
    if (event->number == 0 && !event->ending) {
      const auto drawn = Clock::now();
      token_ms.push_back(ms(last, drawn));
      read_all(reinterpret_cast<const float*>(memory.data()), static_cast<index>(memory.size() / sizeof(float)));
      last = Clock::now();
      weights_ms.push_back(ms(drawn, last));
    }
  }
  const double prompt_ms = token_ms.front();
  token_ms.erase(token_ms.begin());
  return {.prompt_ms = prompt_ms, .token = sorted(token_ms), .weights = sorted(weights_ms)};
}

/// The bytes of all weights that generating a token reads. The table of positions is not among them, nor that of tokens, unless it is also
/// the head.
index bytes_of_weights(const LanguageModel& model) {
  index bytes = 0;
  for (const ParameterStore::Entry* entry : model.parameters().entries()) {
    const bool is_table = entry->role == Role::embedding && (entry->path != "wte.weight" || !model.config().tie_embeddings);
    const PackedType packing = entry->record.packing;
    const Shape& shape = entry->shape();
    const index own = packing == PackedType::f32 ? 4 * shape.size() : packed_bytes(packing, shape[0], shape[1]);
    bytes += is_table ? 0 : own;
  }
  return bytes;
}

/// The bytes that generating a token must read: the weights, and the keys and values of all samples, `positions` positions together.
double bytes_of_a_token(const LanguageModel& model, index positions) {
  const TransformerConfig& c = model.gpt().config();
  return static_cast<double>(bytes_of_weights(model)) +
         static_cast<double>(sizeof(float)) * static_cast<double>(positions * c.n_layer * 2 * c.n_kv_head * c.head_size);
}

std::unique_ptr<LanguageModel> model_of(const Arguments& a, PackedType type) {
  if (!a.model.empty()) {
    return load_trained_model(a.model, {}, type).model;
  }
  const Config c = load_model_config(a.config, a.set, a.vocab_size);
  auto model = std::make_unique<LanguageModel>(c.model, 1);
  model->parameters().allocate(1);
  pack_weights(model->parameters(), type);
  return model;
}

void run(const Arguments& a) {
  const auto type = value_named<PackedType>(a.weights);
  require_input(type.has_value(), "--weights is ", a.weights, ", expected one of ", all_names<PackedType>());
  const std::unique_ptr<LanguageModel> made = model_of(a, *type);
  LanguageModel& model = *made;
  const std::string& name = a.model.empty() ? a.config : a.model;
  // The benchmark also reads memory as large as the weights, to compare speeds.
  const Pages memory(static_cast<std::size_t>(bytes_of_weights(model)), "memory to be read");
  touch_in_shares(memory.data(), memory.size());

  // Print the head of the table.
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  if (!a.json) {
    fmt::print("{}: {} threads, {:.1f} M parameters as {}\n\n", name, thread_count(),
               1e-6 * static_cast<double>(model.parameters().parameter_count()), a.weights);
    fmt::print("{:>7} {:>7} {:>15} {:>10} {:>8} {:>8} {:>9} {:>7} {:>9} {:>9}\n", "samples", "prompt", "prompt tokens/s", "ms a token",
               "min", "max", "tokens/s", "GB/s", "can be", "share");
  }
  // Time each prompt length with each number of samples.
  for (const index prompt : a.prompts) {
    for (const index samples : a.samples) {
      const auto prompts = prompts_of(samples, prompt, a.different, model.gpt().config().vocab_size);
      index given = 0;
      for (const std::vector<Token>& one : prompts) {
        given += std::ssize(one);
      }
      const Result r = measure_one(model, memory, prompts, samples, a.tokens);
      const double prompt_rate = 1e3 * static_cast<double>(given) / r.prompt_ms;
      const double rate = 1e3 * static_cast<double>(samples) / r.token.median;
      const index positions = given * samples / std::ssize(prompts) + samples * a.tokens / 2;
      const double read = bytes_of_a_token(model, positions) / r.token.median * 1e-6;
      const double can_be = static_cast<double>(memory.size()) / r.weights.median * 1e-6;
      if (!a.json) {
        fmt::print("{:>7} {:>7} {:>15.0f} {:>10.2f} {:>8.2f} {:>8.2f} {:>9.1f} {:>7.1f} {:>9.1f} {:>7.0f} %\n", samples, prompt,
                   prompt_rate, r.token.median, r.token.min, r.token.max, rate, read, can_be, 100 * read / can_be);
        std::fflush(stdout);
      }
      list.push_back({{"name", fmt::format("{} samples, prompt of {}", samples, prompt)},
                      {"samples", samples},
                      {"prompt", prompt},
                      {"prompt_tokens_per_s", prompt_rate},
                      {"median_ms", r.token.median},
                      {"min_ms", r.token.min},
                      {"max_ms", r.token.max},
                      {"tokens_per_s", rate},
                      {"gb_per_s", read},
                      {"readable_gb_per_s", can_be},
                      {"share_of_bandwidth", read / can_be}});
    }
  }
  if (a.json) {
    const nlohmann::ordered_json object{{a.model.empty() ? "config" : "model", name},
                                        {"weights", a.weights},
                                        {"threads", thread_count()},
                                        {"tokens", a.tokens},
                                        {"different", a.different},
                                        {"cases", list}};
    fmt::print("{}\n", object.dump());
  }
}

}  // namespace
}  // namespace dikkat::bench

int main(int argc, char** argv) {
  dikkat::bench::Arguments a;
  CLI::App app{
      "Times sampling of the GPT in a configuration, of random weights, with the share of the read bandwidth measured in this process."};
  app.add_option("--config", a.config, "Configuration file (TOML)")->capture_default_str();
  app.add_option("--model", a.model, "A run, or another program's model, in place of a configuration");
  app.add_option("--set", a.set, "section.key=value: overrides the configuration file");
  app.add_option("--vocab-size", a.vocab_size, "Vocabulary size if the configuration does not set model.vocab_size")->capture_default_str();
  app.add_option("--samples", a.samples, "Samples generated together")->delimiter(',')->check(CLI::Range(1, 8));
  app.add_option("--prompts", a.prompts, "Length of the prompt in tokens")->delimiter(',')->check(CLI::PositiveNumber);
  app.add_option("--tokens", a.tokens, "Timed tokens")->capture_default_str()->check(CLI::PositiveNumber);
  app.add_option("--weights", a.weights, "How weights lie in memory: f32, bf16, q8, q4")->capture_default_str();
  app.add_flag("--different", a.different, "A prompt for each sample, of different lengths up to that of --prompts");
  app.add_flag("--json", a.json, "Print one JSON object");
  return dikkat::bench::run_program(app, argc, argv, [&] { dikkat::bench::run(a); });
}
