#include <cstring>
#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/support/temporary_folder.h"
#include "tests/support/throws.h"
#include "train/exchange/export_model.h"
#include "train/exchange/foreign_config.h"
#include "train/exchange/model_files.h"
#include "train/model/language_model.h"
#include "train/system/file.h"
#include "train/text/bpe_tokenizer.h"
#include "train/text/byte_level.h"
#include "train/text/byte_tokenizer.h"
#include "train/text/char_tokenizer.h"

// An exported model is read back with an equal configuration, tokenizer and bits of weights.
namespace dikkat {
namespace {

namespace fs = std::filesystem;
using testing::error_of;
using testing::names;

/// All bytes, two merges and an end of text.
BpeTokenizer small_tokenizer(Splitter splitter) {
  std::vector<std::string> tokens;
  for (const unsigned char byte : byte_level::kOrder) {
    tokens.emplace_back(1, static_cast<char>(byte));
  }
  const auto id = [&](std::string_view text) { return static_cast<Token>(std::find(tokens.begin(), tokens.end(), text) - tokens.begin()); };
  tokens.emplace_back("th");
  tokens.emplace_back("the");
  std::vector<Merge> merges{{id("t"), id("h")}, {id("th"), id("e")}};
  const auto end = static_cast<Token>(tokens.size());
  return BpeTokenizer({.bpe = Bpe(std::move(tokens), std::move(merges), facts_of(splitter).ignore_merges),
                       .added_tokens = {{end, {.name = std::string(kEndOfText), .normalized = true}}},
                       .splitter = splitter,
                       .nfc = facts_of(splitter).nfc});
}

struct Case {
  const char* name;
  TransformerConfig config;
  Splitter splitter = Splitter::gpt2;
  bool has_gguf = true;
};

TransformerConfig llama_shape() {
  return {.n_layer = 2,
          .n_head = 4,
          .n_kv_head = 2,
          .n_embd = 32,
          .block_size = 20,
          .vocab_size = 270,
          .bias = false,
          .positions = Positions::rope,
          .norm = NormKind::rms_norm,
          .activation = Activation::silu,
          .gated = true};
}

std::vector<Case> cases() {
  const TransformerConfig gpt2{.n_layer = 2, .n_head = 2, .n_embd = 32, .block_size = 20, .vocab_size = 270};
  std::vector<Case> all{{"gpt2", gpt2},
                        {"gpt2_untied", gpt2},
                        {"llama", llama_shape(), Splitter::llama3},
                        {"llama_scaled", llama_shape()},
                        {"llama_linear", llama_shape()},
                        {"qwen2", llama_shape(), Splitter::qwen2},
                        {"qwen3", llama_shape()},
                        {"mistral", llama_shape(), Splitter::gpt2, false},
                        {"smollm3", llama_shape()},
                        {"granite", llama_shape()},
                        {"olmo2", llama_shape()},
                        {"gemma3_text", llama_shape()},
                        {"phi3", llama_shape()}};
  all[1].config.tie_embeddings = false;
  all[3].config.rope_scaling = RopeScaling::llama3;
  all[3].config.rope_original_context = 128;
  all[3].config.rope_low_freq_factor = 0.5;
  all[4].config.rope_scaling = RopeScaling::linear;
  all[4].config.rope_factor = 3;
  all[5].config.qkv_bias = true;
  all[6].config.qk_norm = true;
  all[6].config.head_size = 10;
  all[6].config.norm_eps = 1e-6;
  all[7].config.window = 7;
  all[8].config.n_layer = 5;
  all[8].config.rope_pattern = 4;
  all[9].config.embedding_scale = 12;
  all[9].config.attention_scale = 0.2;
  all[9].config.residual_scale = 0.263;
  all[9].config.logit_scale = 1.0 / 7;
  all[10].config.norm_position = NormPosition::branch;
  all[10].config.qk_norm = true;
  all[10].config.qk_norm_over = QkNormOver::row;
  all[11].config = {.n_layer = 7,
                    .n_head = 4,
                    .n_kv_head = 1,
                    .n_embd = 32,
                    .head_size = 16,
                    .block_size = 20,
                    .vocab_size = 270,
                    .bias = false,
                    .scale_embeddings = true,
                    .positions = Positions::rope,
                    .norm_position = NormPosition::sandwich,
                    .norm = NormKind::rms_norm,
                    .qk_norm = true,
                    .window = 8,
                    .window_pattern = 6,
                    .rope_theta = 1'000'000,
                    .rope_theta_local = 10'000,
                    .activation = Activation::gelu,
                    .gated = true};
  all[12].config.rope_share = 0.75;  // 3 of 4 pairs
  all[12].config.rope_scaling = RopeScaling::longrope;
  all[12].config.rope_factor = 4;
  all[12].config.rope_original_context = 20;
  all[12].config.rope_short_factors = {1, 1.5, 2.25};
  all[12].config.rope_long_factors = {1.25, 4, 8};
  return all;
}

/// A model whose parameters are all different from one another and from their usual start.
std::unique_ptr<LanguageModel> model_of(const TransformerConfig& config) {
  auto model = std::make_unique<LanguageModel>(config, config.vocab_size);
  model->parameters().allocate(1);
  float* weights = model->parameters().weights<float>();
  for (index i = 0; i < model->parameters().slab_size(); ++i) {
    weights[i] += 0.001F * static_cast<float>(i % 997);
  }
  return model;
}

bool same_weights(const LanguageModel& a, const LanguageModel& b) {
  const auto& of_a = a.parameters().entries();
  const auto& of_b = b.parameters().entries();
  bool same = of_a.size() == of_b.size();
  for (std::size_t i = 0; same && i < of_a.size(); ++i) {
    same = of_a[i]->path == of_b[i]->path && of_a[i]->shape() == of_b[i]->shape() &&
           std::memcmp(a.parameters().weights<float>() + of_a[i]->offset, b.parameters().weights<float>() + of_b[i]->offset,
                       static_cast<std::size_t>(of_a[i]->size()) * sizeof(float)) == 0;
  }
  return same;
}

class Exports : public ::testing::TestWithParam<Case> {};

void expect_round_trip(const Case& c, ExportFormat format, const std::string& name) {
  const TemporaryFolder to;
  const BpeTokenizer tokenizer = small_tokenizer(c.splitter);
  const auto model = model_of(c.config);
  const ExportOptions options{.format = format};
  export_model({model->config(), model->parameters(), tokenizer}, to / name, options);

  // The weights and the configuration are read back.
  const ModelFiles files(to / name, {.context = c.config.positions == Positions::rope ? c.config.block_size : 0});
  EXPECT_EQ(files.whole_context(), c.config.block_size);
  LanguageModel again(files.config(), tokenizer.vocab_size());
  again.parameters().allocate(0);
  files.load_weights(again.parameters());
  EXPECT_TRUE(same_weights(*model, again));
  TransformerConfig expected = model->config(), found = files.config();
  EXPECT_EQ(*found.head_size, *expected.head_size);
  found.head_size = expected.head_size;  // given where it was derived
  found.n_kv_head = expected.n_kv_head;
  found.n_hidden = expected.n_hidden;
  found.qkv_bias = expected.qkv_bias;
  found.final_norm = expected.final_norm;
  found.positions = expected.positions;
  found.norm_position = expected.norm_position;
  found.activation = expected.activation;
  found.scale_embeddings = expected.scale_embeddings;
  EXPECT_EQ(*found.rope_amplitude, *expected.rope_amplitude);
  found.rope_amplitude = expected.rope_amplitude;
  EXPECT_EQ(*found.attention_scale, *expected.attention_scale);
  found.attention_scale = expected.attention_scale;
  EXPECT_EQ(found.logit_scale, expected.logit_scale);
  EXPECT_EQ(found.rope_theta, expected.rope_theta);
  EXPECT_EQ(found.norm_eps, expected.norm_eps);
  EXPECT_TRUE(found == expected);

  // So is the tokenizer.
  const auto read = files.open_tokenizer();
  for (const char* text : {"the theme, then 1234 \r\n\n  x<|endoftext|>", "caf\u00e9 e\u0301"}) {
    EXPECT_EQ(read->encode(text), tokenizer.encode(text)) << text;
    EXPECT_EQ(read->encode_with_special(text), tokenizer.encode_with_special(text)) << text;
  }
  EXPECT_EQ(read->text_tokens(), tokenizer.text_tokens());

  // A second export writes the same bytes.
  export_model({again.config(), again.parameters(), *read}, to / ("again-" + name), options);
  const std::vector<std::string> written = format == ExportFormat::hf
                                               ? std::vector<std::string>{"/model.safetensors", "/config.json", "/generation_config.json"}
                                               : std::vector<std::string>{""};
  for (const std::string& file : written) {
    EXPECT_EQ(read_bytes(to.path(name) + file), read_bytes(to.path("again-" + name) + file)) << file;
  }
}

TEST_P(Exports, ComeBackFromHuggingFacesFolders) { expect_round_trip(GetParam(), ExportFormat::hf, "model"); }
TEST_P(Exports, ComeBackFromGguf) {
  if (GetParam().has_gguf) {
    expect_round_trip(GetParam(), ExportFormat::gguf, "model.gguf");
    return;
  }
  const TemporaryFolder to;
  const auto model = model_of(GetParam().config);
  EXPECT_TRUE(names(error_of([&] {
                      export_model({model->config(), model->parameters(), small_tokenizer(Splitter::gpt2)}, to / "x.gguf",
                                   {.format = ExportFormat::gguf});
                    }),
                    {"GGUF", GetParam().name}));
}
TEST_P(Exports, AreOfTheirFamily) {
  std::string why, name = GetParam().name;
  name.resize(std::min(name.find("_untied"), std::min(name.find("_scaled"), name.find("_linear"))) == std::string::npos ? name.size()
                                                                                                                        : name.find('_'));
  const Family* family = family_of(GetParam().config, why);
  ASSERT_NE(family, nullptr) << why;
  EXPECT_EQ(family->name, name);
}

INSTANTIATE_TEST_SUITE_P(Of, Exports, ::testing::ValuesIn(cases()), [](const auto& test) { return std::string(test.param.name); });

TEST(ExportModel, ComesBackFromLlmc) {
  const TemporaryFolder to;
  const Case c = cases().front();
  const auto model = model_of(c.config);
  export_model({model->config(), model->parameters(), small_tokenizer(c.splitter)}, to / "model.bin", {.format = ExportFormat::llmc});
  const ModelFiles files(to / "model.bin");
  EXPECT_EQ(files.config().vocab_size, 270);
  LanguageModel again(files.config(), 259);
  again.parameters().allocate(0);
  files.load_weights(again.parameters());
  EXPECT_TRUE(same_weights(*model, again));
  EXPECT_TRUE(names(error_of([&] { files.open_tokenizer(); }), {"no tokenizer", "--tokenizer PATH"}));
}

TEST(ExportModel, RefusesANormThatLlmcDoesNotHave) {
  const TemporaryFolder to;
  TransformerConfig config = cases().front().config;
  config.norm_eps = 1e-6;
  const auto model = model_of(config);
  const std::string error = error_of([&] {
    export_model({model->config(), model->parameters(), small_tokenizer(Splitter::gpt2)}, to / "model.bin", {.format = ExportFormat::llmc});
  });
  EXPECT_NE(error.find("model.norm_eps"), std::string::npos) << error;
  EXPECT_FALSE(fs::exists(to / "model.bin"));
}

TEST(ExportModel, KeepsTokenizersOfCharactersAndBytes) {
  const TemporaryFolder to;
  const CharTokenizer characters(U"\n abcd\u00e9\u4e00");
  const ByteTokenizer bytes;
  for (const Tokenizer* tokenizer : {static_cast<const Tokenizer*>(&characters), static_cast<const Tokenizer*>(&bytes)}) {
    for (const ExportFormat format : {ExportFormat::hf, ExportFormat::gguf}) {
      const auto model = model_of(cases().front().config);
      const fs::path path = to / concat(tokenizer->kind(), format == ExportFormat::gguf ? ".gguf" : "");
      export_model({model->config(), model->parameters(), *tokenizer}, path, {.format = format});
      const auto read = ModelFiles(path).open_tokenizer();
      const std::string text = "a b\ncd \u00e9\u4e00";
      EXPECT_EQ(read->encode(text), tokenizer->encode(text)) << path;
      EXPECT_EQ(read->decode(read->encode(text)), text) << path;
      EXPECT_EQ(read->vocab_size(), tokenizer->vocab_size()) << path;
      EXPECT_EQ(read->text_tokens(), TextTokens{}) << path;
    }
  }
}

TEST(ExportModel, WritesZerosForBiasesThatTheFamilyHas) {
  const TemporaryFolder to;
  TransformerConfig config = cases().front().config;
  config.bias = false;
  const auto model = model_of(config);
  export_model({model->config(), model->parameters(), small_tokenizer(Splitter::gpt2)}, to / "hf");
  LanguageModel again(ModelFiles(to / "hf").config(), 259);
  again.parameters().allocate(1);
  ModelFiles(to / "hf").load_weights(again.parameters());
  for (const ParameterStore::Entry* entry : again.parameters().entries()) {
    const float* values = again.parameters().weights<float>() + entry->offset;
    EXPECT_EQ(entry->path.ends_with(".bias"), std::all_of(values, values + entry->size(), [](float v) { return v == 0; })) << entry->path;
  }
}

TEST(ExportModel, LeavesOutOnlyAHeadThatRepeatsTheTokenTable) {
  const TemporaryFolder to;
  TransformerConfig config = llama_shape();
  config.tie_embeddings = false;
  const auto model = model_of(config);
  const auto imported = [&](const std::string& name) {
    export_model({model->config(), model->parameters(), small_tokenizer(Splitter::llama3)}, to / name);
    nlohmann::json json = nlohmann::json::parse(read_bytes(to.path(name) + "/config.json"));
    json["tie_word_embeddings"] = true;
    to.write(name + "/config.json", json.dump());
    const ModelFiles files(to / name);
    LanguageModel again(files.config(), 259);
    again.parameters().allocate(0);
    files.load_weights(again.parameters());
    return std::pair(files.config().tie_embeddings, files.notes().size());
  };
  EXPECT_EQ(imported("other"), std::pair(false, std::size_t{1}));
  const auto entry = [&](const char* path) { return model->parameters().weights<float>() + model->parameters().entry(path).offset; };
  std::copy_n(entry("wte.weight"), model->parameters().entry("wte.weight").size(), entry("lm_head.weight"));
  EXPECT_EQ(imported("same"), std::pair(true, std::size_t{0}));
}

// llama.cpp has these values in its code, and GGUF no keys for them.
TEST(ExportModel, RefusesAGgufThatLlamaCppWouldComputeOtherwise) {
  const TemporaryFolder to;
  const auto refusal = [&](std::size_t number, const std::function<void(TransformerConfig&)>& change) {
    TransformerConfig config = cases().at(number).config;
    change(config);
    const auto model = model_of(config);
    return error_of([&] {
      export_model({model->config(), model->parameters(), small_tokenizer(Splitter::gpt2)}, to / "x.gguf", {.format = ExportFormat::gguf});
    });
  };
  EXPECT_TRUE(names(refusal(8, [](auto& c) { c.rope_pattern = 3; }), {"model.rope_pattern", "smollm3", "3", "4"}));
  EXPECT_TRUE(names(refusal(11, [](auto& c) { c.window_pattern = 3; }), {"model.window_pattern", "gemma3", "3", "6"}));
  EXPECT_TRUE(names(refusal(11, [](auto& c) { c.rope_theta_local = 500; }), {"model.rope_theta_local", "500.0", "10000.0"}));
  EXPECT_TRUE(names(refusal(11, [](auto& c) { c.attention_scale = 0.5; }), {"model.attention_scale", "0.5", "0.25"}));
  EXPECT_TRUE(names(refusal(11, [](auto& c) { c.window = 0; }), {"model.window", "0", "gemma3"}));
  EXPECT_TRUE(names(refusal(12, [](auto& c) { c.window = 7; }), {"model.window", "phi3", "7", "0"}));
  EXPECT_TRUE(names(refusal(12,
                            [](auto& c) {
                              c.head_size = 16;
                              c.rope_short_factors.assign(6, 1);
                              c.rope_long_factors.assign(6, 2);
                            }),
                    {"model.head_size", "phi3", "16", "8"}));
  EXPECT_FALSE(fs::exists(to / "x.gguf"));
}

// The files hold the weights, which include everything that a model began with.
TEST(ExportModel, DoesNotAskHowAModelBegan) {
  const TemporaryFolder to;
  TransformerConfig config = llama_shape();
  config.tie_embeddings = false;
  config.zero_init_projections = config.zero_head = true;
  const auto model = model_of(config);
  EXPECT_NO_THROW(export_model({model->config(), model->parameters(), small_tokenizer(Splitter::llama3)}, to / "hf"));
  const TransformerConfig again = ModelFiles(to / "hf").config();
  EXPECT_FALSE(again.zero_init_projections || again.zero_head);
}

TEST(ExportModel, RefusesModelsThatAFormatCannotDescribe) {
  const TemporaryFolder to;
  const auto refusal = [&](const std::function<void(TransformerConfig&)>& change, const ExportOptions& options = {}) {
    TransformerConfig config = llama_shape();
    change(config);
    const auto model = model_of(config);
    return error_of([&] { export_model({model->config(), model->parameters(), small_tokenizer(Splitter::gpt2)}, to / "x", options); });
  };
  EXPECT_TRUE(names(refusal([](auto& c) { c.logit_softcap = 15; }), {"model.logit_softcap", "15.0", "0.0", "llama"}));
  EXPECT_TRUE(names(refusal([](auto& c) { c.rope_share = 0.5, c.qkv_bias = true; }), {"model.rope_share", "0.5", "1.0", "qwen2"}));
  // LongRoPE is written as two lists and two contexts, from which the amplitude follows.
  const auto phi = [](auto& c) { c = cases().back().config; };
  EXPECT_TRUE(
      names(refusal([&](auto& c) { phi(c), c.rope_amplitude = 2; }), {"model.rope_amplitude", "2.0", "1.2094446768329332", "phi3"}));
  EXPECT_TRUE(names(refusal([&](auto& c) { phi(c), c.rope_long_factors = {}; }), {"model.rope_long_factors", "phi3"}));
  EXPECT_TRUE(
      names(refusal([&](auto& c) { phi(c), c.rope_scaling = RopeScaling::none; }), {"model.rope_short_factors", "\"longrope\"", "phi3"}));
  EXPECT_TRUE(names(refusal([&](auto& c) { phi(c), c.rope_share = 0.9; }), {"model.rope_share", "0.9", "7", "phi3"}));
  EXPECT_TRUE(names(refusal([](auto& c) { c.rope_scaling = RopeScaling::longrope, c.rope_factor = 1, c.qkv_bias = true; }),
                    {"model.rope_scaling", "\"longrope\"", "qwen2"}));
  EXPECT_TRUE(names(refusal([](auto& c) { c.activation = Activation::relu2; }), {"model.activation", "\"relu2\"", "\"silu\""}));
  for (const ExportFormat format : {ExportFormat::hf, ExportFormat::gguf, ExportFormat::llmc}) {
    const ExportOptions to_it{.format = format};
    EXPECT_TRUE(names(refusal([](auto& c) { c.embedding_norm = true; }, to_it), {"model.embedding_norm", "true", "false", "llama"}));
    EXPECT_TRUE(names(refusal([](auto& c) { c.residual_scalars = true; }, to_it), {"model.residual_scalars", "true", "false"}));
    EXPECT_TRUE(names(refusal([](auto& c) { c.value_embeddings = ValueEmbeddings::alternate; }, to_it),
                      {"model.value_embeddings", "\"alternate\"", "\"none\""}));
  }
  EXPECT_TRUE(names(refusal([](auto& c) { c.positions = Positions::none; }), {"model.positions", "\"none\""}));
  EXPECT_TRUE(names(refusal([](auto&) {}, {.format = ExportFormat::llmc}), {"llm.c", "llama", "gpt2"}));
  EXPECT_TRUE(names(refusal([](auto&) {}, {.type = WeightType::q8_0}), {"q8_0", "f32, f16, bf16"}));
  EXPECT_FALSE(fs::exists(to / "x"));

  to.write("x/mine.txt", "mine");
  EXPECT_TRUE(names(refusal([](auto&) {}), {to.path("x"), "exists"}));
  EXPECT_EQ(read_bytes(to / "x/mine.txt"), "mine");
}

}  // namespace
}  // namespace dikkat
