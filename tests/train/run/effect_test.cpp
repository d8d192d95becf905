#include <cmath>
#include <set>

#include <gtest/gtest.h>

#include "tests/train/run/tiny_run.h"
#include "train/checkpoint/checkpoint_list.h"
#include "train/config/key_effect.h"
#include "train/config/parse.h"
#include "train/config/render.h"
#include "train/config/resolve.h"
#include "train/config/schema.h"

namespace dikkat {
namespace {

namespace fs = std::filesystem;
using schema::Key;
using schema::Value;

constexpr index kSteps = 3;

/// The results of a run that do not depend on the clock: weights, the optimizer's state, losses and samples.
struct Traces {
  std::string tensors;
  std::vector<std::string> lines;
  bool operator==(const Traces&) const = default;
};

struct Finished {
  PlannedRun planned;
  Traces traces;
};

class EffectOnBits : public ::testing::Test {
 protected:
  EffectOnBits() {
    write_file(folder / "text.txt", tiny_text());
    write_file(folder / "held-out.txt", tiny_text().substr(0, 1000));
    write_file(folder / "pairs.tsv", tiny_pairs());
    std::string chats, tokens;
    for (int i = 0; i < 12; ++i) {
      chats += R"({"messages":[{"role":"user","content":"go"},{"role":"assistant","content":"by night"},{"role":"user","content":"and"},)"
               R"({"role":"assistant","content":"the lamp turns"}]})"
               "\n";
    }
    for (const char byte : tiny_text()) {
      tokens += {byte, '\0'};
    }
    write_file(folder / "chats.jsonl", chats);
    std::string preferences;
    for (int i = 0; i < 12; ++i) {
      preferences += R"({"chosen":"go by night","rejected":"go the lamp"})"
                     "\n";
    }
    write_file(folder / "preferences.jsonl", preferences);
    std::string labels = "text,label\n";
    for (int i = 0; i < 12; ++i) {
      labels += i % 3 == 0 ? "go by night,a\n" : "the lamp turns,b\n";
    }
    write_file(folder / "labels.csv", labels);
    std::string texts;
    for (int i = 0; i < 12; ++i) {
      texts += concat("{\"query\": \"go ", i, "\", \"document\": \"by ", i * i, " lamps\"}\n");
    }
    write_file(folder / "texts.jsonl", texts);
    write_file(folder / "tokens.bin", tokens);
    Config base = config();
    base.tokenizer = pieces();
    finish(base, "base");
  }

  /// A tokenizer with a token for the end of a text, which conversations need.
  static TokenizerConfig pieces() {
    TokenizerConfig config;
    config.kind = "bpe";
    config.vocab_size = 300;
    return config;
  }

  /// A run of a few steps on text, in which the keys of many rows have no effect.
  Config config() const {
    Config c = tiny_config(folder / "text.txt");
    c.model.n_layer = 1;
    c.optim.schedule = Schedule::Kind::constant;
    c.optim.warmup_steps = 0;
    c.train.batch_size = 2;
    c.train.gradient_accumulation_steps = 2;
    c.train.max_steps = kSteps;
    c.train.eval_interval = 2;
    c.train.eval_tokens = 48;
    return c;
  }

  Config tuned(const char* corpus) const {
    Config c = config();
    c.data.corpus = {folder.path(corpus)};
    c.train.init_from = folder / "base";
    c.tokenizer = pieces();
    return c;
  }

  Finished finish(Config config, const std::string& name = "run") {
    resolve(config);
    Finished run;
    struct Samples : TrainingEvents {
      explicit Samples(std::vector<std::string>& all) : lines(all) {}
      void sampled(const PromptSampler::Continuation& sample) override { lines.push_back(sample.prompt + sample.text); }
      std::vector<std::string>& lines;
    } events(run.traces.lines);
    fs::remove_all(folder / name);
    {
      Trainer trainer = Trainer::start(std::move(config), folder / name);
      run.planned = trainer.planned();
      trainer.run(events, never);
    }
    for (const std::string& line : timeless_metrics(folder / name)) {
      run.traces.lines.push_back(line);
    }
    const fs::path file = checkpoint_directory(folder / name) / checkpoint_name(kSteps);
    const std::string bytes = contents(file);
    for (const StoredTensor& tensor : read_index(file).tensors) {
      run.traces.tensors += tensor.path + bytes.substr(static_cast<std::size_t>(tensor.offset), static_cast<std::size_t>(tensor.bytes));
    }
    return run;
  }

  /// A value that differs from the key's: its default, or else another one that it accepts.
  Value another_value(const Key& key, const Config& config) const {
    static const Config defaults;
    const Value now = key.get(config), usual = key.get(defaults);
    if (key.path() == "data.cache") {
      return (folder / "cache").string();
    }
    if (key.path() == "model.rope_low_freq_factor") {
      return 0.25;  // below the other factor
    }
    if (now != usual && usual.index() != 0) {
      return usual;
    }
    if (!key.rule.choices.empty()) {
      return std::string(std::get<std::string>(now) == key.rule.choices.back() ? key.rule.choices.front() : key.rule.choices.back());
    }
    switch (key.type) {
      case schema::Type::boolean: return now.index() == 0 || !std::get<bool>(now);
      case schema::Type::integer: {
        const index number = now.index() == 0 ? 2 : std::get<index>(now);
        return key.rule.range.contains(static_cast<double>(number - 1)) ? number - 1 : number + 1;
      }
      case schema::Type::number:
        return std::clamp(now.index() == 0 || std::get<double>(now) != 0.5 ? 0.5 : 0.25, key.rule.range.low, key.rule.range.high);
      case schema::Type::list: return std::vector<std::string>{key.path() == "lora.targets" ? "attention" : "the"};
      case schema::Type::numbers: return std::vector<double>(static_cast<std::size_t>(rotated_size(with_defaults(config.model)) / 2), 1.5);
      default: return std::string("another");
    }
  }

  /// Trains twice: with `config`, and with other values for all keys that have no effect there. Names the keys if that changes a bit.
  void expect_equal_bits(const std::string& name, const Config& config) {
    SCOPED_TRACE(name);
    const Finished plain = finish(config);
    std::vector<const Key*> together, alone;
    Config changed = plain.planned.config;
    const auto counts = [&](const Key* key) { return schema::has_effect(*key, changed, plain.planned.facts); };
    for (const Key& key : schema::keys()) {
      if (!schema::has_effect(key, plain.planned.config, plain.planned.facts)) {
        covered.insert(key.path());
        key.set(changed, another_value(key, changed));
        EXPECT_NE(key.get(changed), key.get(plain.planned.config)) << key.path();
        together.push_back(&key);
        // Two keys may each have no effect only as long as the other is not set. min_lr_share may not be given beside min_lr.
        if (key.path() == "optim.min_lr_share" || std::ranges::any_of(together, counts)) {
          changed = plain.planned.config;
          together.pop_back();
          for (const Key* other : together) {
            other->set(changed, another_value(*other, changed));
          }
          alone.push_back(&key);
        }
      }
    }
    // If the bits differ, find the key.
    if (!(finish(changed).traces == plain.traces)) {
      ADD_FAILURE() << "the keys without effect change the run";
      alone.insert(alone.end(), together.begin(), together.end());
    }
    for (const Key* key : alone) {
      Config one = plain.planned.config;
      key->set(one, another_value(*key, one));
      EXPECT_TRUE(finish(one).traces == plain.traces) << key->path() << " = " << schema::to_toml(key->get(one)) << " changes the run";
    }
  }

  const TemporaryFolder folder;
  std::set<std::string> covered;
};

TEST_F(EffectOnBits, KeysThatDoNotCountChangeNothing) {
  expect_equal_bits("text", config());

  Config c = config();
  c.data.val_fraction = 0;
  expect_equal_bits("nothing to validate on", c);

  c = config();
  c.data.validation = {folder.path("held-out.txt")};
  expect_equal_bits("a text of its own for validation", c);

  c = config();
  c.optim.kind = OptimizerKind::sgd;
  c.optim.sgd_momentum = 0;
  c.optim.weight_decay = 0;
  c.optim.schedule = Schedule::Kind::inverse_sqrt;
  c.optim.warmup_steps = 2;
  expect_equal_bits("SGD without momentum and weight decay", c);

  c = config();
  c.optim.kind = OptimizerKind::muon;
  expect_equal_bits("Muon with its usual momentum", c);
  c.optim.muon_momentum_warmup_steps = 0;
  c.optim.muon_normalize = true;
  expect_equal_bits("Muon without a warm-up of its momentum", c);

  c = config();
  c.model.positions = Positions::rope;
  expect_equal_bits("RoPE", c);
  c.model.rope_scaling = RopeScaling::linear;
  expect_equal_bits("RoPE for a longer context", c);

  c = config();
  c.train.accumulation_schedule = {"0:2"};
  expect_equal_bits("a schedule of passes from the first step on", c);

  c = config();
  c.tokenizer.path = folder / "base";
  expect_equal_bits("a tokenizer that there is", c);

  expect_equal_bits("token files", tuned("tokens.bin"));
  expect_equal_bits("conversations", tuned("chats.jsonl"));

  c = tuned("text.txt");
  c.lora.rank = 2;
  c.lora.decay = false;
  c.optim.kind = OptimizerKind::muon;
  c.train.recompute = Recompute::cheap;
  expect_equal_bits("adapters", c);
  c.optim.weight_decay = 0;
  expect_equal_bits("adapters without weight decay", c);
  c.lora.modules_to_save = {"embedding", "head"};
  c.optim.weight_decay = 0.1;
  expect_equal_bits("adapters with the embedding and the head", c);

  c = tiny_pairs_config(folder / "pairs.tsv");
  c.train.max_steps = kSteps;
  expect_equal_bits("pairs", c);

  for (const PreferenceMethod method : {PreferenceMethod::dpo, PreferenceMethod::orpo}) {
    c = tuned("preferences.jsonl");
    c.lora.rank = 2;
    c.preference.method = method;
    expect_equal_bits("preferences", c);
  }

  c = tuned("labels.csv");
  c.classify.field = "label";
  expect_equal_bits("labels", c);
  c = tuned("texts.jsonl");
  c.embedding.batch = 8;
  expect_equal_bits("vectors", c);

  for (const schema::EffectRule& rule : schema::effect_rules()) {
    const std::string path(rule.key);
    const Key* key = schema::find_key(path.substr(0, path.find('.')), path.substr(path.find('.') + 1));
    EXPECT_NE(key, nullptr) << path;
    EXPECT_TRUE(covered.contains(path)) << path << " has an effect in every run of this test: add one in which it has none";
  }
}

TEST_F(EffectOnBits, ConditionsFollowTheCorpus) {
  const auto facts = [&](const Config& c) { return finish(c).planned.facts; };
  EXPECT_TRUE(facts(config()).texts);
  EXPECT_FALSE(facts(config()).jsonl);
  const RunFacts chats = facts(tuned("chats.jsonl"));
  EXPECT_TRUE(chats.conversations && chats.jsonl && !chats.texts && !chats.tokens);
  const RunFacts tokens = facts(tuned("tokens.bin"));
  EXPECT_TRUE(tokens.tokens && !tokens.texts && !tokens.conversations);
}

TEST_F(EffectOnBits, WeightDecayReachesAdapters) {
  Config c = tuned("text.txt");
  c.lora.rank = 2;
  c.optim.weight_decay = 0;
  const Traces none = finish(c).traces;
  c.optim.weight_decay = 5;
  EXPECT_FALSE(finish(c).traces == none) << "A and B are decayed";
  c.lora.decay = false;
  EXPECT_TRUE(finish(c).traces == none);
  c.lora.modules_to_save = {"embedding"};
  const Traces decayed = finish(c).traces;
  c.optim.weight_decay = 0;
  EXPECT_FALSE(finish(c).traces == decayed) << "lora.decay is only for A and B";
}

/// A run that began before lora.decay existed continues without weight decay, as it began.
TEST_F(EffectOnBits, AnOlderRunOfAdaptersKeepsItsBits) {
  Config c = tuned("text.txt");
  c.lora.rank = 2;
  c.lora.decay = false;
  c.optim.weight_decay = 5;
  const std::string text = to_toml(finish(c, "old").planned.config);
  const std::size_t line = text.find("decay = false\n", text.find("[lora]"));
  ASSERT_NE(line, std::string::npos);
  const fs::path file = checkpoint_directory(folder / "old") / checkpoint_name(kSteps);
  EXPECT_FALSE(parse_config(read_index(file).config, "old", defaults_of_runs()).lora.decay) << "as it was written";
  std::string older = text;
  older.erase(line, std::string("decay = false\n").size());
  EXPECT_FALSE(parse_config(older, "old", defaults_of_runs()).lora.decay);
  EXPECT_TRUE(parse_config(older, "a new run").lora.decay);
}

}  // namespace
}  // namespace dikkat
