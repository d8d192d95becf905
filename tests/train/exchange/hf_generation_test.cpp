#include "train/exchange/hf_generation.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/support/throws.h"
#include "train/exchange/gguf_sampling.h"

namespace dikkat {
namespace {

using nlohmann::json;
using testing::names;

ForeignConfig read(const json& file, GenerationFile kind = GenerationFile::generation_config) {
  ForeignConfig config;
  config.model.vocab_size = 100;
  add_hf_generation(file.dump(), "generation_config.json", kind, config);
  return config;
}

// The defaults are those of transformers: temperature 1, top_k 50, top_p 1.
TEST(HfGeneration, ReadsHowAnswersAreDrawn) {
  const auto sampling = [](const json& file) { return read(file).sampling; };
  EXPECT_EQ(sampling({{"eos_token_id", 7}}), AnswerSampling()) << "it says nothing";
  EXPECT_EQ(sampling({{"do_sample", true}}), (AnswerSampling{.temperature = 1, .top_k = 50}));
  EXPECT_EQ(sampling({{"do_sample", true}, {"temperature", 0.6}, {"top_p", 0.9}}),
            (AnswerSampling{.temperature = 0.6, .top_k = 50, .top_p = 0.9}));
  EXPECT_EQ(sampling({{"do_sample", true}, {"top_k", 0}, {"min_p", 0.1}, {"repetition_penalty", 1.1}}),
            (AnswerSampling{.temperature = 1, .top_k = 0, .min_p = 0.1, .repetition_penalty = 1.1}));
  EXPECT_EQ(sampling({{"do_sample", false}, {"temperature", 0.6}, {"top_k", 20}}), greedy());
  EXPECT_EQ(sampling({{"do_sample", false}, {"repetition_penalty", 1.1}}), (AnswerSampling{.temperature = 0, .repetition_penalty = 1.1}));
  EXPECT_EQ(sampling({{"repetition_penalty", 1.1}}), (AnswerSampling{.repetition_penalty = 1.1}));
  EXPECT_EQ(read({{"eos_token_id", {7, 8, 7}}}).end_tokens, (std::vector<Token>{7, 8}));
  // transformers would not draw.
  const ForeignConfig unclear = read({{"temperature", 0.6}});
  EXPECT_EQ(unclear.sampling, (AnswerSampling{.temperature = 0.6, .top_k = 50}));
  ASSERT_EQ(unclear.notes.size(), 1U);
  EXPECT_TRUE(names(unclear.notes.front(), {"temperature", "do_sample"}));
}

TEST(HfGeneration, NotesEveryKeyThatIsLost) {
  const json lost = {{"num_beams", 4},
                     {"typical_p", 0.9},
                     {"no_repeat_ngram_size", 3},
                     {"suppress_tokens", {1, 2}},
                     {"begin_suppress_tokens", {1}},
                     {"bad_words_ids", {{1}}},
                     {"sequence_bias", {{{1}, 0.5}}},
                     {"forced_eos_token_id", 7},
                     {"encoder_repetition_penalty", 1.2},
                     {"guidance_scale", 2},
                     {"stop_strings", {"a"}},
                     {"min_new_tokens", 3},
                     {"exponential_decay_length_penalty", {1, 1.1}},
                     {"penalty_alpha", 0.6},
                     {"eta_cutoff", 1e-3}};
  for (const auto& [key, value] : lost.items()) {
    for (const GenerationFile kind : {GenerationFile::generation_config, GenerationFile::config}) {
      const ForeignConfig found = read({{key, value}}, kind);
      ASSERT_EQ(found.notes.size(), 1U) << key;
      EXPECT_TRUE(names(found.notes.front(), {key, "generation_config.json"}));
    }
  }
  EXPECT_EQ(read({{"of_the_future", 3}}).notes.size(), 1U);
  EXPECT_EQ(read({{"of_the_model", 3}}, GenerationFile::config).notes.size(), 0U);
  // Values and keys that change nothing.
  const json harmless = {
      {"num_beams", 1},           {"typical_p", 1.0},       {"no_repeat_ngram_size", 0}, {"suppress_tokens", nullptr},
      {"bad_words_ids", nullptr}, {"guidance_scale", 1.0},  {"max_new_tokens", 2048},    {"cache_implementation", "hybrid"},
      {"pad_token_id", 3},        {"token_healing", false}, {"length_penalty", 2.0},     {"transformers_version", "5.0.0"}};
  EXPECT_EQ(read(harmless).notes, std::vector<std::string>());
}

TEST(HfGeneration, RefusesValuesThatAreNotValid) {
  const auto refusal = [](const json& file) { return testing::error_of<InputError>([&] { read(file); }); };
  EXPECT_TRUE(names(refusal({{"do_sample", "yes"}}), {"do_sample", "yes"}));
  EXPECT_TRUE(names(refusal({{"temperature", -1}}), {"temperature", "-1"}));
  EXPECT_TRUE(names(refusal({{"min_p", 2}}), {"min_p", "2"}));
  EXPECT_TRUE(names(refusal({{"repetition_penalty", "1"}}), {"repetition_penalty"}));
  EXPECT_TRUE(names(refusal({{"top_k", 0.5}}), {"top_k", "0.5"}));
  EXPECT_TRUE(names(refusal({{"eos_token_id", 100}}), {"eos_token_id", "100"}));
}

TEST(HfGeneration, WritesWhatItReads) {
  const AnswerSampling all[] = {{},
                                greedy(),
                                {.temperature = 0.6, .top_k = 20, .top_p = 0.95, .min_p = 0.05, .repetition_penalty = 1.1},
                                {.temperature = 0, .repetition_penalty = 1.2}};
  for (const AnswerSampling& sampling : all) {
    const json written = json::parse(hf_generation_text({.bos = 3, .ends = {4, 5}}, sampling));
    EXPECT_EQ(written["do_sample"], sampling.temperature > 0);
    EXPECT_FALSE(sampling.temperature == 0 && (written.contains("temperature") || written.contains("top_k")));
    const ForeignConfig found = read(written);
    EXPECT_EQ(found.sampling, sampling);
    EXPECT_EQ(found.end_tokens, (std::vector<Token>{4, 5}));
    EXPECT_EQ(found.notes, std::vector<std::string>());
  }
}

TEST(GgufSampling, ReadsWhatLlamaCppReads) {
  const auto read_gguf = [](std::vector<MetaEntry> metadata) {
    for (MetaEntry& entry : metadata) {
      entry.key = concat("general.sampling.", entry.key);
    }
    ForeignConfig config;
    read_gguf_sampling(WeightFile("x.gguf", {}, std::move(metadata)), config);
    return config;
  };
  EXPECT_EQ(read_gguf({}).sampling, AnswerSampling());
  EXPECT_EQ(read_gguf({{"temp", MetaValue(0.6F)}, {"top_k", MetaValue(std::int32_t{20})}, {"penalty_repeat", MetaValue(1.1F)}}).sampling,
            (AnswerSampling{.temperature = 0.6, .top_k = 20, .repetition_penalty = 1.1}));
  EXPECT_EQ(read_gguf({{"temp", MetaValue(-1.0F)}, {"top_k", MetaValue(std::int32_t{-1})}}).sampling, greedy());
  const auto notes = read_gguf({{"mirostat", MetaValue(std::int32_t{2})},
                                {"xtc_probability", MetaValue(0.0F)},
                                {"penalty_last_n", MetaValue(std::int32_t{64})},
                                {"penalty_repeat", MetaValue(1.1F)}})
                         .notes;
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_TRUE(names(notes.front(), {"general.sampling.mirostat", "general.sampling.penalty_last_n", "64"}));
  EXPECT_EQ(notes.front().find("xtc"), std::string::npos);
  EXPECT_TRUE(names(testing::error_of<InputError>([&] { read_gguf({{"top_p", MetaValue("all")}}); }), {"general.sampling.top_p", "all"}));
}

}  // namespace
}  // namespace dikkat
