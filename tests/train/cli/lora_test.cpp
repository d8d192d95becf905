#include <algorithm>
#include <map>
#include <set>

#include "tests/train/cli/workspace.h"

// Fine-tuning with adapters: the checkpoint has only these, and the base is found by its path and hash.
namespace dikkat::testing {
namespace {

constexpr const char* kTuneAdapters = R"([data]
corpus = ["new.txt"]
[optim]
learning_rate = 1e-2
warmup_steps = 0
[lora]
rank = 2
[train]
batch_size = 5
max_steps = 8
eval_interval = 4
checkpoint_interval = 4
)";

constexpr const char* kSaved = "lora.modules_to_save=embedding,head";

class Lora : public ::testing::Test {
 protected:
  Lora() {
    here.write("tune.toml", kTuneAdapters);
    here.write("new.txt", tiny_text(1200).substr(3));
    here.train("base", {"tokenizer.kind=char", "model.n_embd=32"});
  }
  Outcome tune(const std::string& out, const Words& more = {}) const {
    Words arguments = {"train", "--config", "tune.toml", "--init-from", "base", "--out", out};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return here.run(arguments);
  }
  double loss(const std::string& run, const Words& more = {}) const {
    Words words = {"eval", run, "--json"};
    words.insert(words.end(), more.begin(), more.end());
    const Outcome outcome = here.run(words);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome.code == 0 ? Json::parse(outcome.out)["loss"].get<double>() : 0;
  }
  /// The hash of the weights that a run of adapters belongs to.
  std::string base_hash(const std::string& run) const {
    return Json::parse(here.run({"inspect", run, "--json"}).out)["state"]["base_hash"].get<std::string>();
  }

  Workspace here;
};

TEST_F(Lora, TrainsSmallCheckpointsThatEvaluateAndSample) {
  const Outcome tuned = tune("tuned");
  ASSERT_EQ(tuned.code, 0) << tuned.err;
  expect_named(tuned.err, {"rank 2"});
  const auto metrics = here.metrics("tuned");
  EXPECT_LT(metrics.back()["val_loss"], metrics.front()["val_loss"]) << "it learns";
  // The weights that eval computes with contain the adapters.
  EXPECT_NEAR(loss("tuned", {"--newest"}), metrics.back()["val_loss"].get<double>(), 1e-5);
  const Json inspected = Json::parse(here.run({"inspect", "tuned", "--json"}).out);
  EXPECT_EQ(inspected["state"]["base_hash"].get<std::string>().size(), 64U);
  for (const Json& tensor : inspected["tensors"]) {
    EXPECT_FALSE(tensor["path"].get<std::string>().starts_with("model/")) << tensor["path"];
  }
  EXPECT_EQ(here.run({"sample", "tuned", "--prompt", "the ", "--max-new-tokens", "5"}).code, 0);
}

TEST_F(Lora, ResumesToTheSameBits) {
  const auto losses = [&](const std::string& run) {
    std::vector<Json> found;
    for (const Json& line : here.metrics(run)) {
      found.push_back(line["event"] == "step" ? line["loss"] : line["val_loss"]);
    }
    return found;
  };
  for (const auto& [name, keys] :
       std::map<std::string, Words>{{"plain", {}},
                                    {"saved", {kSaved}},
                                    {"averaged", {kSaved, "optim.ema_decay=0.8", "lora.base=q8", "optim.weight_decay=0.1"}},
                                    {"muon", {"lora.modules_to_save=h.0.attn.*,ln_f.weight", "optim.kind=muon"}}}) {
    SCOPED_TRACE(name);
    Words whole = {"--set"}, parts = {"--set", "train.max_steps=4", "optim.decay_steps=8"};
    whole.insert(whole.end(), keys.begin(), keys.end());
    parts.insert(parts.end(), keys.begin(), keys.end());
    const Outcome tuned = tune(name, keys.empty() ? Words{} : whole);
    ASSERT_EQ(tuned.code, 0) << tuned.err;
    ASSERT_EQ(tune(name + "-parts", parts).code, 0);
    const Outcome resumed = here.run({"resume", name + "-parts", "--set", "train.max_steps=8"});
    ASSERT_EQ(resumed.code, 0) << resumed.err;
    EXPECT_EQ(losses(name + "-parts"), losses(name)) << "of each step and evaluation, to the last digit";
  }
}

TEST_F(Lora, TrainsModulesInFullBesideTheAdapters) {
  ASSERT_EQ(tune("plain").code, 0);
  const Outcome tuned = tune("tuned", {"--set", kSaved});
  ASSERT_EQ(tuned.code, 0) << tuned.err;
  expect_named(tuned.err, {"rank 2", "lora.modules_to_save = embedding, head"});
  const auto plain = here.metrics("plain"), saved = here.metrics("tuned");
  EXPECT_EQ(saved.front()["val_loss"], plain.front()["val_loss"]) << "they begin with the base's values";
  EXPECT_LT(saved.back()["val_loss"], saved.front()["val_loss"]);
  EXPECT_EQ(base_hash("tuned"), base_hash("plain")) << "that of the base's own values";

  // The checkpoint has them with the adapters, and their optimizer state.
  std::set<std::string> paths;
  const Json inspected = Json::parse(here.run({"inspect", "tuned", "--json"}).out);
  for (const Json& tensor : inspected["tensors"]) {
    paths.insert(tensor["path"].get<std::string>());
  }
  for (const char* path : {"adapter/wte.weight", "adapter/wpe.weight", "optimizer/m/wte.weight", "adapter/h.0.mlp.c_fc.lora_a"}) {
    EXPECT_TRUE(paths.contains(path)) << path;
  }
  EXPECT_FALSE(std::ranges::any_of(paths, [](const std::string& path) {
    return path.starts_with("model/") || path.starts_with("adapter/ln_f") || path.ends_with("c_fc.weight");
  })) << "everything else belongs to the base";

  // Every command has the trained values.
  EXPECT_NEAR(loss("tuned", {"--newest"}), saved.back()["val_loss"].get<double>(), 1e-5);
  const Outcome merged = here.run({"merge", "tuned", "--newest", "--out", "merged"});
  ASSERT_EQ(merged.code, 0) << merged.err;
  EXPECT_EQ(loss("merged", {"--corpus", "new.txt"}), loss("tuned", {"--newest", "--corpus", "new.txt"}));
  ASSERT_EQ(here.run({"export", "tuned", "--newest", "--out", "whole"}).code, 0);
  EXPECT_EQ(loss("whole", {"--corpus", "new.txt"}), loss("merged", {"--corpus", "new.txt"}));
}

TEST_F(Lora, ModulesToSaveThatMatchNothingAreRefused) {
  for (const char* part : {"lm_head", "h.9.*", "*.lora_a"}) {
    expect_refused(
        here,
        {"train", "--config", "tune.toml", "--init-from", "base", "--out", "no", "--set", "lora.modules_to_save=head," + std::string(part)},
        {"lora.modules_to_save", '"' + std::string(part) + '"'});
  }
  expect_refused(here, {"train", "--config", "tune.toml", "--init-from", "base", "--out", "no", "--set", "lora.modules_to_save=h.*"},
                 {"lora.targets", "all", "lora.modules_to_save"});  // nothing is left for adapters
  const Outcome whole = here.run({"train", "--config", "tune.toml", "--init-from", "base", "--out", "no", "--set", "lora.rank=0", kSaved});
  EXPECT_EQ(whole.code, 0) << whole.err;
  expect_named(whole.err, {"lora.modules_to_save", "lora.rank"});
}

TEST_F(Lora, ModulesToSaveAreNotInAGgufFileOfAdapters) {
  ASSERT_EQ(tune("tuned", {"--set", kSaved}).code, 0);
  expect_refused(here, {"export", "tuned", "--adapter", "--out", "no.gguf"}, {"lora.modules_to_save", "embedding, head", "--adapter"});
  EXPECT_FALSE(std::filesystem::exists(here / "no.gguf"));
  // PEFT has either adapters or a copy of a module, but a bias belongs to its module.
  ASSERT_EQ(tune("bias", {"--set", "lora.modules_to_save=h.0.attn.c_attn.bias"}).code, 0);
  expect_refused(here, {"export", "bias", "--adapter", "--out", "no"},
                 {"lora.modules_to_save", "transformer.h.0.attn.c_attn.bias", "--adapter"});
}

TEST_F(Lora, KeepsItsBasePacked) {
  ASSERT_EQ(tune("plain").code, 0);
  for (const std::string base : {"bf16", "q8", "q4"}) {
    SCOPED_TRACE(base);
    const std::string key = "lora.base=" + base;
    const Outcome tuned = tune(base, {"--set", key});
    ASSERT_EQ(tuned.code, 0) << tuned.err;
    EXPECT_TRUE(contains(contents(here / base / "config.toml"), "\nbase = \"" + base + "\"\n"));
    const auto metrics = here.metrics(base);
    const auto plain = here.metrics("plain");
    EXPECT_NE(metrics.front()["val_loss"], plain.front()["val_loss"]) << "the base is rounded";
    EXPECT_NEAR(metrics.front()["val_loss"].get<double>(), plain.front()["val_loss"].get<double>(), 0.1);
    EXPECT_LT(metrics.back()["val_loss"], metrics.front()["val_loss"]) << "it learns";
    EXPECT_EQ(base_hash(base), base_hash("plain")) << "that of the base before it is packed";
    EXPECT_NEAR(loss(base), metrics.back()["val_loss"].get<double>(), 0.1) << "eval adds the adapters to the base that is not packed";
    EXPECT_EQ(here.run({"merge", base, "--out", "merged-" + base}).code, 0);

    ASSERT_EQ(tune("parts-" + base, {"--set", key, "train.max_steps=4", "optim.decay_steps=8"}).code, 0);
    const Outcome resumed = here.run({"resume", "parts-" + base, "--set", "train.max_steps=8"});
    ASSERT_EQ(resumed.code, 0) << resumed.err;
    const auto again = here.metrics("parts-" + base);
    EXPECT_EQ(again.back()["val_loss"], metrics.back()["val_loss"]) << "to the last digit";
    EXPECT_EQ(here.run({"sample", base, "--weights", base, "--prompt", "the ", "--max-new-tokens", "5"}).code, 0)
        << "adapters are added to a matrix before it is packed";
  }
  expect_refused(here, {"resume", "q8", "--set", "train.max_steps=12", "lora.base=bf16"}, {"lora.base", "q8"});
  const Outcome planned = here.run({"plan", "--config", "tune.toml", "--init-from", "base", "--set", "lora.base=q8"});
  EXPECT_EQ(planned.code, 0) << planned.err;
  std::filesystem::remove_all(here / "base");
  here.train("base", {"tokenizer.kind=char", "model.n_embd=32", "train.seed=2"});
  expect_refused(here, {"resume", "q8", "--set", "train.max_steps=12"}, {(here / "base").string(), base_hash("q8")});
}

TEST_F(Lora, MergesIntoAnOrdinaryModel) {
  ASSERT_EQ(tune("tuned").code, 0);
  const Outcome merged = here.run({"merge", "tuned", "--out", "merged"});
  ASSERT_EQ(merged.code, 0) << merged.err;
  std::filesystem::remove_all(here / "base");
  EXPECT_EQ(here.run({"eval", "merged", "--corpus", "new.txt"}).code, 0);
  EXPECT_EQ(here.run({"export", "merged", "--out", "merged-hf"}).code, 0);
  expect_refused(here, {"merge", "tuned", "--out", "merged"}, {"config.toml", "--out"});  // before the missing base is noticed
  expect_refused(here, {"merge", "merged", "--out", "no"}, {"merged", "lora.rank"});
}

TEST_F(Lora, AMergedModelIsKnownNotToBeARun) {
  ASSERT_EQ(tune("runs/tuned").code, 0);
  ASSERT_EQ(here.run({"merge", "runs/tuned", "--out", "runs/merged"}).code, 0);
  const Outcome listed = here.run({"runs"});
  EXPECT_EQ(listed.code, 0) << listed.err;
  EXPECT_EQ(lines_with(listed.out, "runs/merged ").size(), 1U) << listed.out;
  const Json model = Json::parse(here.run({"runs", "--json"}).out)["runs"][0];
  EXPECT_EQ(model["state"], "model");
  EXPECT_EQ(model["problem"], "");
  EXPECT_EQ(model["step"], 0);
  EXPECT_GT(model["last_change"], 1e9);
  long parameters = 0;
  const Json inspected = Json::parse(here.run({"inspect", "runs/merged", "--json"}).out);
  for (const Json& tensor : inspected["tensors"]) {
    parameters += tensor["bytes"].get<long>() / 4;
  }
  EXPECT_EQ(model["parameters"], parameters);
  for (const Words& command :
       {Words{"report", "runs/merged"}, Words{"watch", "runs/merged"}, Words{"runs", "diff", "runs/merged", "runs/tuned"}}) {
    expect_refused(here, command, {"runs/merged", "dikkat merge", "finetune", "export"});
  }
  expect_refused(here, {"resume", "runs/merged"}, {"dikkat finetune runs/merged --data PATH", "dikkat train --init-from runs/merged"});
  std::filesystem::remove(here / "runs/tuned/metrics.jsonl");
  const Json lost = Json::parse(here.run({"runs", "--json"}).out)["runs"][1];
  EXPECT_EQ(lost["state"], "broken") << "a run that has lost it is not such a model";
  expect_named(lost["problem"], {"metrics.jsonl"});
  EXPECT_EQ(here.run({"resume", "runs/tuned", "--set", "train.max_steps=9"}).code, 0);
  here.write("runs/merged/checkpoints/step-000000000.h5", "damaged");
  EXPECT_EQ(Json::parse(here.run({"runs", "--json"}).out)["runs"][0]["state"], "broken");
}

TEST_F(Lora, ABaseThatIsMissingOrChangedIsRefused) {
  ASSERT_EQ(tune("tuned").code, 0);
  const double before = loss("tuned");
  std::filesystem::rename(here / "base", here / "kept");
  for (const Words& command : {Words{"eval", "tuned"}, Words{"resume", "tuned", "--set", "train.max_steps=12"}}) {
    expect_refused(here, command, {(here / "base").string(), "--base"});
    Words wrong = command;
    wrong.insert(wrong.begin() + 2, {"--base", "wrong"});
    expect_refused(here, wrong, {"wrong", "tuned"});
  }
  here.train("base", {"tokenizer.kind=char", "model.n_embd=32", "train.seed=2"});
  for (const Words& command : {Words{"eval", "tuned"}, Words{"resume", "tuned", "--set", "train.max_steps=12"}}) {
    expect_refused(here, command, {(here / "base").string(), base_hash("tuned"), "--base"});
  }
  std::filesystem::remove_all(here / "base");
  std::filesystem::rename(here / "kept", here / "base");
  EXPECT_EQ(loss("tuned"), before);
}

TEST_F(Lora, TheHashIdentifiesTheBaseAmongARunsCheckpoints) {
  here.train("long", {"tokenizer.kind=char", "model.n_embd=32", "train.keep_last=20"});
  here.write("long/checkpoints/best", "step-000000012.h5\n");
  ASSERT_EQ(here.run({"train", "--config", "tune.toml", "--init-from", "long", "--out", "of-long"}).code, 0);
  const double before = loss("of-long");
  EXPECT_TRUE(contains(here.run({"inspect", "of-long", "--json"}).out, "step-000000012.h5, step 12"));
  here.write("long/checkpoints/best", "step-000000020.h5\n");  // as if a later one had become the best
  EXPECT_EQ(loss("of-long"), before);
  EXPECT_EQ(here.run({"resume", "of-long", "--set", "train.max_steps=12"}).code, 0);
  here.write("long/checkpoints/step-000000016.h5", "damaged");  // the damage of another checkpoint does not matter
  std::filesystem::remove(here / "long/checkpoints/best");
  EXPECT_EQ(here.run({"eval", "of-long"}).code, 0);
  std::filesystem::remove(here / "long/checkpoints/step-000000012.h5");
  expect_refused(here, {"eval", "of-long"}, {(here / "long").string(), base_hash("of-long")});
}

TEST_F(Lora, ABaseThatHasMovedIsNamed) {
  ASSERT_EQ(tune("tuned").code, 0);
  const double best = loss("tuned"), newest = loss("tuned", {"--newest"});
  std::filesystem::rename(here / "base", here / "moved");
  for (const Words& command :
       {Words{"eval", "tuned"}, Words{"resume", "tuned", "--set", "train.max_steps=12"}, Words{"merge", "tuned", "--out", "no"}}) {
    expect_refused(here, command, {(here / "base").string(), "--base"});
  }
  EXPECT_EQ(loss("tuned", {"--base", "moved"}), best);
  EXPECT_EQ(loss("tuned/checkpoints/step-000000008.h5", {"--base", (here / "moved").string()}), newest);
  EXPECT_EQ(here.run({"sample", "tuned", "--base", "moved", "--max-new-tokens", "2"}).code, 0);
  EXPECT_EQ(here.run({"export", "tuned", "--base", "moved", "--out", "whole"}).code, 0);
  EXPECT_EQ(here.run({"merge", "tuned", "--base", "moved", "--out", "merged"}).code, 0);
  EXPECT_EQ(here.run({"export", "tuned", "--base", "moved", "--adapter", "--out", "peft"}).code, 0);
  EXPECT_EQ(Json::parse(contents(here / "peft/adapter_config.json"))["base_model_name_or_path"], "moved");

  here.train("other", {"tokenizer.kind=char", "model.n_embd=32", "train.seed=2"});
  for (const Words& command : {Words{"eval", "tuned"}, Words{"resume", "tuned", "--set", "train.max_steps=12"},
                               Words{"merge", "tuned", "--out", "no"}, Words{"export", "tuned", "--adapter", "--out", "no"}}) {
    Words with_other = command;
    with_other.insert(with_other.begin() + 2, {"--base", "other"});
    expect_refused(here, with_other, {"tuned", "other", base_hash("tuned")});
  }
}

TEST_F(Lora, AResumedRunKeepsTheNewPlaceOfItsBase) {
  ASSERT_EQ(tune("tuned").code, 0);
  std::filesystem::rename(here / "base", here / "moved");
  const Outcome finished = here.run({"resume", "tuned", "--base", "moved"});
  EXPECT_EQ(finished.code, 0);
  expect_named(finished.err, {"--base"});
  EXPECT_FALSE(contains(contents(here / "tuned/config.toml"), (here / "moved").string())) << "only a run that continues keeps it";
  const Outcome resumed = here.run({"resume", "tuned", "--base", "moved", "--set", "train.max_steps=12"});
  ASSERT_EQ(resumed.code, 0) << resumed.err;
  expect_named(resumed.err, {"train.init_from", (here / "moved").string()});
  EXPECT_TRUE(contains(contents(here / "tuned/config.toml"), "init_from = \"" + (here / "moved").string() + "\"\n"));
  EXPECT_TRUE(contains(here.run({"inspect", "tuned"}).out, "train.init_from=" + (here / "moved").string()));
  loss("tuned", {"--newest"});
  here.write("tuned/checkpoints/best", "step-000000008.h5\n");  // it was saved earlier
  loss("tuned");
  EXPECT_EQ(here.run({"resume", "tuned", "--set", "train.max_steps=14"}).code, 0);
}

TEST_F(Lora, OfAModelWithOtherHiddenMatrices) {
  here.train("gated", {"tokenizer.kind=char", "model.value_embeddings=all"});
  ASSERT_EQ(here.run({"train", "--config", "tune.toml", "--init-from", "gated", "--out", "tuned"}).code, 0);
  EXPECT_NEAR(loss("tuned", {"--newest"}), here.metrics("tuned").back()["val_loss"].get<double>(), 1e-5)
      << "the gates of value embeddings have no adapters";
}

TEST_F(Lora, FinetuneIsTheShortForm) {
  const Words steps = {"--set", "train.max_steps=4", "train.eval_interval=2", "train.batch_size=2", "optim.warmup_steps=1"};
  const auto finetune = [&](const std::string& out, const Words& more) {
    Words words = {"finetune", "base", "--data", "new.txt", "--out", out};
    words.insert(words.end(), more.begin(), more.end());
    words.insert(words.end(), steps.begin(), steps.end());
    return here.run(words);
  };
  const Outcome adapters = finetune("adapters", {});
  ASSERT_EQ(adapters.code, 0) << adapters.err;
  EXPECT_TRUE(contains(contents(here / "adapters/config.toml"), "\nrank = 16\n")) << contents(here / "adapters/config.toml");
  const Outcome full = finetune("full", {"--full"});
  ASSERT_EQ(full.code, 0) << full.err;
  EXPECT_TRUE(contains(contents(here / "full/config.toml"), "\nrank = 0\n")) << contents(here / "full/config.toml");
  EXPECT_TRUE(contains(contents(here / "full/config.toml"), "learning_rate = 2e-5\n")) << contents(here / "full/config.toml");
  EXPECT_EQ(finetune("none", {"--full", "--set", "lora.rank=0"}).code, 0) << "these have the same meaning";
}

TEST_F(Lora, FinetuneTakesACorpusToo) {
  const Outcome named =
      here.run({"finetune", "base", "--corpus", "new.txt", "--out", "named", "--set", "train.max_steps=2", "optim.warmup_steps=1"});
  EXPECT_EQ(named.code, 0) << named.err;
  EXPECT_TRUE(contains(here.run({"finetune", "--help"}).out, "--data,--corpus PATH")) << here.run({"finetune", "--help"}).out;
}

TEST_F(Lora, FinetuneSuggestsTheNextCommands) {
  const auto finetune = [&](const std::string& out, const Words& settings, const Words& flags = {}) {
    Words words = {"finetune", "base", "--data", "new.txt", "--out", out};
    words.insert(words.end(), flags.begin(), flags.end());
    words.insert(words.end(), {"--set", "optim.warmup_steps=1", "optim.learning_rate=1e-2", "lora.dropout=0"});
    words.insert(words.end(), settings.begin(), settings.end());
    const Outcome outcome = here.run(words);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(outcome.out, out + "\n");
    return outcome.err;
  };
  const std::string said = finetune("short", {"train.max_steps=8", "train.eval_interval=4"});
  expect_named(said, {"dikkat resume short --set train.max_steps=16 optim.decay_steps=16", "--full", "dikkat sample short --prompt"});
  const Outcome resumed = here.run({"resume", "short", "--set", "train.max_steps=16", "optim.decay_steps=16"});
  EXPECT_EQ(resumed.code, 0) << resumed.err;
  for (const Json& line : here.metrics("short")) {
    if (line["event"] == "step" && line["step"] == 9) {
      EXPECT_GT(line["learning_rate"].get<double>(), 1e-3) << "it learns on";
    }
  }
  EXPECT_EQ(here.metrics("short").back()["step"], 16);
  const std::string stuck = finetune("stuck", {"train.max_steps=4", "train.eval_interval=2", "optim.learning_rate=1e-30"});
  EXPECT_FALSE(contains(stuck, "dikkat resume")) << stuck;
  expect_named(stuck, {"dikkat sample stuck"});
  const std::string full = finetune("full", {"train.max_steps=8", "train.eval_interval=4", "optim.schedule=constant"}, {"--full"});
  expect_named(full, {"dikkat resume full --set train.max_steps=16"});
  EXPECT_FALSE(contains(full, "optim.decay_steps=") || contains(full, "--full")) << full;
  EXPECT_EQ(finetune("quiet", {"train.max_steps=2"}, {"--quiet"}), "");
}

TEST_F(Lora, AdaptersNeedAModelThatHasNone) {
  ASSERT_EQ(tune("tuned").code, 0);
  expect_refused(here, {"train", "--config", "tune.toml", "--init-from", "tuned", "--out", "no"}, {"dikkat merge ", "tuned"});
  // All weights may be trained from there: the adapters are merged into them.
  const Outcome full = here.run({"train", "--config", "tune.toml", "--init-from", "tuned", "--out", "full", "--set", "lora.rank=0"});
  EXPECT_EQ(full.code, 0) << full.err;
  EXPECT_NEAR(here.metrics("full").front()["val_loss"].get<double>(), loss("tuned"), 1e-5);
  expect_refused(here, {"train", "--config", "tune.toml", "--init-from", "base", "--out", "no", "--set", "lora.targets=[\"h.9.*\"]"},
                 {"lora.targets", " h.9.*"});
  expect_refused(
      here, {"train", "--config", "tune.toml", "--init-from", "base", "--out", "no", "--set", "lora.targets=[\"attention\",\"h.9.*\"]"},
      {"lora.targets", "\"h.9.*\""});
}

}  // namespace
}  // namespace dikkat::testing
