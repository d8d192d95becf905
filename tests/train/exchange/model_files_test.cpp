#include "train/exchange/model_files.h"

#include <cmath>
#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/support/temporary_folder.h"
#include "tests/support/throws.h"
#include "tests/support/without_cache.h"
#include "train/exchange/export_adapters.h"
#include "train/exchange/formats/convert.h"
#include "train/exchange/peft_files.h"
#include "train/model/language_model.h"
#include "train/sample/generate.h"
#include "train/system/file.h"
#include "train/text/utf8.h"

// Folders of Hugging Face (tests/golden/make_hf_folders.py), with the logits that another implementation computed in f64.
namespace dikkat {
namespace {

namespace fs = std::filesystem;
using testing::error_of;
using testing::names;

fs::path folder_of(const std::string& family) { return fs::path(DIKKAT_SOURCE_DIR) / "tests/golden/hf" / family; }

nlohmann::json json_at(const fs::path& path) { return nlohmann::json::parse(std::ifstream(path)); }

/// The model with the weights of the files.
std::unique_ptr<LanguageModel> loaded(const ModelFiles& files) {
  auto model = std::make_unique<LanguageModel>(files.config(), files.config().vocab_size);
  model->parameters().allocate(0);
  files.load_weights(model->parameters());
  return model;
}

/// The largest difference between our logits and those of expected.json, and the largest of theirs.
std::pair<double, double> error_of_logits(const LanguageModel& model, const nlohmann::json& expected) {
  const auto rows = expected["tokens"].get<std::vector<std::vector<Token>>>();
  double error = 0, largest = 0;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    Tape tape(Recording::off);
    Pass pass{tape};
    const auto time = std::ssize(rows[row]);
    const Tensor logits = model.gpt()(pass, tape.input<Token>({1, time}, rows[row]));
    const index classes = logits.shape().cols();
    for (index t = 0; t < time; ++t) {
      for (index v = 0; v < classes; ++v) {
        const double theirs = expected["logits"][row][static_cast<std::size_t>(t)][static_cast<std::size_t>(v)].get<double>();
        error = std::max(error, std::abs(static_cast<double>(logits.data<float>()[t * classes + v]) - theirs));
        largest = std::max(largest, std::abs(theirs));
      }
    }
  }
  return {error, largest};
}

class HuggingFaceFolders : public ::testing::TestWithParam<const char*> {};

TEST_P(HuggingFaceFolders, GiveTheLogitsOfTheirOwners) {
  const fs::path folder = folder_of(GetParam());
  const ModelFiles files(folder);
  const auto [error, largest] = error_of_logits(*loaded(files), json_at(folder / "expected.json"));
  EXPECT_GT(largest, 0.5);
  EXPECT_LE(error, 1e-5 * largest);
}

TEST_P(HuggingFaceFolders, GiveTheGreedyTextOfTheirOwners) {
  const fs::path folder = folder_of(GetParam());
  const ModelFiles files(folder);
  const auto model = loaded(files);
  const nlohmann::json expected = json_at(folder / "expected.json");
  const auto prompt = expected["prompt"].get<std::vector<Token>>(), greedy = expected["greedy"].get<std::vector<Token>>();
  const index vocabulary = files.config().vocab_size;
  ASSERT_EQ(greedy.size(), 12U);
  const SampleOptions options{.max_new_tokens = std::ssize(greedy), .temperature = 0};
  EXPECT_EQ(generate(model->gpt(), {.size = vocabulary}, prompt, options).at(0).tokens, greedy);
  EXPECT_EQ(testing::generate_without_cache(model->gpt(), vocabulary, prompt, options, 1), greedy) << "without a cache";
}

INSTANTIATE_TEST_SUITE_P(Of, HuggingFaceFolders,
                         ::testing::Values("gpt2", "gpt2_hub", "llama", "llama_v5", "qwen2", "qwen3", "mistral", "smollm3", "granite",
                                           "granite_hybrid", "olmo2", "gemma3", "gemma3_v5", "phi3", "phi3_v5"),
                         [](const auto& test) { return std::string(test.param); });

TEST(ModelFilesTest, ReadNanoGptsCheckpoint) {
  const ModelFiles files(fs::path(DIKKAT_SOURCE_DIR) / "tests/golden/nanogpt.pt");
  const auto [error, largest] = error_of_logits(*loaded(files), json_at(folder_of("gpt2") / "expected.json"));
  EXPECT_LE(error, 1e-5 * largest);
}

TEST(ModelFilesTest, ReadTheConfiguration) {
  const TransformerConfig llama = ModelFiles(folder_of("llama")).config();
  EXPECT_EQ(llama.n_kv_head, 2);
  EXPECT_EQ(llama.head_size, 12);
  EXPECT_EQ(llama.norm, NormKind::rms_norm);
  EXPECT_EQ(llama.rope_scaling, RopeScaling::llama3);
  EXPECT_EQ(llama.rope_factor, 32);
  EXPECT_EQ(llama.rope_original_context, 128);
  EXPECT_TRUE(llama.tie_embeddings);
  const TransformerConfig v5 = ModelFiles(folder_of("llama_v5")).config();
  EXPECT_EQ(v5.rope_theta, 10'000);
  EXPECT_EQ(v5.rope_factor, 8);
  EXPECT_FALSE(v5.tie_embeddings);
  const TransformerConfig qwen2 = ModelFiles(folder_of("qwen2")).config();
  EXPECT_EQ(qwen2.qkv_bias, true);
  EXPECT_FALSE(qwen2.bias);
  EXPECT_TRUE(ModelFiles(folder_of("qwen3")).config().qk_norm);
  EXPECT_EQ(ModelFiles(folder_of("mistral")).config().window, 4);
  EXPECT_EQ(ModelFiles(folder_of("smollm3")).config().rope_pattern, 4);
  for (const char* granite : {"granite", "granite_hybrid"}) {
    const TransformerConfig c = ModelFiles(folder_of(granite)).config();
    EXPECT_EQ(c.embedding_scale, 12) << granite;
    EXPECT_EQ(*c.attention_scale, 0.2) << granite;
    EXPECT_EQ(c.residual_scale, 0.22) << granite;
    EXPECT_EQ(c.logit_scale, granite == std::string("granite") ? 1.0 / 7 : 0.25);
    EXPECT_EQ(*c.n_hidden, granite == std::string("granite") ? 28 : 20);
  }
  const TransformerConfig olmo2 = ModelFiles(folder_of("olmo2")).config();
  EXPECT_EQ(olmo2.norm_position, NormPosition::branch);
  EXPECT_EQ(olmo2.qk_norm_over, QkNormOver::row);
  for (const char* gemma : {"gemma3", "gemma3_v5"}) {
    const TransformerConfig c = ModelFiles(folder_of(gemma)).config();
    EXPECT_EQ(c.norm_position, NormPosition::sandwich);
    EXPECT_EQ(c.window, 4);
    EXPECT_EQ(c.window_pattern, 3);
    EXPECT_EQ(c.rope_theta, 1'000'000);
    EXPECT_EQ(c.rope_theta_local, gemma == std::string("gemma3") ? 10'000 : 500);
    EXPECT_EQ(*c.attention_scale, 1 / std::sqrt(10.0));
    EXPECT_TRUE(c.tie_embeddings);
  }
}

TEST(ModelFilesTest, ShortenTheContextOfRotaryModelsOnly) {
  EXPECT_EQ(ModelFiles(folder_of("llama")).config().block_size, 1024);
  const ModelFiles shorter(folder_of("llama"), {.context = 100});
  EXPECT_EQ(shorter.config().block_size, 100);
  EXPECT_EQ(shorter.whole_context(), 1024);
  EXPECT_TRUE(names(error_of([] { ModelFiles(folder_of("gpt2"), {.context = 8}); }), {"positions", "16"}));
}

/// A copy of a folder, whose config.json is changed.
fs::path changed(const TemporaryFolder& to, const std::string& family, const std::function<void(nlohmann::json&)>& change) {
  const fs::path folder = to / family;
  fs::copy(folder_of(family), folder, fs::copy_options::recursive | fs::copy_options::overwrite_existing);
  nlohmann::json config = json_at(folder / "config.json");
  change(config);
  std::ofstream(folder / "config.json") << config;
  return folder;
}

TEST(ModelFilesTest, ListAllTensorsThatDoNotFit) {
  const TemporaryFolder to;
  const fs::path folder = changed(to, "llama", [](nlohmann::json& config) {
    config["num_hidden_layers"] = 1;
    config["intermediate_size"] = 20;
    config["tie_word_embeddings"] = false;
  });
  const std::string error = error_of([&] { loaded(ModelFiles(folder)); });
  EXPECT_TRUE(names(error, {"lacks", "lm_head.weight", "model.layers.0.mlp.gate_proj.weight", "[28, 16]", "[20, 16]", "does not have",
                            "model.layers.1."}));
}

TEST(ModelFilesTest, RefuseModelsThatTheyCannotCompute) {
  const TemporaryFolder to;
  const auto refusal = [&](const std::string& family, const char* key, const nlohmann::json& value) {
    return error_of([&] { ModelFiles{changed(to, family, [&](nlohmann::json& config) { config[key] = value; })}; });
  };
  EXPECT_TRUE(names(refusal("llama", "model_type", "gemma2"), {"gemma2", "norms"}));
  EXPECT_TRUE(names(refusal("llama", "model_type", "unheard_of"), {"unheard_of", "gpt2, llama, qwen2, qwen3"}));
  EXPECT_TRUE(names(refusal("llama", "hidden_act", "gelu"), {"hidden_act", "\"gelu\"", "\"silu\""}));
  EXPECT_TRUE(names(refusal("gpt2", "activation_function", "gelu"), {"activation_function", "\"gelu_new\""}));
  EXPECT_TRUE(names(refusal("qwen2", "use_sliding_window", true), {"use_sliding_window", "true", "false"}));
  EXPECT_TRUE(names(refusal("llama", "hidden_size", "wide"), {"hidden_size", "\"wide\"", "integer"}));
  EXPECT_TRUE(names(refusal("llama", "hidden_size", -4), {"hidden_size", "-4"}));
  EXPECT_TRUE(names(refusal("llama", "num_key_value_heads", 3), {"model.n_kv_head", "3"}));
  EXPECT_TRUE(names(refusal("llama", "rope_scaling", {{"rope_type", "yarn"}, {"factor", 4}}), {"RoPE", "\"yarn\""}));
  EXPECT_TRUE(names(refusal("llama", "eos_token_id", {59, 60}), {"eos_token_id", "59"}));
  EXPECT_TRUE(names(refusal("llama", "quantization_config", {{"bits", 4}}), {"quantization_config", "4"}));
  EXPECT_TRUE(names(error_of([] { ModelFiles("/nowhere"); }), {"/nowhere", "not exist"}));
}

TEST(ModelFilesTest, UseAHeadOfTheirOwnAlthoughTheConfigurationTiesIt) {
  const TemporaryFolder to;
  const ModelFiles files(changed(to, "llama_v5", [](nlohmann::json& config) { config["tie_word_embeddings"] = true; }));
  EXPECT_FALSE(files.config().tie_embeddings);
  ASSERT_EQ(files.notes().size(), 1U);
  EXPECT_TRUE(names(files.notes().front(), {"lm_head.weight"}));
  const auto [error, largest] = error_of_logits(*loaded(files), json_at(folder_of("llama_v5") / "expected.json"));
  EXPECT_LE(error, 1e-5 * largest);
}

// Each order of layers is one that groups have, or is refused.
TEST(ModelFilesTest, ReadWhichLayersHaveWindowsAndPositions) {
  const TemporaryFolder to;
  using nlohmann::json;
  const auto read = [&](const std::string& family, const std::function<void(json&)>& change) {
    return ModelFiles(changed(to, family, change)).config();
  };
  const auto refusal = [&](const std::string& family, const std::function<void(json&)>& change) {
    return error_of([&] { read(family, change); });
  };
  // Gemma 3 has a list, or the size of a group, or neither.
  const json whole = "full_attention", window = "sliding_attention";
  EXPECT_EQ(read("gemma3", [](json& c) { c.erase("layer_types"); }).window_pattern, 3);
  EXPECT_EQ(read("gemma3", [](json& c) { c.erase("layer_types"), c.erase("_sliding_window_pattern"); }).window_pattern, 6);
  EXPECT_EQ(read("gemma3", [](json& c) { c.erase("layer_types"), c["sliding_window_pattern"] = 2, c.erase("_sliding_window_pattern"); })
                .window_pattern,
            2);
  EXPECT_EQ(read("gemma3", [&](json& c) { c["layer_types"] = {window, window, window, window}, c["_sliding_window_pattern"] = 6; })
                .window_pattern,
            6);
  EXPECT_EQ(read("gemma3", [&](json& c) { c["layer_types"] = {whole, whole, whole, whole}; }).window, 0);
  EXPECT_TRUE(names(refusal("gemma3", [&](json& c) { c["layer_types"] = {window, whole, whole, window}; }), {"layer_types", "layer 2"}));
  EXPECT_TRUE(names(refusal("gemma3", [&](json& c) { c["layer_types"] = {window, whole}; }), {"layer_types", "4"}));
  EXPECT_TRUE(names(refusal("gemma3", [&](json& c) { c["layer_types"][0] = "mamba"; }), {"layer_types", "\"mamba\""}));
  EXPECT_TRUE(names(refusal("gemma3", [](json& c) { c["_sliding_window_pattern"] = 2; }), {"sliding_window_pattern", "2", "3"}));
  EXPECT_TRUE(names(refusal("gemma3", [](json& c) { c["sliding_window"] = 0; }), {"sliding_window", "0", "1"}));
  EXPECT_TRUE(names(refusal("gemma3", [](json& c) { c.erase("sliding_window"); }), {"no sliding_window"}));
  EXPECT_TRUE(names(refusal("gemma3", [](json& c) { c["use_bidirectional_attention"] = true; }), {"use_bidirectional_attention", "true"}));
  EXPECT_TRUE(names(refusal("gemma3", [](json& c) { c["final_logit_softcapping"] = 30.0; }), {"final_logit_softcapping", "30.0"}));
  EXPECT_TRUE(names(refusal("gemma3", [](json& c) { c["query_pre_attn_scalar"] = 0; }), {"query_pre_attn_scalar", "0"}));
  EXPECT_TRUE(names(refusal("gemma3_v5", [](json& c) { c["rope_parameters"]["sliding_attention"]["rope_type"] = "yarn"; }), {"\"yarn\""}));
  EXPECT_TRUE(names(
      refusal("gemma3_v5",
              [](json& c) { c["rope_parameters"]["sliding_attention"] = {{"rope_type", "linear"}, {"factor", 8.0}, {"rope_theta", 1e4}}; }),
      {"sliding_attention"}));
  // SmolLM3 has a list with 1 for layers that have positions, or the size of a group.
  EXPECT_EQ(read("smollm3", [](json& c) { c.erase("no_rope_layers"), c["no_rope_layer_interval"] = 3; }).rope_pattern, 3);
  EXPECT_EQ(read("smollm3", [](json& c) { c.erase("no_rope_layers"), c.erase("no_rope_layer_interval"); }).rope_pattern, 4);
  EXPECT_EQ(read("smollm3", [](json& c) { c["no_rope_layers"] = {1, 1, 1, 1, 1}; }).rope_pattern, 0);
  EXPECT_TRUE(names(refusal("smollm3", [](json& c) { c["no_rope_layers"] = {0, 1, 1, 1, 1}; }), {"no_rope_layers", "layer 1"}));
  EXPECT_TRUE(names(refusal("smollm3", [](json& c) { c["no_rope_layers"] = {1, 1, 1, 2, 1}; }), {"no_rope_layers", "2"}));
  // Granite's class of experts and Mamba layers is read if it has neither.
  EXPECT_TRUE(names(refusal("granite_hybrid", [](json& c) { c["layer_types"][1] = "mamba"; }), {"layer_types", "\"mamba\""}));
  EXPECT_TRUE(names(refusal("granite_hybrid", [](json& c) { c["num_local_experts"] = 8; }), {"num_local_experts", "8"}));
  EXPECT_TRUE(names(refusal("granite_hybrid", [](json& c) { c["position_embedding_type"] = "nope"; }), {"position_embedding_type"}));
  EXPECT_TRUE(names(refusal("granite", [](json& c) { c["logits_scaling"] = 0; }), {"logits_scaling", "0"}));
}

TEST(ModelFilesTest, ReadMistralWithoutASlidingWindowAsLlama) {
  const TemporaryFolder to;
  const auto mistral = [&](const std::function<void(nlohmann::json&)>& change) {
    return changed(to, "llama_v5", [&](nlohmann::json& config) {
      config["model_type"] = "mistral";
      config["architectures"] = {"MistralForCausalLM"};
      change(config);
    });
  };
  const ModelFiles files(mistral([](auto& config) { config["sliding_window"] = nullptr; }));
  const auto [error, largest] = error_of_logits(*loaded(files), json_at(folder_of("llama_v5") / "expected.json"));
  EXPECT_LE(error, 1e-5 * largest);
  std::string why;
  ASSERT_NE(family_of(files.config(), why), nullptr) << why;
  EXPECT_EQ(family_of(files.config(), why)->name, "llama");
  EXPECT_NO_THROW(ModelFiles{mistral([](auto& config) {
    config["sliding_window"] = 8;
    config["use_sliding_window"] = false;
  })});
  EXPECT_EQ(ModelFiles{mistral([](auto& config) { config["sliding_window"] = 8; })}.config().window, 8);
  EXPECT_EQ(ModelFiles{mistral([](auto& config) { config.erase("sliding_window"); })}.config().window, 4096);
}

// LongRoPE is read as a whole: two lists, two contexts and the amplitude that follows from them.
TEST(ModelFilesTest, ReadLongRopeUpToItsOriginalContext) {
  const TemporaryFolder to;
  using nlohmann::json;
  const ModelFiles files(folder_of("phi3"));
  const TransformerConfig phi = files.config();
  EXPECT_EQ(phi.rope_scaling, RopeScaling::longrope);
  EXPECT_EQ(phi.rope_share, 0.75);
  EXPECT_EQ(phi.rope_short_factors, (std::vector<double>{1, 1.0625, 1.25, 1.5, 2.5, 3.25}));
  EXPECT_EQ(phi.rope_long_factors, (std::vector<double>{1, 1.125, 2.25, 6, 17.5, 31}));
  EXPECT_EQ(phi.rope_factor, 32);
  EXPECT_EQ(phi.rope_original_context, 16);
  EXPECT_NEAR(*phi.rope_amplitude, 1.5, 1e-15) << "sqrt(1 + ln 32 / ln 16)";
  EXPECT_EQ(phi.block_size, 16);
  EXPECT_EQ(files.whole_context(), 16);
  EXPECT_EQ(phi.window, 0);
  ASSERT_EQ(files.notes().size(), 1U);
  EXPECT_TRUE(names(files.notes().front(), {"512", "16"}));
  const TransformerConfig v5 = ModelFiles(folder_of("phi3_v5")).config();
  EXPECT_EQ(v5.rope_share, 0.5);
  EXPECT_EQ(v5.window, 5);
  EXPECT_NEAR(*v5.rope_amplitude, std::sqrt(1.4), 1e-15);
  EXPECT_EQ(v5.block_size, 32);

  // A context within the original one is possible, a longer one is not.
  EXPECT_EQ(ModelFiles(folder_of("phi3"), {.context = 8}).config().block_size, 8);
  EXPECT_TRUE(names(error_of([] { ModelFiles(folder_of("phi3"), {.context = 17}); }), {"phi3", "17", "16"}));

  // Other forms.
  const auto read = [&](const std::string& family, const std::function<void(json&)>& change) {
    return ModelFiles(changed(to, family, change)).config();
  };
  EXPECT_EQ(read("phi3", [](json& c) { c["rope_scaling"]["type"] = "su"; }), phi) << "Phi-3's first name of it";
  EXPECT_EQ(read("phi3", [](json& c) { c["rope_scaling"]["rope_type"] = "longrope"; }), phi);
  EXPECT_EQ(read("phi3", [](json& c) { c["rope_scaling"]["attention_factor"] = 1.25; }).rope_amplitude, 1.25);
  const TransformerConfig plain = read("phi3", [](json& c) { c["rope_scaling"] = nullptr, c["sliding_window"] = 300; });
  EXPECT_EQ(plain.rope_scaling, RopeScaling::none);
  EXPECT_EQ(plain.rope_share, 0.75);
  EXPECT_EQ(plain.block_size, 512);
  EXPECT_EQ(plain.window, 300);
  EXPECT_EQ(plain.rope_amplitude, 1);
  EXPECT_EQ(read("phi3", [](json& c) { c.erase("sliding_window"); }).window, 0);

  // What is not understood as a whole is refused.
  const auto refusal = [&](const std::string& family, const std::function<void(json&)>& change) {
    return error_of([&] { read(family, change); });
  };
  for (const char* type : {"yarn", "linear", "llama3"}) {
    EXPECT_TRUE(names(refusal("phi3", [&](json& c) { c["rope_scaling"]["type"] = type; }), {"RoPE", concat('"', type, '"'), "longrope"}));
  }
  const json longrope = json_at(folder_of("phi3") / "config.json")["rope_scaling"];
  EXPECT_TRUE(names(refusal("llama", [&](json& c) { c["rope_scaling"] = longrope; }), {"RoPE", "\"longrope\"", "llama"}));
  for (const char* list : {"short_factor", "long_factor"}) {
    EXPECT_TRUE(names(refusal("phi3", [&](json& c) { c["rope_scaling"].erase(list); }), {"rope_scaling", concat("no ", list)}));
    EXPECT_TRUE(names(refusal("phi3", [&](json& c) { c["rope_scaling"][list][0] = 0; }), {list, "above 0"}));
    EXPECT_TRUE(names(refusal("phi3", [&](json& c) { c["rope_scaling"][list][0] = "1"; }), {list, "list of numbers"}));
    EXPECT_TRUE(names(refusal("phi3", [&](json& c) { c["rope_scaling"][list].erase(0); }), {"factors", "5", "6"}));
  }
  EXPECT_TRUE(names(refusal("phi3", [](json& c) { c["rope_scaling"]["beta_fast"] = 32; }), {"rope_scaling", "beta_fast", "32"}));
  EXPECT_TRUE(names(refusal("phi3", [](json& c) { c["rope_scaling"]["factor"] = 8.0; }), {"rope_scaling", "factor", "8.0", "32.0"}));
  EXPECT_TRUE(names(refusal("phi3", [](json& c) { c.erase("original_max_position_embeddings"); }), {"original_max_position_embeddings"}));
  EXPECT_TRUE(names(refusal("phi3_v5", [](json& c) { c["original_max_position_embeddings"] = 16; }),
                    {"original_max_position_embeddings", "16", "32"}));
  EXPECT_TRUE(names(refusal("phi3_v5", [](json& c) { c["partial_rotary_factor"] = 0.75; }), {"partial_rotary_factor", "0.75", "0.5"}));
  EXPECT_TRUE(names(refusal("phi3", [](json& c) { c["partial_rotary_factor"] = 1.5; }), {"partial_rotary_factor", "1.5"}));
  EXPECT_TRUE(names(refusal("phi3", [](json& c) { c["lm_head_bias"] = true; }), {"lm_head_bias", "true"}));
  EXPECT_TRUE(names(refusal("phi3", [](json& c) { c["full_attn_mod"] = 2; }), {"full_attn_mod", "2"}));
}

// With a default in place of a missing or unknown value, the model would compute something else.
TEST(ModelFilesTest, RefuseRopeThatIsNotKnownAsAWhole) {
  const TemporaryFolder to;
  using nlohmann::json;
  const auto refusal = [&](const char* key, const json& value) {
    return error_of([&] {
      ModelFiles{changed(to, "llama_v5", [&](json& config) {
        config.erase("rope_parameters");
        config.erase("rope_theta");
        config[key] = value;
      })};
    });
  };
  const json llama3{
      {"rope_type", "llama3"}, {"factor", 8}, {"low_freq_factor", 1}, {"high_freq_factor", 4}, {"original_max_position_embeddings", 128}};
  EXPECT_EQ(refusal("rope_scaling", llama3), "");
  EXPECT_EQ(refusal("rope_scaling", {{"type", "linear"}, {"factor", 2.0}}), "");
  EXPECT_EQ(refusal("rope_parameters", {{"rope_type", "default"}, {"rope_theta", 500.0}, {"partial_rotary_factor", 1.0}}), "");
  EXPECT_TRUE(names(refusal("rope_parameters", {{"rope_type", "default"}}), {"rope_parameters", "rope_theta"}));
  EXPECT_TRUE(names(refusal("rope_parameters", {{"full_attention", {{"rope_theta", 1e6}}}}), {"rope_parameters", "full_attention"}));
  EXPECT_TRUE(names(refusal("rope_parameters", {{"rope_theta", 1e4}, {"partial_rotary_factor", 0.5}}),
                    {"rope_parameters", "partial_rotary_factor", "0.5"}));
  EXPECT_TRUE(names(refusal("rope_scaling", {{"type", "linear"}}), {"rope_scaling", "\"linear\"", "no factor"}));
  EXPECT_TRUE(
      names(refusal("rope_scaling", {{"rope_type", "linear"}, {"factor", 2}, {"beta_fast", 32}}), {"rope_scaling", "beta_fast", "32"}));
  EXPECT_TRUE(
      names(refusal("rope_scaling", {{"rope_type", "linear"}, {"type", "yarn"}, {"factor", 2}}), {"rope_type", "\"linear\"", "\"yarn\""}));
  EXPECT_TRUE(names(refusal("rope_scaling", {{"rope_type", 3}}), {"rope_scaling", "type", "3"}));
  EXPECT_TRUE(names(refusal("rope_scaling", {{"factor", 2}}), {"rope_scaling", "\"default\"", "key factor"}));
  for (const char* key : {"factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings"}) {
    json less = llama3;
    less.erase(key);
    EXPECT_TRUE(names(refusal("rope_scaling", less), {"rope_scaling", "\"llama3\"", concat("no ", key)}));
  }
  EXPECT_TRUE(
      names(error_of([&] { ModelFiles{changed(to, "llama_v5", [](json& config) { config["rope_theta"] = 77; })}; }), {"rope_theta", "77"}));
}

TEST(ModelFilesTest, NoteKeysThatTheyDoNotKnow) {
  const TemporaryFolder to;
  EXPECT_TRUE(ModelFiles(folder_of("qwen3")).notes().empty());
  EXPECT_TRUE(ModelFiles(folder_of("gpt2_hub")).notes().empty());
  const ModelFiles files(changed(to, "llama", [](nlohmann::json& config) {
    config["residual_multiplier"] = 0.22;
    config["unknown_and_off"] = false;
  }));
  ASSERT_EQ(files.notes().size(), 1U);
  EXPECT_TRUE(names(files.notes().front(), {"residual_multiplier", "0.22"}));
  EXPECT_EQ(files.notes().front().find("unknown_and_off"), std::string::npos);
}

TEST(ModelFilesTest, ExplainHowToConvertWeightsThatAreNotRead) {
  const TemporaryFolder to;
  const fs::path folder = changed(to, "llama", [](nlohmann::json&) {});
  fs::remove(folder / "model.safetensors");
  std::ofstream(folder / "pytorch_model.bin.index.json") << "{}";
  EXPECT_TRUE(names(error_of([&] { ModelFiles{folder}; }), {"safe_serialization=True"}));
}

TEST(ModelFilesTest, ReportPointersAndWebPagesInPlaceOfFiles) {
  const TemporaryFolder to;
  const std::string pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 548118077\n",
                    page = "\n<!DOCTYPE HTML><html>";
  for (const char* file : {"model.safetensors", "config.json", "generation_config.json"}) {
    const fs::path folder = changed(to, "llama", [](nlohmann::json&) {});
    to.write("llama/" + std::string(file), pointer);
    const std::string of_pointer = error_of([&] { ModelFiles{folder}; });
    EXPECT_TRUE(names(of_pointer, {file, "git lfs pull", "548118077"}));
    to.write("llama/" + std::string(file), page);
    EXPECT_TRUE(names(error_of([&] { ModelFiles{folder}; }), {file, "web page"}));
  }
  const fs::path parts = changed(to, "llama_v5", [](nlohmann::json&) {});
  to.write("llama_v5/model-00002-of-00002.safetensors", pointer);
  EXPECT_TRUE(names(error_of([&] { ModelFiles{parts}; }), {"model-00002-of-00002.safetensors", "git lfs pull"}));
  for (const char* file : {"model.gguf", "model.bin", "model.pt"}) {
    to.write(file, pointer);
    EXPECT_TRUE(names(error_of([&] { ModelFiles{to / file}; }), {file, "git lfs pull"}));
  }
  nlohmann::json characters = nlohmann::json::object();
  for (char32_t i = 0; i < 5000; ++i) {
    std::string one;
    utf8::append(one, 0x4E00 + i);
    characters[one] = i;
  }
  to.write("large.json", nlohmann::json{{"vocab_size", 5000}, {"stoi", characters}}.dump());
  EXPECT_TRUE(names(error_of([&] { ModelFiles(folder_of("llama"), {.tokenizer = to / "large.json"}).open_tokenizer(); }),
                    {"the tokenizer of " + (to / "large.json").string(), "5000", "--tokenizer"}));
  to.write("tokenizer.json", pointer);
  EXPECT_TRUE(names(error_of([&] { ModelFiles(folder_of("llama"), {.tokenizer = to / "tokenizer.json"}).open_tokenizer(); }),
                    {"tokenizer.json", "git lfs pull"}));
}

// Two classes have Granite's models, with other names of the feed-forward's layers; adapters fit only the class that they were made for.
TEST(PeftFilesTest, HaveTheNamesOfTheirBasesFamily) {
  const TemporaryFolder to;
  const LoraConfig lora = with_defaults(LoraConfig{.rank = 2});
  for (const auto& [base, module] : {std::pair("granite", "mlp.gate_proj"), std::pair("granite_hybrid", "shared_mlp.input_linear"),
                                     std::pair("phi3", "self_attn.qkv_proj"), std::pair("phi3_v5", "mlp.gate_up_proj")}) {
    SCOPED_TRACE(base);
    // Adapters of this base, all of whose numbers differ.
    const ModelFiles files(folder_of(base));
    LanguageModel model(files.config(), files.config().vocab_size, lora);
    ParameterStore& store = model.parameters();
    store.allocate(1);
    for (index i = 0; i < store.slab_size(); ++i) {
      store.weights<float>()[i] = static_cast<float>(i);
    }
    export_adapters(
        {.config = model.config(), .lora = lora, .parameters = store, .base = folder_of(base).string(), .base_family = &files.family()},
        to / base, ExportFormat::hf);
    EXPECT_NE(read_bytes(to.path(base) + "/adapter_model.safetensors").find(module), std::string::npos);

    // The factors of the file are rows of ours, in our order.
    const PeftFiles adapters(to / base);
    const auto plain = loaded(files);
    index rows = 0;
    for (const PeftFactors& factors : adapters.changes(files.config(), plain->parameters()).factors) {
      const std::string path = factors.weight->path.substr(0, factors.weight->path.size() - std::string(".weight").size());
      const ParameterStore::Entry& b = store.entry(path + ".lora_b");
      const float* ours = store.weights<float>() + b.offset;
      std::vector<float> theirs(static_cast<std::size_t>(factors.b->elements));
      read_f32(*factors.b, 0, factors.b->elements, theirs.data());
      for (index row = 0; row < factors.rows.count; ++row, ++rows) {
        const index at = factors.rows.order.empty() ? row : factors.rows.order[static_cast<std::size_t>(row)];
        EXPECT_EQ(theirs[static_cast<std::size_t>(row * 2)], ours[(factors.rows.first + at) * 2]) << path << " row " << row;
      }
    }
    index all = 0;
    for (const ParameterStore::Entry* entry : store.entries()) {
      all += entry->path.ends_with(".lora_b") ? entry->shape()[0] : 0;
    }
    EXPECT_EQ(rows, all);
  }
}

TEST(PeftFilesTest, RefuseAConfigurationThatIsTooLarge) {
  const TemporaryFolder to;
  std::ofstream(to / "adapter_config.json") << R"({"peft_type": "LORA")" << std::string(1 << 20, ' ') << '}';
  EXPECT_TRUE(names(error_of([&] { PeftFiles{fs::path(to.path())}; }), {"adapter_config.json", "bytes", "1048576"}))
      << "it is not read as a truncated file";
}

}  // namespace
}  // namespace dikkat
