// How much longer than an ordinary step does a step of preferences take, and one of a student with a teacher? All read the same tokens:
// rows of two packed sequences, of which the second half is scored. The log-probabilities of the reference are computed before, as in a
// run. One process holds all models, which step in turn.
#include <numeric>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "autograd/base/parallel.h"
#include "autograd/base/philox.h"
#include "bench/measure.h"
#include "bench/model.h"
#include "bench/program.h"
#include "optim/clip.h"
#include "train/run/make_optimizer.h"
#include "train/run/objectives/preference_model.h"
#include "train/run/precision.h"

namespace dikkat::bench {
namespace {

struct Arguments {
  std::string config = "configs/llama-tiny.toml";
  std::vector<std::string> set{"model.block_size=256", "model.dropout=0", "train.batch_size=4"};
  index vocab_size = 4096, top = 32;
  int rounds = 20, warmup = 3;
  bool json = false;
};

enum class Kind { ordinary, preference, student };

/// A model and its optimizer steps.
class TuningStep {
 public:
  TuningStep(const Arguments& a, Kind kind, std::vector<std::string> more) : kind_(kind), top_(a.top) {
    more.insert(more.begin(), a.set.begin(), a.set.end());
    config_ = load_model_config(a.config, more, a.vocab_size);
    settle_precision(config_);
    model_ = std::make_unique<LanguageModel>(config_.model, 1, config_.lora);
    optimizer_ = make_optimizer(config_.optim, model_->parameters());
    model_->parameters().allocate(1);
    preference_ = std::make_unique<PreferenceModel>(*model_, config_.preference);
    fill();
  }

  void run() {
    Pass pass{.tape = tape_, .training = true, .recompute = config_.train.recompute, .operands = operand_type(config_.train)};
    tape_.backward(loss(pass));
    tape_.reset();
    const double norm = gradient_norm(model_->parameters());
    optimizer_->step(++step_, config_.optim.learning_rate, clip_factor(norm, config_.optim.grad_clip));
  }

 private:
  void fill() {
    const index length = config_.model.block_size, cols = 2 * length, vocab_size = config_.model.vocab_size;
    batch_.reshape(config_.train.batch_size, {.cols = cols, .packed = true});
    const index all = batch_.rows * cols;
    const RandomStream stream(1, "tuning", 0);
    for (index i = 0; i < all; ++i) {
      const auto at = static_cast<std::size_t>(i);
      batch_.inputs[at] = static_cast<Token>(stream.word(2 * i) % static_cast<std::uint32_t>(vocab_size));
      batch_.targets[at] = static_cast<Token>(stream.word(2 * i + 1) % static_cast<std::uint32_t>(vocab_size));
      batch_.weights[at] = i % length >= length / 2 ? 1.0F : 0.0F;
      batch_.starts[at] = static_cast<std::int32_t>(i % cols / length * length);
    }
    batch_.target_weight = static_cast<double>(all) / 2;
    for (index begin = 0; begin < all; begin += length) {
      const index number = begin / length;
      batch_.answers.push_back({.number = number,
                                .begin = begin,
                                .length = length,
                                .tokens = length / 2,
                                .role = role_of(number),
                                .reference = -8.0 * static_cast<double>(length / 2)});
    }
    batch_.units = batch_.step_units = batch_.rows;
    // A teacher's bins: classes at equal distances.
    for (index i = 0; i < all; ++i) {
      for (index k = 0; k < top_; ++k) {
        ids_.push_back(static_cast<std::int32_t>((k * vocab_size + stream.word(i) % static_cast<std::uint32_t>(vocab_size)) / top_ / 2));
        probabilities_.push_back(0.9F / static_cast<float>(top_));
      }
      probabilities_.push_back(0.1F);
    }
  }

  /// Returns the role of an answer: those of a pair, or for KTO a good or a bad answer and a mismatched one.
  AnswerRole role_of(index number) const {
    const bool is_first = number % 2 == 0;
    if (config_.preference.method != PreferenceMethod::kto) {
      return is_first ? AnswerRole::chosen : AnswerRole::rejected;
    }
    return !is_first ? AnswerRole::mismatched : number % 4 == 0 ? AnswerRole::good : AnswerRole::bad;
  }

  Tensor loss(Pass& pass) {
    if (kind_ == Kind::preference) {
      PreferenceSums sums;
      return preference_->loss(pass, batch_, sums);
    }
    Teacher teacher;
    if (kind_ == Kind::student) {
      teacher = {.ids = tape_.input<std::int32_t>({batch_.rows, batch_.lengths.cols, top_}, ids_),
                 .probabilities = tape_.input<float>({batch_.rows, batch_.lengths.cols, top_ + 1}, probabilities_),
                 .share = 0.5};
    }
    return model_->loss(pass, batch_, batch_.target_weight, 0, nullptr, teacher);
  }

  Kind kind_;
  index top_;
  Config config_;
  std::unique_ptr<LanguageModel> model_;
  std::unique_ptr<Optimizer> optimizer_;
  std::unique_ptr<PreferenceModel> preference_;
  Batch batch_;
  std::vector<std::int32_t> ids_;
  std::vector<float> probabilities_;
  Tape tape_;
  index step_ = 0;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void run(const Arguments& a) {
  nlohmann::ordered_json lines = nlohmann::ordered_json::array();
  for (const bool adapters : {false, true}) {
    const auto step = [&](Kind kind, const std::string& setting) {
      std::vector<std::string> set = adapters ? std::vector<std::string>{"lora.rank=16"} : std::vector<std::string>{};
      if (!setting.empty()) {
        set.push_back(setting);
      }
      return std::make_unique<TuningStep>(a, kind, set);
    };
    const auto ordinary = step(Kind::ordinary, "");
    struct Other {
      std::string name;
      std::unique_ptr<TuningStep> step;
      std::vector<double> ms{}, ratios{};
    };
    std::vector<Other> others;
    for (const char* method : {"dpo", "ipo", "orpo", "simpo", "kto"}) {
      others.push_back({method, step(Kind::preference, concat("preference.method=", method))});
    }
    others.push_back({"student", step(Kind::student, "")});
    // All step in turn, so that changes of the machine's speed affect all.
    std::vector<double> of_ordinary;
    for (int round = -a.warmup; round < a.rounds; ++round) {
      const double plain = measure(0, 1, [&] { ordinary->run(); }).median;
      for (Other& other : others) {
        const double ms = measure(0, 1, [&] { other.step->run(); }).median;
        if (round >= 0) {
          other.ms.push_back(ms);
          other.ratios.push_back(ms / plain);
        }
      }
      if (round >= 0) {
        of_ordinary.push_back(plain);
      }
    }
    // Report the medians, and the range of the ratios.
    for (const Other& other : others) {
      const auto [least, most] = std::minmax_element(other.ratios.begin(), other.ratios.end());
      lines.push_back({{"step", other.name},
                       {"trained", adapters ? "adapters" : "all weights"},
                       {"threads", thread_count()},
                       {"rounds", a.rounds},
                       {"ordinary_ms", median(of_ordinary)},
                       {"ms", median(other.ms)},
                       {"ratio", median(other.ratios)},
                       {"ratio_min", *least},
                       {"ratio_max", *most}});
      if (!a.json) {
        fmt::print(
            "{:<8} {:<12} {:7.1f} ms a step, an ordinary one {:7.1f} ms: {:.2f} times (median of {}, {:.2f} to {:.2f}; {} threads)\n",
            other.name, adapters ? "adapters" : "all weights", median(other.ms), median(of_ordinary), median(other.ratios), a.rounds,
            *least, *most, thread_count());
      }
    }
  }
  if (a.json) {
    fmt::print("{}\n", lines.dump());
  }
}

}  // namespace
}  // namespace dikkat::bench

int main(int argc, char** argv) {
  dikkat::bench::Arguments a;
  CLI::App app{"Times steps of preferences and of students beside ordinary ones, in turn, on the same random tokens."};
  app.add_option("--config", a.config, "Configuration file (TOML)")->capture_default_str();
  app.add_option("--set", a.set, "section.key=value: overrides the configuration file")->capture_default_str();
  app.add_option("--vocab-size", a.vocab_size, "Tokens, if the configuration leaves them open")->capture_default_str();
  app.add_option("--top", a.top, "Tokens of the teacher's distributions")->capture_default_str()->check(CLI::PositiveNumber);
  app.add_option("--rounds", a.rounds, "Timed rounds of steps")->capture_default_str()->check(CLI::PositiveNumber);
  app.add_option("--warmup", a.warmup, "Untimed rounds before them")->capture_default_str();
  app.add_flag("--json", a.json, "Print one JSON array");
  return dikkat::bench::run_program(app, argc, argv, [&] { dikkat::bench::run(a); });
}
