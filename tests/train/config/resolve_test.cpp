#include "train/config/resolve.h"

#include "tests/train/config/support.h"
#include "train/config/override.h"
#include "train/config/parse.h"
#include "train/config/render.h"

namespace dikkat {
namespace {

using testing::error_of;
using testing::names;

std::string invalid(void (*change)(Config&)) {
  Config config;
  change(config);
  return input_error_of([&] { validate(config); });
}

/// The whole numbers in a message, in their order.
std::vector<index> numbers_in(const std::string& message) {
  std::vector<index> numbers;
  for (std::size_t at = 0; (at = message.find_first_of("0123456789", at)) != std::string::npos;) {
    std::size_t length = 0;
    numbers.push_back(std::stoll(message.substr(at), &length));
    at += length;
  }
  return numbers;
}

TEST(Resolve, FillsInKeysThatDependOnOthers) {
  Config config;
  config.model.bias = false;
  config.optim.learning_rate = 6e-4;
  config.train.max_steps = 77;
  resolve(config);
  EXPECT_EQ(config.model.qkv_bias, false);
  EXPECT_EQ(config.optim.min_lr, 6e-4 / 10);
  EXPECT_EQ(config.optim.decay_steps, 77);
  validate(config);
}

TEST(Resolve, FollowsTheKindOfModel) {
  Config gpt;
  resolve(gpt);
  EXPECT_EQ(gpt.model.norm_position, NormPosition::pre);
  EXPECT_EQ(gpt.model.final_norm, true);
  EXPECT_EQ(gpt.model.activation, Activation::gelu);
  EXPECT_EQ(gpt.model.positions, Positions::learned);
  EXPECT_EQ(gpt.model.scale_embeddings, false);
  EXPECT_EQ(gpt.model.n_hidden, 4 * 128);
  Config pairs;
  pairs.model.kind = ModelKind::encoder_decoder;
  pairs.tokenizer.kind = "word";
  Config pre = pairs;
  pre.model.norm_position = NormPosition::pre;
  resolve(pairs);
  EXPECT_EQ(pairs.model.norm_position, NormPosition::post);
  EXPECT_EQ(pairs.model.final_norm, false);
  EXPECT_EQ(pairs.model.activation, Activation::relu);
  EXPECT_EQ(pairs.model.positions, Positions::sinusoidal);
  EXPECT_EQ(pairs.model.scale_embeddings, true);
  EXPECT_EQ(pairs.model.n_encoder_layer, 4);
  validate(pairs);
  resolve(pre);
  EXPECT_EQ(pre.model.final_norm, true);
}

TEST(Resolve, DerivesHeadsAndWidthsOfALlama) {
  Config config;
  config.model.n_head = 6;
  config.model.n_embd = 192;
  Config gated = config;
  gated.model.gated = true;
  Config grouped = config;
  grouped.model.n_kv_head = 2;
  grouped.model.head_size = 64;
  for (Config* c : {&config, &gated, &grouped}) {
    resolve(*c);
    validate(*c);
  }
  EXPECT_EQ(config.model.n_kv_head, 6);
  EXPECT_EQ(config.model.head_size, 32);
  EXPECT_EQ(config.model.n_hidden, 4 * 192);
  EXPECT_EQ(gated.model.n_hidden, 512) << "8/3 of 192";
  EXPECT_EQ(grouped.model.n_kv_head, 2);
  EXPECT_EQ(grouped.model.head_size, 64);
  for (const auto& [width, hidden] : {std::pair<index, index>{24, 64}, {25, 128}, {576, 1536}, {4096, 10944}}) {
    EXPECT_EQ(*with_defaults({.n_embd = width, .gated = true}).n_hidden, hidden) << width << ": 8/3 in whole multiples of 64";
  }
}

// Keys that follow from n_head and n_embd follow them again when one recipe is read over another.
TEST(Resolve, LetsHeadsFollowAgain) {
  Config config;
  resolve(config);
  EXPECT_EQ(config.model.head_size, 32);
  config.model.n_head = 8;
  resolve(config);
  EXPECT_EQ(config.model.n_kv_head, 8);
  EXPECT_EQ(config.model.head_size, 16);
}

TEST(Validate, AnEncoderDecoderNeedsWords) {
  Config config;
  config.model.kind = ModelKind::encoder_decoder;
  resolve(config);
  EXPECT_TRUE(names(error_of([&] { validate(config); }), {"tokenizer.kind", "\"char\"", "\"word\"", "model.kind"}));
}

TEST(Validate, AnEncoderDecoderHasNoTextForValidation) {
  Config c;
  c.model.kind = ModelKind::encoder_decoder;
  c.tokenizer.kind = "word";
  c.data.validation = {"held.tsv"};
  resolve(c);
  EXPECT_TRUE(names(error_of([&] { validate(c); }), {"data.validation", "pairs", "data.val_fraction"}));
}

TEST(Resolve, KeepsKeysThatAreSet) {
  Config config;
  config.model.n_encoder_layer = 3;
  config.model.n_hidden = 5;
  config.model.n_kv_head = 2;
  config.model.head_size = 7;
  config.model.scale_embeddings = true;
  config.model.positions = Positions::sinusoidal;
  config.model.norm_position = NormPosition::post;
  config.model.final_norm = true;
  config.model.activation = Activation::relu;
  config.model.qkv_bias = false;
  config.model.attention_scale = 0.25;
  config.model.rope_amplitude = 2;
  config.optim.min_lr = 0;
  config.optim.decay_steps = 5;
  config.train.lanes = 1;
  config.optim.min_lr_share = 0;
  config.optim.muon_steps = 3;
  config.optim.muon_momentum_start = 0.8;
  config.optim.muon_momentum_end = 0.9;
  config.lora.alpha = 3;
  config.data.window = 6;
  config.chat.eval_loss = ScoredText::all;
  config.preference.beta = 0.5;
  config.preference.gamma = 0.25;
  config.classify.several = true;
  const Config before = config;
  resolve(config);
  EXPECT_EQ(config, before);
}

TEST(Resolve, KeepsTheScheduleOfARunThatIsExtended) {
  Config config;
  resolve(config);
  config.train.max_steps = 9999;
  const Config once = config;
  resolve(config);
  EXPECT_EQ(config, once);
  EXPECT_EQ(config.optim.decay_steps, 2000);
}

TEST(Resolve, LetsDerivedKeysFollowAgain) {
  Config config;
  resolve(config);
  apply_override(config, "optim.learning_rate=5e-4", RunStage::continues);
  resolve(config);
  EXPECT_EQ(config.optim.min_lr, 5e-4 / 10);

  Config set;
  set.optim.min_lr = 1e-4;
  resolve(set);
  apply_override(set, "optim.learning_rate=5e-4", RunStage::continues);
  resolve(set);
  EXPECT_EQ(set.optim.min_lr, 1e-4);
}

TEST(Resolve, LetsMinLrFollowItsShare) {
  Config config;
  resolve(config);
  EXPECT_EQ(config.optim.min_lr_share, 0.1);
  config.optim.min_lr_share = 0.05;
  resolve(config);
  EXPECT_DOUBLE_EQ(config.optim.min_lr, 5e-5);
  apply_override(config, "optim.learning_rate=4e-3", RunStage::continues);
  resolve(config);
  EXPECT_DOUBLE_EQ(config.optim.min_lr, 2e-4);
  config.optim.min_lr_share = 0;
  resolve(config);
  EXPECT_EQ(config.optim.min_lr, 0);
  Config given;
  given.optim.min_lr = 2e-4;
  resolve(given);
  EXPECT_DOUBLE_EQ(given.optim.min_lr_share, 0.2) << "the share that min_lr amounts to";
  validate(given);
  given.optim.schedule = Schedule::Kind::constant;  // which min_lr has no effect on
  given.optim.min_lr = 0.5;
  resolve(given);
  validate(given);
  EXPECT_EQ(parse_config(to_toml(given), "written"), given);
}

// Older configurations have a min_lr that is a tenth, to the bit.
TEST(Resolve, DerivesATenthToTheBit) {
  Dice dice(3);
  for (int i = 0; i < 1000; ++i) {
    Config config;
    config.optim.learning_rate = dice.uniform();
    resolve(config);
    ASSERT_EQ(*config.optim.min_lr, config.optim.learning_rate / 10);
  }
}

TEST(Resolve, LetsWsdEndWithTheRun) {
  Config config;
  config.optim.schedule = Schedule::Kind::wsd;
  resolve(config);
  EXPECT_EQ(config.optim.decay_steps, 2000);
  apply_override(config, "train.max_steps=5000", RunStage::continues);
  resolve(config);
  EXPECT_EQ(config.optim.decay_steps, 5000);
  config.optim.decay_steps = 3000;
  config.train.max_steps = 6000;
  resolve(config);
  EXPECT_EQ(config.optim.decay_steps, 3000) << "a written value stays";
}

TEST(Resolve, GivesMuonItsUsualStepsAndOneMomentum) {
  Config config;
  resolve(config);
  EXPECT_EQ(config.optim.muon_steps, 5);
  EXPECT_EQ(config.optim.muon_momentum_start, 0.95);
  EXPECT_EQ(config.optim.muon_momentum_end, 0.95);
  config.optim.muon_coefficients = MuonCoefficients::turbo;
  config.optim.muon_momentum = 0.9;
  resolve(config);
  EXPECT_EQ(config.optim.muon_steps, 4);
  EXPECT_EQ(config.optim.muon_momentum_start, 0.9);
  EXPECT_EQ(config.optim.muon_momentum_end, 0.9);
}

TEST(Validate, WantsOneMinLrAndNoMoreStepsThanThereAre) {
  EXPECT_TRUE(names(invalid([](Config& c) { c.optim.min_lr = 1e-4, c.optim.min_lr_share = 0.2; }),
                    {"optim.min_lr ", "1e-4", "optim.min_lr_share", "0.2"}));
  const auto with_steps = [](OptimizerKind kind, MuonCoefficients coefficients, index steps) {
    Config c;
    c.optim.kind = kind;
    c.optim.muon_coefficients = coefficients;
    c.optim.muon_steps = steps;
    return error_of([&] { validate(c); });
  };
  EXPECT_TRUE(names(with_steps(OptimizerKind::muon, MuonCoefficients::polar_express, 6),
                    {"optim.muon_steps", "6", "5", "optim.muon_coefficients", "\"polar_express\"", "\"jordan\""}));
  EXPECT_EQ(with_steps(OptimizerKind::muon, MuonCoefficients::turbo, 5), "");
  EXPECT_EQ(with_steps(OptimizerKind::muon, MuonCoefficients::jordan, 6), "");
  EXPECT_EQ(with_steps(OptimizerKind::adamw, MuonCoefficients::turbo, 6), "") << "this optimizer has no such steps";
}

TEST(Resolve, LeavesNoKeyOpenButTheTokenizers) {
  Config config;
  resolve(config);
  for (const schema::Key& key : schema::keys()) {
    EXPECT_EQ(key.get(config).index() == 0, key.path() == "model.vocab_size") << key.path();
  }
}

TEST(Validate, AcceptsTheDefaultsResolvedOrNot) {
  Config config;
  validate(config);
  resolve(config);
  validate(config);
}

TEST(Validate, AcceptsAWarmUpLongerThanTheRun) {
  Config config;
  config.optim.warmup_steps = 5000;
  config.train.max_steps = 100;
  resolve(config);
  validate(config);
}

TEST(Validate, NamesWidthsAndHeadsThatWork) {
  EXPECT_TRUE(names(invalid([](Config& c) { c.model.n_embd = 100, c.model.n_head = 3; }),
                    {"model.n_embd", "100", "model.n_head", "3", "n_embd = 99", "102", "n_head = 2", "4"}));
  EXPECT_TRUE(names(invalid([](Config& c) { c.model.n_embd = 7, c.model.n_head = 4; }), {"n_embd = 4", "8", "n_head = 1", "7"}));
  EXPECT_TRUE(names(invalid([](Config& c) { c.model.n_embd = 5, c.model.n_head = 8; }), {"n_embd = 8", "n_head = 5"}));
}

TEST(Validate, EveryAdviceOnHeadsWorks) {
  for (index width = 1; width <= 40; ++width) {
    for (index heads = 1; heads <= 50; ++heads) {
      Config config;
      config.model.n_embd = width;
      config.model.n_head = heads;
      if (width % heads == 0) {
        EXPECT_NO_THROW(validate(config));
        continue;
      }
      const std::string message = input_error_of([&] { validate(config); });
      ASSERT_TRUE(names(message, {"n_embd = ", "n_head = "}));
      EXPECT_EQ(std::stoll(message.substr(message.rfind("n_embd = ") + 9)) % heads, 0) << message;
      EXPECT_EQ(width % std::stoll(message.substr(message.rfind("n_head = ") + 9)), 0) << message;
    }
  }
}

TEST(Validate, NamesHeadsOfKeysThatWork) {
  const auto of = [](index heads, index of_keys) {
    Config config;
    config.model.n_head = heads;
    config.model.n_embd = 16 * heads;
    config.model.n_kv_head = of_keys;
    return input_error_of([&] { validate(config); });
  };
  // The message names the value, the number that it should divide, and the nearest numbers that do.
  const std::vector<std::string> keys = {"model.n_kv_head", "model.n_head"};
  EXPECT_TRUE(names(of(6, 4), keys));
  EXPECT_EQ(numbers_in(of(6, 4)), (std::vector<index>{4, 6, 3, 6}));
  EXPECT_EQ(numbers_in(of(12, 5)), (std::vector<index>{5, 12, 4, 6}));
  EXPECT_EQ(numbers_in(of(4, 9)), (std::vector<index>{9, 4, 4}));
  EXPECT_TRUE(names(invalid([](Config& c) { c.model.n_kv_head = 0; }), {"model.n_kv_head", "0", "integer", "1"}));
  for (index heads = 1; heads <= 24; ++heads) {
    for (index of_keys = 1; of_keys <= 30; ++of_keys) {
      if (heads % of_keys != 0) {
        const std::string message = of(heads, of_keys);
        const std::vector<index> numbers = numbers_in(message);
        ASSERT_GE(numbers.size(), 3U) << message;
        for (std::size_t i = 2; i < numbers.size(); ++i) {
          EXPECT_EQ(heads % numbers[i], 0) << message;
        }
      }
    }
  }
}

TEST(Validate, WantsHeadsThatRopeCanRotate) {
  const auto rope = [](index heads, index width, index size) {
    Config config;
    config.model.positions = Positions::rope;
    config.model.n_head = heads;
    config.model.n_embd = width;
    if (size > 0) {
      config.model.head_size = size;
    }
    const std::string open = error_of([&] { validate(config); });
    resolve(config);
    EXPECT_EQ(error_of([&] { validate(config); }), open) << "resolved or not";
    return open;
  };
  EXPECT_EQ(rope(4, 64, 0), "");
  EXPECT_TRUE(names(rope(4, 60, 0), {"model.head_size", "15", "model.n_embd = 60", "model.n_head = 4", "model.positions = \"rope\""}));
  EXPECT_EQ(rope(4, 60, 16), "");
  EXPECT_TRUE(names(rope(4, 64, 7), {"model.head_size", "7", "model.positions = \"rope\""}));
  EXPECT_EQ(rope(3, 64, 8), "") << "with head_size set, heads need not divide the width";
  const std::string uneven = rope(3, 100, 0);
  EXPECT_TRUE(names(uneven, {"model.n_head", "3", "100"}));
  EXPECT_EQ(uneven.find("model.positions"), std::string::npos) << uneven << ": one thing is wrong";
  Config learned;
  learned.model.head_size = 7;
  EXPECT_NO_THROW(validate(learned));
}

TEST(Validate, WantsOneRopeFactorForEachPairAndLongRopesOriginalContext) {
  const auto problem = [](const std::function<void(TransformerConfig&)>& change) {
    Config config;
    config.model.positions = Positions::rope;
    config.model.n_head = 2;
    config.model.n_embd = 32;
    config.model.rope_share = 0.75;  // 6 of 8 pairs
    change(config.model);
    return error_of([&] { validate(config); });
  };
  EXPECT_EQ(problem([](TransformerConfig& c) { c.rope_short_factors.assign(6, 1.5); }), "");
  EXPECT_TRUE(names(problem([](TransformerConfig& c) { c.rope_short_factors.assign(8, 1.5); }),
                    {"model.rope_short_factors", "8", "6", "model.rope_share"}));
  EXPECT_TRUE(names(problem([](TransformerConfig& c) { c.rope_long_factors.assign(5, 1.5); }), {"model.rope_long_factors", "5", "6"}));
  const auto longrope = [](TransformerConfig& c) {
    c.rope_scaling = RopeScaling::longrope;
    c.rope_original_context = c.block_size;
  };
  EXPECT_EQ(problem(longrope), "");
  EXPECT_TRUE(
      names(problem([&](TransformerConfig& c) { longrope(c), ++c.block_size; }), {"model.block_size", "model.rope_original_context"}));
}

TEST(Validate, WantsLlama3sFactorsInOrder) {
  const auto factors = [](double low, double high, RopeScaling scaling) {
    Config config;
    config.model.positions = Positions::rope;
    config.model.rope_scaling = scaling;
    config.model.rope_low_freq_factor = low;
    config.model.rope_high_freq_factor = high;
    return error_of([&] { validate(config); });
  };
  EXPECT_EQ(factors(1, 4, RopeScaling::llama3), "");
  EXPECT_TRUE(names(factors(4, 4, RopeScaling::llama3), {"model.rope_low_freq_factor", "4.0", "model.rope_high_freq_factor"}));
  EXPECT_TRUE(names(factors(5, 4, RopeScaling::llama3), {"model.rope_low_freq_factor", "5.0", "model.rope_high_freq_factor", "4.0"}));
  EXPECT_EQ(factors(5, 4, RopeScaling::linear), "") << "it has none";
  EXPECT_TRUE(names(invalid([](Config& c) { c.model.rope_theta = 0; }), {"model.rope_theta", "0.0", "number", "1"}));
  EXPECT_TRUE(names(invalid([](Config& c) { c.model.rope_factor = 0.5; }), {"model.rope_factor", "0.5", "number", "1"}));
  EXPECT_TRUE(names(invalid([](Config& c) { c.model.rope_original_context = 0; }), {"model.rope_original_context", "0", "integer"}));
  EXPECT_TRUE(names(invalid([](Config& c) { c.model.norm_eps = 0; }), {"model.norm_eps", "0.0", "number", "0"}));
  EXPECT_TRUE(names(invalid([](Config& c) { c.model.logit_softcap = 41; }), {"model.logit_softcap", "41.0", "number", "0", "40"}));
}

TEST(Validate, ZeroHeadNeedsAnUntiedHead) {
  EXPECT_TRUE(names(invalid([](Config& c) { c.model.zero_head = true; }), {"model.zero_head", "true", "model.tie_embeddings = false"}));
  Config config;
  config.model.zero_head = true;
  config.model.tie_embeddings = false;
  EXPECT_NO_THROW(validate(config));
}

TEST(Validate, WantsTheRateToFall) {
  EXPECT_TRUE(names(invalid([](Config& c) { c.optim.min_lr = 2e-3; }), {"optim.min_lr", "0.002", "optim.learning_rate", "0.001"}));
  Config config;
  config.optim.min_lr = 2e-3;
  for (const Schedule::Kind schedule : {Schedule::Kind::constant, Schedule::Kind::inverse_sqrt}) {
    config.optim.schedule = schedule;
    EXPECT_NO_THROW(validate(config)) << name_of(schedule);
  }
}

TEST(Validate, WantsAWarmUpIfTheRateFollowsFromIt) {
  EXPECT_TRUE(names(invalid([](Config& c) { c.optim.schedule = Schedule::Kind::inverse_sqrt, c.optim.warmup_steps = 0; }),
                    {"optim.warmup_steps", "0", "1", "optim.schedule = \"inverse_sqrt\""}));
  Config config;
  config.optim.warmup_steps = 0;
  EXPECT_NO_THROW(validate(config)) << "a cosine does not need one";
  config.optim.schedule = Schedule::Kind::inverse_sqrt;
  config.optim.warmup_steps = 1;
  EXPECT_NO_THROW(validate(config));
}

TEST(Validate, ChecksRangesOfValuesThatWereSetInCode) {
  EXPECT_TRUE(
      names(invalid([](Config& c) { c.model.block_size = 0, c.optim.beta1 = 1.0; }), {"model.block_size", "0", "\noptim.beta1", "1.0"}));
  EXPECT_TRUE(names(invalid([](Config& c) { c.model.n_head = 0; }), {"model.n_head", "0", "integer", "1"}));
  EXPECT_TRUE(names(invalid([](Config& c) { c.data.corpus = {"\xFF"}; }), {"data.corpus", "UTF-8"}));
  EXPECT_TRUE(names(invalid([](Config& c) { c.tokenizer.kind = "words"; }), {"tokenizer.kind", "\"words\""}));
}

TEST(Validate, RefusesMoreTokensThanCanBeCounted) {
  const auto huge = [](Config& c) {
    c.train.batch_size = c.train.gradient_accumulation_steps = c.model.block_size = 1'000'000;
    c.train.max_steps = 999'999'999;
  };
  EXPECT_TRUE(names(invalid(huge), {"train.batch_size", "model.block_size", "train.max_steps", "tokens"}));
}

}  // namespace
}  // namespace dikkat
