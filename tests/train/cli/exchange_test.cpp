#include <algorithm>
#include <cstring>
#include <limits>

#include "tests/train/cli/workspace.h"

// Models are exported to other programs' files and imported again, on the command line.
namespace dikkat::testing {
namespace {

constexpr const char* kTexts[] = {"hf", "model.gguf"};

class Exchange : public ::testing::Test {
 protected:
  Exchange() {
    here.train("run", {"tokenizer.kind=bpe", "tokenizer.vocab_size=280", "model.norm=rms_norm", "model.positions=rope", "model.n_kv_head=1",
                       "model.activation=silu", "model.gated=true", "model.bias=false"});
    for (const char* to : kTexts) {
      const Outcome exported = here.run({"export", "run", "--out", to});
      EXPECT_EQ(exported.code, 0) << exported.err;
      EXPECT_EQ(exported.out, std::string(to) + "\n");
    }
  }
  std::string sample_of(const std::string& model) const {
    const Outcome outcome = here.run({"sample", model, "--prompt", "a", "--temperature", "0", "--max-new-tokens", "40", "--json"});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return Json::parse(outcome.out)["samples"].dump();
  }
  double loss_of(const std::string& model) const {
    const Outcome outcome = here.run({"eval", model, "--corpus", "text.txt", "--json"});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return Json::parse(outcome.out)["loss"].get<double>();
  }
  Workspace here;
};

TEST_F(Exchange, FilesServeAsModels) {
  for (const std::string from : kTexts) {
    SCOPED_TRACE(from);
    EXPECT_EQ(sample_of(from), sample_of("run"));
    EXPECT_EQ(loss_of(from), loss_of("run"));
    const Outcome imported = here.run({"import", from, "--out", from + "-run"});
    ASSERT_EQ(imported.code, 0) << imported.err;
    expect_named(imported.err, {"llama"});
    EXPECT_EQ(sample_of(from + "-run"), sample_of("run"));
    EXPECT_EQ(here.run({"verify", from + "-run"}).code, 0);

    const Outcome tuned = here.run({"train", "--init-from", from, "--corpus", "text.txt", "--out", from + "-tuned", "--set",
                                    "train.max_steps=2", "train.eval_interval=1", "train.eval_tokens=0", "optim.warmup_steps=0"});
    ASSERT_EQ(tuned.code, 0) << tuned.err;
    EXPECT_EQ(here.metrics(from + "-tuned").front()["step"], 0);
    const Outcome again = here.run({"export", from + "-tuned", "--out", from + "-tuned-hf"});
    EXPECT_EQ(again.code, 0) << again.err;
  }
}

// Each place in which a model may be has its tokenizer and its template.
TEST_F(Exchange, FilesHaveTheModelsTokenizer) {
  here.write("talk.json", R"({"messages": [{"role": "user", "content": "ab ab"}], "add_generation_prompt": true})");
  const std::vector<Words> commands = {{"tokenizer", "render", "MODEL", "--messages", "talk.json", "--json"},
                                       {"tokenizer", "encode", "MODEL", "--text", "a b ab\n", "--json"}};
  for (Words command : commands) {
    command[2] = "run";
    const Outcome own = here.run(command);
    EXPECT_EQ(own.code, 0) << own.err;
    for (const char* const from : kTexts) {
      command[2] = from;
      EXPECT_EQ(here.run(command).out, own.out) << command[1] << ' ' << from;
    }
  }
  here.write("empty.jinja", "");
  expect_refused(here, {"tokenizer", "render", "run", "--messages", "talk.json", "--template", "empty.jinja"}, {"empty.jinja", "empty"});
}

TEST_F(Exchange, FilesMayNameAnotherContext) {
  ASSERT_EQ(here.run({"export", "run", "--out", "long", "--context", "4096"}).code, 0);
  EXPECT_EQ(Json::parse(contents(here / "long/config.json"))["max_position_embeddings"], 4096);
}

// The template is the model's own: it is kept, and conversations are written in it.
TEST_F(Exchange, KeepsTheChatTemplateThroughEveryStep) {
  const std::string text = "{% for m in messages %}\n{{ m['content'] + \"\\n\" }}{% endfor %}";
  Json config = Json::parse(contents(here / "hf/tokenizer_config.json"));
  config["chat_template"] = Json::array({Json{{"name", "default"}, {"template", text}}, Json{{"name", "rag"}, {"template", "r"}}});
  here.write("hf/tokenizer_config.json", config.dump());
  const Outcome imported = here.run({"import", "hf", "--out", "imported"});
  ASSERT_EQ(imported.code, 0) << imported.err;
  EXPECT_TRUE(contains(imported.err, "rag")) << imported.err;
  const Outcome tuned = here.run({"finetune", "imported", "--data", "text.txt", "--out", "tuned", "--set", "train.max_steps=1",
                                  "train.batch_size=1", "optim.warmup_steps=1"});
  ASSERT_EQ(tuned.code, 0) << tuned.err;
  const Outcome merged = here.run({"merge", "tuned", "--out", "merged"});
  ASSERT_EQ(merged.code, 0) << merged.err;
  for (const std::string model : {"hf", "imported", "tuned", "merged"}) {
    const Outcome exported = here.run({"export", model, "--out", model + "-again"});
    ASSERT_EQ(exported.code, 0) << exported.err;
    EXPECT_EQ(Json::parse(contents(here / (model + "-again/tokenizer_config.json")))["chat_template"], text) << model;
    const Outcome chat = here.run({"chat", model}, {.input = "a\n"});
    EXPECT_EQ(chat.code, 0) << model << chat.err;
  }
}

TEST_F(Exchange, TuningInShortWindowsKeepsTheContext) {
  Json config = Json::parse(contents(here / "hf/config.json"));
  config["max_position_embeddings"] = 40960;
  here.write("hf/config.json", config.dump());
  const Outcome tuned = here.run({"finetune", "hf", "--data", "text.txt", "--out", "tuned", "--set", "train.max_steps=1",
                                  "train.batch_size=1", "optim.warmup_steps=1"});
  ASSERT_EQ(tuned.code, 0) << tuned.err;
  expect_named(tuned.err, {"512", "data.window", "40,960", "model.block_size"});
  ASSERT_EQ(here.run({"export", "tuned", "--out", "tuned-hf"}).code, 0);
  EXPECT_EQ(Json::parse(contents(here / "tuned-hf/config.json"))["max_position_embeddings"], 40960);
  // The sample is longer than the window, and longer than the cache's first memory.
  const Outcome sampled = here.run({"sample", "tuned", "--prompt", "a", "--temperature", "0", "--max-new-tokens", "1100"});
  EXPECT_EQ(sampled.code, 0) << sampled.err;
  EXPECT_EQ(sampled.err, "") << "no text outgrew the context";
  EXPECT_EQ(here.run({"eval", "tuned", "--corpus", "text.txt"}).code, 0);
  expect_refused(here, {"finetune", "hf", "--data", "text.txt", "--out", "no", "--set", "data.window=40961"},
                 {"data.window", "40961", "model.block_size", "40960"});
  here.write("long.txt", tiny_text(6000));
  const Outcome trained = here.run({"train", "--init-from", "hf", "--corpus", "long.txt", "--out", "trained", "--set", "train.max_steps=1",
                                    "train.batch_size=1", "optim.warmup_steps=0"});
  ASSERT_EQ(trained.code, 0) << trained.err;
  expect_named(trained.err, {"2,048", "data.window"});  // without a recipe too
}

TEST_F(Exchange, InspectShowsOtherProgramsModels) {
  for (const std::string from : kTexts) {
    const Outcome text = here.run({"inspect", from});
    ASSERT_EQ(text.code, 0) << text.err;
    expect_named(text.out, {"llama"});
    const Outcome outcome = here.run({"inspect", from, "--json"});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    const Json shown = Json::parse(outcome.out);
    EXPECT_EQ(shown["context"], 24);
    EXPECT_EQ(shown["tokenizer"]["kind"], "bpe");
    EXPECT_EQ(shown["parameters"], here.log("run").front()["parameters"]);
    EXPECT_GT(shown["tensors"].size(), 10U);
    EXPECT_TRUE(shown["chat_template"].is_null());
    expect_refused(here, {"inspect", from, "--best"}, {from, "--best"});
  }
  std::filesystem::remove(here / "hf/tokenizer.json");
  const Outcome without = here.run({"inspect", "hf", "--json"});
  ASSERT_EQ(without.code, 0) << without.err;
  EXPECT_TRUE(contains(Json::parse(without.out)["tokenizer"]["problem"].get<std::string>(), "tokenizer.json"));
}

// A name that ends like a file's of another kind is not taken for a folder.
TEST_F(Exchange, ExportsOnlyToEndingsThatItKnows) {
  for (const char* const out : {"model.onnx", "model.safetensors", "model.pt"}) {
    expect_refused(here, {"export", "run", "--out", out}, {out, ".gguf", ".bin", "--format"});
    EXPECT_FALSE(std::filesystem::exists(here / out));
  }
  for (const Words& command :
       {Words{"export", "run", "--out", "mine-3.2-1b"}, Words{"export", "run", "--out", "mine.v2", "--format", "hf"}}) {
    ASSERT_EQ(here.run(command).code, 0);
    EXPECT_TRUE(std::filesystem::exists(here / (command[3] + "/config.json")));
  }
}

TEST_F(Exchange, NamesTheLayoutOfAFolderThatItDoesNotRead) {
  here.write("gguf/model.gguf", contents(here / "model.gguf"));
  here.write("mistral/consolidated.safetensors", "");
  here.write("mistral/params.json", "{}");
  for (const Words& command : {Words{"import", "?", "--out", "no"}, Words{"sample", "?", "--prompt", "a"}, Words{"inspect", "?"},
                               Words{"train", "--init-from", "?", "--corpus", "text.txt", "--out", "no"}}) {
    const auto with = [&](const char* folder) {
      Words given = command;
      std::ranges::replace(given, std::string("?"), std::string(folder));
      return given;
    };
    expect_refused(here, with("gguf"), {"gguf/model.gguf"});
    expect_refused(here, with("mistral"), {"mistral", "consolidated.safetensors", "params.json", "config.json"});
  }
}

// Leftovers of a killed import or merge do not block the name.
TEST_F(Exchange, AnImportHasItsNameOnlyWhenItIsComplete) {
  std::filesystem::create_directories(here / "empty/checkpoints");
  here.write("empty/checkpoints/.tmp-step-000000000.h5-1-0", "half");
  EXPECT_EQ(here.run({"import", "hf", "--out", "empty"}).code, 0);
  EXPECT_FALSE(std::filesystem::exists(here / "empty/checkpoints/.tmp-step-000000000.h5-1-0"));
  here.write(".tmp-new-1/checkpoints/.tmp-step-000000000.h5-1-0", "half");
  const Outcome imported = here.run({"import", "hf", "--out", "new"});
  ASSERT_EQ(imported.code, 0) << imported.err;
  EXPECT_EQ(imported.out, "new/checkpoints/step-000000000.h5\n");
  EXPECT_TRUE(std::filesystem::exists(here / "new/config.toml"));
  EXPECT_FALSE(std::filesystem::exists(here / ".tmp-new-1"));
  expect_refused(here, {"import", "hf", "--out", "new"}, {"new", "config.toml", "--out"});
}

TEST_F(Exchange, RefusesWeightsThatAreNotNumbers) {
  const Outcome tuned = here.run({"train", "--init-from", "hf", "--corpus", "text.txt", "--out", "tuned", "--set", "lora.rank=2",
                                  "train.max_steps=1", "optim.warmup_steps=0", "train.eval_tokens=64"});
  ASSERT_EQ(tuned.code, 0) << tuned.err;
  for (const std::string file : {"hf/model.safetensors", "model.gguf"}) {
    std::string bytes = contents(here / file);  // a value of the last tensor
    const float bad = std::numeric_limits<float>::quiet_NaN();
    const std::size_t at = bytes.size() - 32 - bytes.size() % sizeof bad;  // GGUF may end in padding
    std::memcpy(bytes.data() + at, &bad, sizeof bad);
    here.write(file, bytes);
  }
  for (const Words& command : {Words{"import", "model.gguf", "--out", "no"}, Words{"eval", "model.gguf", "--corpus", "text.txt"}}) {
    expect_refused(here, command, {"model.gguf", "weight", "nan"});
  }
  expect_refused(here, {"merge", "tuned", "--out", "no"}, {"hf", "weight", "nan"});
  for (const Words& command :
       {Words{"import", "hf", "--out", "no"}, Words{"export", "hf", "--out", "no"}, Words{"eval", "hf", "--corpus", "text.txt"},
        Words{"sample", "hf", "--prompt", "a"}, Words{"train", "--init-from", "hf", "--corpus", "text.txt", "--out", "no"}}) {
    expect_refused(here, command, {"hf", "weight", "nan"});
  }
  EXPECT_FALSE(std::filesystem::exists(here / "no/config.json") || std::filesystem::exists(here / "no/checkpoints/step-000000000.h5"));
}

TEST_F(Exchange, EvalFailsIfFiniteWeightsGiveNoLoss) {
  std::string bytes = contents(here / "hf/model.safetensors");
  const float huge = 3e38F;
  for (std::size_t end = bytes.size(); end > bytes.size() - 4096; end -= sizeof huge) {
    std::memcpy(bytes.data() + end - sizeof huge, &huge, sizeof huge);
  }
  here.write("hf/model.safetensors", bytes);
  for (const Words& more : {Words{}, Words{"--json"}}) {
    Words command = {"eval", "hf", "--corpus", "text.txt"};
    command.insert(command.end(), more.begin(), more.end());
    const Outcome outcome = here.run(command);
    EXPECT_EQ(outcome.code, 1) << outcome.err;
    EXPECT_EQ(outcome.out, "");
    expect_named(outcome.err, {"hf", "loss", "finite"});
  }
}

}  // namespace
}  // namespace dikkat::testing
