// How many short messages a second does a classifier learn, packed into rows, and in rows that are padded to the longest of a batch of 8?
// Both make an update after about as many messages.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <numeric>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "autograd/base/parallel.h"
#include "autograd/base/seconds_since.h"
#include "autograd/ops/loss.h"
#include "bench/model.h"
#include "bench/program.h"
#include "optim/clip.h"
#include "train/data/samples/loader.h"
#include "train/data/samples/permutation.h"
#include "train/data/samples/read_texts.h"
#include "train/model/make_optimizer.h"
#include "train/model/pooling.h"
#include "train/model/precision.h"

namespace dikkat::bench {
namespace {

struct Arguments {
  std::string config;
  std::vector<std::string> set;
  index vocab_size = 512, messages = 5000, update = 64, window = 512;
  double seconds = 20;
  bool json = false;
};

constexpr index kPaddedRows = 8;
constexpr double kMeanLength = 25;

/// Messages of random tokens, whose lengths are log-normal with a mean of about 25. A message's label is whether it has token 7, and one of
/// twenty is wrong.
struct Messages {
  ReadTextStore texts;
  std::vector<std::int32_t> labels;

  Messages(index count, index vocab_size) {
    constexpr double kSpread = 0.75, kLongest = 200, kShortest = 3;
    const RandomStream stream(1, "label_speed", 0);
    std::uint64_t at = 0;
    const auto uniform = [&] { return (static_cast<double>(stream.word(static_cast<index>(at++))) + 0.5) / 4294967296.0; };
    for (index i = 0; i < count; ++i) {
      const double normal = std::sqrt(-2 * std::log(uniform())) * std::cos(2 * 3.14159265358979 * uniform());
      const double length = kMeanLength * std::exp(kSpread * normal - kSpread * kSpread / 2);
      std::vector<Token> text(static_cast<std::size_t>(std::clamp(std::round(length), kShortest, kLongest)));
      for (Token& token : text) {
        token = static_cast<Token>(uniform() * static_cast<double>(vocab_size));
      }
      const bool has = std::ranges::find(text, 7) != text.end();
      labels.push_back(has != (uniform() < 0.05) ? 1 : 0);
      texts.append(text);
    }
  }
};

/// A classifier of random weights, and what it has read.
class Learner {
 public:
  explicit Learner(const Config& c) : c_(c), model_(c.model, 1, c.lora), optimizer_(make_optimizer(c.optim, model_.parameters())) {
    model_.parameters().allocate(1);
  }
  const LanguageModel& model() const { return model_; }

  /// Runs forward and backward of a batch whose update has `of_update` messages.
  void pass(const Batch& batch, const std::vector<std::int32_t>& all, double of_update) {
    Pass pass{.tape = tape_, .training = true, .seed = 1, .step = static_cast<std::uint64_t>(step_), .operands = operand_type(c_.train)};
    std::vector<std::int32_t> labels;
    for (const ReadText& text : batch.texts) {
      labels.push_back(all[static_cast<std::size_t>(text.number)]);
    }
    const Tensor logits = model_.gpt().logits(pass, pooled_features(model_, pass, batch, Pooling::last));
    const Tensor loss = cross_entropy(logits, tape_.input<std::int32_t>({std::ssize(labels)}, labels), {.normalizer = of_update});
    loss_ += static_cast<double>(*loss.data<float>());
    tape_.backward(loss);
    tape_.reset();
  }
  /// Updates the weights, and returns the loss of the update's messages.
  double update() {
    const double norm = gradient_norm(model_.parameters());
    optimizer_->step(++step_, c_.optim.learning_rate, clip_factor(norm, c_.optim.grad_clip));
    return std::exchange(loss_, 0);
  }

 private:
  const Config& c_;
  LanguageModel model_;
  std::unique_ptr<Optimizer> optimizer_;
  Tape tape_;
  index step_ = 0;
  double loss_ = 0;
};

struct Speed {
  double messages_per_second = 0, padding = 0, update_ms = 0, loss = 0;
  double per_cpu_second = 0;  // messages for each second of processor time, which a busy machine changes less
  index updates = 0, messages = 0;
};

/// Repeats updates for some seconds, after one that is not counted. update() returns the number of its messages.
template <class F>
Speed measured(double seconds, Learner& learner, F&& update) {
  update();
  learner.update();
  Speed speed;
  const auto start = std::chrono::steady_clock::now();
  const std::clock_t cpu = std::clock();
  while (seconds_since(start) < seconds) {
    speed.messages += update();
    speed.loss = learner.update();
    ++speed.updates;
  }
  const double all = seconds_since(start);
  speed.messages_per_second = static_cast<double>(speed.messages) / all;
  speed.per_cpu_second = static_cast<double>(speed.messages) * CLOCKS_PER_SEC / static_cast<double>(std::clock() - cpu);
  speed.update_ms = 1e3 * all / static_cast<double>(speed.updates);
  return speed;
}

Speed packed(const Arguments& a, const Config& c, const Messages& messages) {
  Learner learner(c);
  const ReadTextSamples samples(messages.texts, a.window);
  const Loader loader(samples, 1);
  const index rows = std::max<index>(
      1, std::lround(static_cast<double>(a.update) * static_cast<double>(samples.count()) / static_cast<double>(a.messages)));
  Batch batch;
  index next = 0;
  Speed speed = measured(a.seconds, learner, [&] {
    loader.fill({.first = std::exchange(next, next + rows), .count = rows}, batch);
    learner.pass(batch, messages.labels, static_cast<double>(batch.units));
    return batch.units;
  });
  speed.padding = samples.padding();
  return speed;
}

Speed padded(const Arguments& a, const Config& c, const Messages& messages) {
  Learner learner(c);
  Batch batch;
  index next = 0;
  double positions = 0, tokens = 0;
  Speed speed = measured(a.seconds, learner, [&] {
    for (index begin = 0; begin < a.update; begin += kPaddedRows) {
      std::vector<index> chosen;
      index longest = 0;
      for (index row = 0; row < kPaddedRows; ++row, ++next) {
        const Permutation order(a.messages, 1, static_cast<std::uint64_t>(next / a.messages));
        chosen.push_back(order(next % a.messages));
        longest = std::max(longest, messages.texts.length(chosen.back()));
      }
      batch.reshape(kPaddedRows, {.cols = longest});
      for (index row = 0; row < kPaddedRows; ++row) {
        const index text = chosen[static_cast<std::size_t>(row)], length = messages.texts.length(text);
        std::ranges::copy(messages.texts.text(text), batch.inputs.begin() + row * longest);
        batch.pad(row, length);
        batch.texts.push_back({.number = text, .begin = row * longest, .length = length});
        tokens += static_cast<double>(length);
      }
      positions += static_cast<double>(kPaddedRows * longest);
      learner.pass(batch, messages.labels, static_cast<double>(a.update));
    }
    return a.update;
  });
  speed.padding = 1 - tokens / positions;
  return speed;
}

void run(const Arguments& a) {
  Config c = load_model_config(a.config, a.set, a.vocab_size);
  c.model.classes = 2;
  settle_precision(c);
  const Messages messages(a.messages, c.model.vocab_size);
  const double mean = static_cast<double>(messages.texts.tokens()) / static_cast<double>(a.messages);
  const Speed in_rows = packed(a, c, messages), with_padding = padded(a, c, messages);
  const double ratio = in_rows.messages_per_second / with_padding.messages_per_second;
  if (a.json) {
    const auto as_json = [](const Speed& s) {
      return nlohmann::ordered_json{{"messages_per_s", s.messages_per_second},
                                    {"messages_per_cpu_s", s.per_cpu_second},
                                    {"padding", s.padding},
                                    {"update_ms", s.update_ms},
                                    {"updates", s.updates},
                                    {"messages", s.messages}};
    };
    const nlohmann::ordered_json object{
        {"config", a.config},         {"threads", thread_count()},       {"mean_tokens", mean}, {"messages_of_update", a.update},
        {"packed", as_json(in_rows)}, {"padded", as_json(with_padding)}, {"ratio", ratio}};
    fmt::print("{}\n", object.dump());
    return;
  }
  fmt::print("{} messages of {:.1f} tokens on average, an update after about {}, {} threads\n", a.messages, mean, a.update, thread_count());
  for (const auto& [name, s] : {std::pair("packed", in_rows), std::pair("padded", with_padding)}) {
    fmt::print(
        "{}: {:.1f} messages/s, {:.1f} per second of processor time, {:.0f} % padding, {:.0f} ms an update ({} updates, {} messages)\n",
        name, s.messages_per_second, s.per_cpu_second, 100 * s.padding, s.update_ms, s.updates, s.messages);
  }
  fmt::print("packed / padded: {:.2f}, by processor time {:.2f}\n", ratio, in_rows.per_cpu_second / with_padding.per_cpu_second);
}

}  // namespace
}  // namespace dikkat::bench

int main(int argc, char** argv) {
  dikkat::bench::Arguments a;
  CLI::App app{"Measures how fast a classifier learns short messages, in packed and in padded rows."};
  app.add_option("--config", a.config, "Configuration file (TOML)")->required();
  app.add_option("--set", a.set, "section.key=value: overrides the configuration file");
  app.add_option("--vocab-size", a.vocab_size, "Vocabulary size if the configuration does not set model.vocab_size")->capture_default_str();
  app.add_option("--messages", a.messages, "Number of messages")->capture_default_str()->check(CLI::PositiveNumber);
  app.add_option("--update", a.update, "Messages of an update, about; a multiple of 8")->capture_default_str()->check(CLI::PositiveNumber);
  app.add_option("--window", a.window, "Most tokens of a packed row")->capture_default_str()->check(CLI::PositiveNumber);
  app.add_option("--seconds", a.seconds, "Seconds of each measurement")->capture_default_str()->check(CLI::PositiveNumber);
  app.add_flag("--json", a.json, "Print one JSON object");
  return dikkat::bench::run_program(app, argc, argv, [&] { dikkat::bench::run(a); });
}
