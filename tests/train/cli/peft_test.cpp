#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>

#include "tests/train/cli/workspace.h"

// Import of adapters in PEFT folders: an exported model is imported unchanged, and anything that cannot be computed is refused by its name.
namespace dikkat::testing {
namespace {

constexpr const char* kPeftTune = R"([data]
corpus = ["new.txt"]
[optim]
learning_rate = 3e-2
warmup_steps = 0
[lora]
rank = 2
alpha = 6
[train]
batch_size = 5
max_steps = 8
eval_interval = 4
)";

/// Returns the bytes of a tensor in a safetensors file; empty if it has none of this name.
std::string tensor(const std::filesystem::path& file, const std::string& name) {
  const std::string text = contents(file);
  std::uint64_t length = 0;
  std::memcpy(&length, text.data(), sizeof length);
  const Json header = Json::parse(text.substr(8, length));
  if (!header.contains(name)) {
    return "";
  }
  const std::size_t begin = header[name]["data_offsets"][0], end = header[name]["data_offsets"][1];
  return text.substr(8 + length + begin, end - begin);
}

/// Rewrites a safetensors file with the tensors that `kept` names (empty: not this one).
void rewrite(const std::filesystem::path& file, const std::function<std::string(const std::string&)>& kept) {
  const std::string text = contents(file);
  std::uint64_t length = 0;
  std::memcpy(&length, text.data(), sizeof length);
  const Json header = Json::parse(text.substr(8, length));
  Json made = Json::object();
  std::string data;
  for (const auto& [name, tensor] : header.items()) {
    const std::string as = name == "__metadata__" ? "" : kept(name);
    if (as.empty()) {
      continue;
    }
    const std::size_t begin = tensor["data_offsets"][0], end = tensor["data_offsets"][1];
    made[as] = tensor;
    made[as]["data_offsets"] = {data.size(), data.size() + end - begin};
    data += text.substr(8 + length + begin, end - begin);
  }
  const std::string head = made.dump();
  length = head.size();
  std::ofstream(file, std::ios::binary) << std::string(reinterpret_cast<const char*>(&length), sizeof length) << head << data;
}

class Peft : public ::testing::TestWithParam<const char*> {
 protected:
  Peft() {
    here.write("tune.toml", kPeftTune);
    here.write("new.txt", tiny_text(1200).substr(3));
    train_base(!is_llama());
  }
  void train_base(bool is_tied) const {
    Words model = {"tokenizer.kind=char", "model.n_embd=32", "model.dropout=0",
                   is_tied ? "model.tie_embeddings=true" : "model.tie_embeddings=false"};
    if (is_llama()) {
      model.insert(model.end(), {"model.norm=rms_norm", "model.positions=rope", "model.n_kv_head=1", "model.activation=silu",
                                 "model.gated=true", "model.bias=false"});
    }
    if (is_phi()) {  // 6 of 8 pairs of a head rotate
      model.insert(model.end(),
                   {"model.rope_share=0.75", "model.rope_scaling=longrope", "model.rope_factor=2", "model.rope_original_context=24",
                    "model.rope_short_factors=1,1.5,2,2.5,3,4", "model.rope_long_factors=1,2,3,4,5,6"});
    }
    here.train("base", model);
  }
  /// Whether the family has Llama's names, or most of them.
  bool is_llama() const { return GetParam() != std::string("gpt2"); }
  bool is_phi() const { return GetParam() == std::string("phi3"); }

  std::string table_name() const { return is_llama() ? "model.embed_tokens.weight" : "transformer.wte.weight"; }

  void tune(const Words& more = {}) const {
    Words words = {"train", "--config", "tune.toml", "--init-from", "base", "--out", "tuned"};
    words.insert(words.end(), more.begin(), more.end());
    const Outcome tuned = here.run(words);
    ASSERT_EQ(tuned.code, 0) << tuned.err;
    here.write("tuned/checkpoints/best", "step-000000008.h5\n");  // at step 0 adapters add nothing
    const Json base = sample({"base"}), run = sample({"tuned"});
    ASSERT_NE(base["log_probabilities"], run["log_probabilities"]) << "the case is void: the adapters change nothing";
    ASSERT_EQ(here.run({"export", "tuned", "--adapter", "--out", "peft"}).code, 0);
  }
  Json sample(const Words& model) const {
    Words words = {"sample", "--prompt", "the ", "--temperature", "0", "--max-new-tokens", "20", "--json", "--logprobs"};
    words.insert(words.begin() + 1, model.begin(), model.end());
    const Outcome outcome = here.run(words);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome.code == 0 ? Json::parse(outcome.out)["samples"][0] : Json();
  }
  /// Expects that two models write equal texts, with log probabilities that are equal to 1e-5.
  void expect_equal(const Words& model, const Words& other) const {
    const Json a = sample(model), b = sample(other);
    ASSERT_EQ(a["tokens"], b["tokens"]);
    for (std::size_t i = 0; i < a["log_probabilities"].size(); ++i) {
      EXPECT_NEAR(a["log_probabilities"][i].get<double>(), b["log_probabilities"][i].get<double>(), 1e-5) << i;
    }
  }
  void set(const std::string& key, const Json& value) const {
    Json config = Json::parse(contents(here / "peft/adapter_config.json"));
    config[key] = value;
    here.write("peft/adapter_config.json", config.dump());
  }
  void expect_refused(const Words& arguments, const Words& fragments) const { testing::expect_refused(here, arguments, fragments); }

  Workspace here;
};
INSTANTIATE_TEST_SUITE_P(Families, Peft, ::testing::Values("gpt2", "llama", "phi3"), [](const auto& at) { return std::string(at.param); });

TEST_P(Peft, IsTheModelThatWasExported) {
  tune();
  expect_equal({"peft"}, {"tuned"});  // the files name the base
  ASSERT_EQ(here.run({"export", "base", "--out", "base-hf"}).code, 0);
  std::filesystem::rename(here / "base", here / "moved");
  expect_refused({"sample", "peft"}, {"peft", (here / "base").string(), "--base"});
  expect_refused({"sample", "peft", "--base", "wrong"}, {"wrong", "peft"});
  expect_equal({"peft", "--base", "moved"}, {"tuned", "--base", "moved"});

  const Outcome merged = here.run({"merge", "peft", "--base", "moved", "--out", "merged"});
  ASSERT_EQ(merged.code, 0) << merged.err;
  expect_named(merged.err, {"moved/checkpoints/step-"});
  expect_equal({"merged"}, {"tuned", "--base", "moved"});
  const Outcome exported = here.run({"export", "peft", "--base", "moved", "--out", "whole.gguf"});
  ASSERT_EQ(exported.code, 0) << exported.err;
  expect_equal({"whole.gguf"}, {"merged"});
  EXPECT_EQ(here.run({"eval", "peft", "--base", "moved", "--corpus", "text.txt"}).code, 0);
  expect_equal({"peft", "--base", "base-hf"}, {"merged"});  // another program's model as the base
  expect_refused({"eval", "peft", "--base", "moved"}, {"peft", "--corpus"});
  expect_refused({"sample", "peft", "--base", "moved", "--newest"}, {"peft", "--newest"});
  expect_refused({"import", "peft", "--out", "no"}, {"dikkat merge peft --base MODEL --out no"});
  expect_refused({"sample", "peft", "--base", "peft"}, {"peft"});
  expect_refused({"sample", "peft", "--base", "tuned"}, {"peft", "tuned"});
}

TEST_P(Peft, ModulesThatWereTrainedInFullReplaceTheBases) {
  tune({"--set", "lora.modules_to_save=embedding,head"});
  const Json names = Json::parse(contents(here / "peft/adapter_config.json"))["modules_to_save"];
  EXPECT_EQ(names, is_llama() ? Json({"embed_tokens", "lm_head"}) : Json({"lm_head", "wpe", "wte"}));
  const std::string table = table_name();
  const std::string file = here / "peft/adapter_model.safetensors", of_table = "base_model.model." + table;
  EXPECT_EQ(tensor(file, of_table) == tensor(file, "base_model.model.lm_head.weight"), !is_llama()) << "a tied matrix is written twice";
  expect_equal({"peft"}, {"tuned"});
  ASSERT_EQ(here.run({"export", "base", "--out", "base-hf"}).code, 0);
  ASSERT_EQ(here.run({"export", "peft", "--base", "base-hf", "--out", "whole"}).code, 0);
  EXPECT_EQ(tensor(here / "whole/model.safetensors", table), tensor(file, of_table));
  EXPECT_EQ(tensor(here / "whole/model.safetensors", "lm_head.weight").empty(), !is_llama()) << "the model is still tied";
  expect_equal({"whole"}, {"tuned"});

  // A tensor must be there, belong to a module that is listed, and fit.
  const std::string good = contents(file);
  const auto without = [&](const std::string& gone) {
    here.write("peft/adapter_model.safetensors", good);
    rewrite(file, [&](const std::string& name) { return name == gone ? "" : name; });
  };
  without(of_table);
  if (is_llama()) {
    expect_refused({"sample", "peft"}, {"peft/adapter_model.safetensors", of_table});
  }
  here.write("peft/adapter_model.safetensors", good);
  set("modules_to_save", nullptr);
  expect_refused({"sample", "peft"}, {"peft/adapter_model.safetensors", of_table, "base_model.model.lm_head.weight", "modules_to_save"});
}

TEST_P(Peft, ATiedBaseMayGetAHeadOfItsOwn) {
  std::filesystem::remove_all(here / "base");
  train_base(true);
  tune({"--set", "lora.modules_to_save=head"});
  ASSERT_EQ(here.run({"export", "base", "--out", "base-hf"}).code, 0);
  const std::string file = here / "peft/adapter_model.safetensors", base = here / "base-hf/model.safetensors";
  const std::string table = table_name(), head = "lm_head.weight", before = "base_model.model.";
  const std::string good = contents(file), trained = tensor(file, before + head), first = tensor(base, table);
  ASSERT_NE(trained, first);
  const auto expect_exported = [&](const char* out, const std::string& of_table, const std::string& of_head) {
    for (const char* from : {"base", "base-hf"}) {
      const std::string to = std::string(out) + "-" + from;
      const Outcome exported = here.run({"export", "peft", "--base", from, "--out", to});
      ASSERT_EQ(exported.code, 0) << exported.err;
      EXPECT_EQ(tensor(here / to / "model.safetensors", table), of_table) << to;
      EXPECT_EQ(tensor(here / to / "model.safetensors", head), of_head) << to;
    }
  };
  expect_exported("tied", trained, "");

  // PEFT trains the two apart from each other: one of them only, or both.
  rewrite(file, [&](const std::string& name) { return name == before + table ? "" : name; });
  set("modules_to_save", {"lm_head"});
  expect_exported("head", first, trained);
  EXPECT_TRUE(contains(here.run({"merge", "peft", "--out", "merged"}).err, "model.tie_embeddings"));
  set("ensure_weight_tying", true);
  expect_exported("ensured", trained, "");
  set("ensure_weight_tying", false);
  here.write("peft/adapter_model.safetensors", good);
  rewrite(file, [&](const std::string& name) { return name == before + head ? "" : name; });
  set("modules_to_save", {is_llama() ? "embed_tokens" : "wte"});
  expect_exported("table", trained, first);
}

TEST_P(Peft, ItsScaleIsRead) {
  tune({"--set", "lora.rank_stabilized=true", "lora.targets=[\"attention\"]"});
  expect_equal({"peft"}, {"tuned"});
}

TEST_P(Peft, LayersMayBeAdaptedSeparately) {
  tune();
  // Our adapters share one A in query, key and value; other programs adapt only some of these. Two halves make the whole.
  std::filesystem::copy(here / "peft", here / "other");
  const std::string first = is_phi() ? "qkv_proj" : is_llama() ? "q_proj" : "c_attn";
  const auto is_first = [&](const std::string& name) { return contains(name, "." + first + "."); };
  Json targets = Json::parse(contents(here / "peft/adapter_config.json"))["target_modules"];
  rewrite(here / "peft/adapter_model.safetensors", [&](const std::string& name) { return is_first(name) ? name : ""; });
  rewrite(here / "other/adapter_model.safetensors", [&](const std::string& name) { return is_first(name) ? "" : name; });
  expect_refused({"sample", "peft"}, {"peft/adapter_model.safetensors", " base_model.model."});
  set("target_modules", {first});
  ASSERT_EQ(here.run({"merge", "peft", "--out", "half"}).code, 0);
  expect_refused({"sample", "other", "--base", "half"}, {" base_model.model.", first + ".lora_A.weight"});
  Json config = Json::parse(contents(here / "other/adapter_config.json"));
  config["exclude_modules"] = {first};
  here.write("other/adapter_config.json", config.dump());
  expect_equal({"other", "--base", "half"}, {"tuned"});
  config["exclude_modules"] = Json::array({is_llama() ? "o_proj" : "c_fc"});
  here.write("other/adapter_config.json", config.dump());
  expect_refused({"sample", "other", "--base", "half"}, {" base_model.model.", "target_modules"});
  config.erase("exclude_modules");
  config["target_modules"] = "all-linear";  // or a regular expression: then the tensors in the file count
  here.write("other/adapter_config.json", config.dump());
  expect_equal({"other", "--base", "half"}, {"tuned"});
}

TEST_P(Peft, NamesMayLackTheHeadsModel) {
  tune();
  const std::string prefix = is_llama() ? "base_model.model.model." : "base_model.model.transformer.";
  rewrite(here / "peft/adapter_model.safetensors",
          [&](const std::string& name) { return "base_model.model." + name.substr(prefix.size()); });
  expect_equal({"peft"}, {"tuned"});
}

TEST_P(Peft, AdaptersThatCannotBeComputedAreRefusedByName) {
  tune();
  const std::string good = contents(here / "peft/adapter_config.json"), tensors = contents(here / "peft/adapter_model.safetensors");
  const std::pair<const char*, Json> values[] = {
      {"peft_type", "IA3"},
      {"modules_to_save", {"score"}},
      {"modules_to_save", "lm_head"},
      {"bias", "lora_only"},
      {"use_dora", true},
      {"rank_pattern", {{"q_proj", 4}}},
      {"alpha_pattern", {{"q_proj", 4}}},
      {"fan_in_fan_out", is_llama()},
      {"layers_to_transform", {0}},
      {"layers_to_transform", 7},
      {"layers_to_transform", {{"a", 1}}},
      {"init_lora_weights", "pissa"},
      {"trainable_token_indices", {1, 2}},
      {"r", 0},
      {"r", 2.5},
      {"r", "2"},
      {"r", nullptr},
      {"r", 1e300},
      {"lora_alpha", nullptr},
      {"lora_alpha", -1},
      {"use_rslora", 1},
  };
  // Each value is refused by its key.
  for (const auto& [key, value] : values) {
    here.write("peft/adapter_config.json", good);
    set(key, value);
    expect_refused({"merge", "peft", "--out", "no"}, {"peft/adapter_config.json", key});
  }
  // Values without an effect are accepted.
  here.write("peft/adapter_config.json", good);
  set("layers_to_transform", {1, 0});
  set("modules_to_save", Json::array());
  set("rank_pattern", Json::object());
  EXPECT_EQ(here.run({"sample", "peft", "--max-new-tokens", "1"}).code, 0) << "none, and all layers";

  // The tensors must fit the configuration.
  here.write("peft/adapter_config.json", good);
  set("r", 3);
  expect_refused({"sample", "peft"}, {".lora_A.weight", "[2, 32]", "[3, 32]", ".lora_B.weight"});
  here.write("peft/adapter_config.json", good);
  set("target_modules", {"nothing"});
  expect_refused({"sample", "peft"}, {"target_modules", " base_model.model."});
  here.write("peft/adapter_config.json", good);
  rewrite(here / "peft/adapter_model.safetensors",
          [](const std::string& name) { return contains(name, "layers.1.") || contains(name, "h.1.") ? "x." + name : name; });
  expect_refused({"sample", "peft"}, {" base_model.model.", "target_modules", " x.base_model.model."});
  here.write("peft/adapter_model.safetensors", tensors.substr(0, tensors.size() - 4));
  expect_refused({"sample", "peft"}, {"peft/adapter_model.safetensors"});
  std::filesystem::remove(here / "peft/adapter_model.safetensors");
  expect_refused({"sample", "peft"}, {"peft", "adapter_model.safetensors"});
  // Files that cannot be read are refused.
  for (const char* text : {"", "[]", "{\"r\":", "null"}) {
    here.write("peft/adapter_config.json", text);
    expect_refused({"sample", "peft"}, {"peft/adapter_config.json", "JSON"});
  }
  // The base must be given, and fit.
  here.write("peft/adapter_model.safetensors", tensors);
  here.write("peft/adapter_config.json", good);
  set("base_model_name_or_path", nullptr);
  expect_refused({"sample", "peft"}, {"peft", "--base"});
  here.train("larger", {"tokenizer.kind=char", "model.n_embd=64", "model.n_layer=1"});
  expect_refused({"sample", "peft", "--base", "larger"}, {"peft"});
}

TEST_P(Peft, IsAModelToTrainFrom) {
  tune();
  const Outcome again = here.run({"train", "--config", "tune.toml", "--init-from", "peft", "--out", "again"});
  ASSERT_EQ(again.code, 0) << again.err;
  const Outcome resumed = here.run({"resume", "again", "--set", "train.max_steps=9"});
  EXPECT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_NEAR(here.metrics("again").front()["val_loss"].get<double>(),
              Json::parse(here.run({"eval", "tuned", "--json"}).out)["loss"].get<double>(), 1e-5);
}

}  // namespace
}  // namespace dikkat::testing
