#include <algorithm>
#include <cmath>
#include <numbers>
#include <set>
#include <thread>

#include <sys/stat.h>

#include "tests/train/cli/workspace.h"

// A person's work with the program, one step after another.
namespace dikkat::testing {
namespace {

TEST(Workflow, TrainsAndPrintsOnlyTheRunDirectory) {
  const Workspace here;
  const Outcome trained = here.run({"train", "--config", "tiny.toml", "--out", "runs/first"});
  EXPECT_EQ(trained.code, 0) << trained.err;
  EXPECT_EQ(trained.out, "runs/first\n");
  expect_named(trained.err, {"11,072", " 1/20 ", " 20/20 ", fixed(here.metrics("runs/first").back()["val_loss"], 4)});
  EXPECT_FALSE(contains(trained.err, "\x1b")) << "no terminal, no control sequences";

  const Outcome verified = here.run({"verify", "runs/first"});
  EXPECT_EQ(verified.code, 0) << verified.err;
  expect_named(verified.out, {"step-000000020.h5", "step 20"});
}

TEST(Workflow, MetricsAreOneObjectALine) {
  const Workspace here;
  here.train("run");
  int steps = 0;
  for (const Json& line : here.metrics("run")) {
    std::set<std::string> names;
    for (const auto& [name, value] : line.items()) {
      names.insert(name);
    }
    if (line["event"] == "step") {
      EXPECT_EQ(names, (std::set<std::string>{"event", "step", "loss", "grad_norm", "learning_rate", "tokens", "ms", "optimizer_ms",
                                              "tokens_per_s", "mfu", "time"}));
      EXPECT_EQ(line["step"], ++steps);
      EXPECT_EQ(line["tokens"], 5 * 3 * 24);
    } else {
      EXPECT_EQ(line["event"], "eval");
      EXPECT_TRUE(names.contains("step") && names.contains("train_loss") && names.contains("val_loss")) << line;
      EXPECT_TRUE(steps % 6 == 0 || steps == 20) << line;
      EXPECT_EQ(line["step"], steps);
    }
  }
  EXPECT_EQ(steps, 20);
  const std::vector<Json> lines = here.metrics("run");
  EXPECT_NEAR(lines.front()["loss"].get<double>(), std::log(256), 0.1);
  EXPECT_LT(lines.back()["val_loss"].get<double>(), 4) << "it learns";
}

TEST(Workflow, MetricsRecordTheEventsOfTheRun) {
  const Workspace here;
  const double begin = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  here.train("run", {"train.max_steps=4"});
  ASSERT_EQ(here.run({"resume", "run", "--set", "train.max_steps=8"}, {.environment = {{"OMP_NUM_THREADS", "1"}}}).code, 0);
  const double end = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();

  // The header describes the program and the run.
  const std::vector<Json> log = here.log("run");
  const Json& header = log.front();
  EXPECT_EQ(header["event"], "header");
  EXPECT_EQ(header["format"], 1);
  EXPECT_EQ(header["step"], 0);
  EXPECT_EQ(header["parameters"], 11072);
  EXPECT_EQ(header["threads"], 2);
  const Json inspected = Json::parse(here.run({"inspect", "run", "--json"}).out);
  EXPECT_EQ(header["corpus"], inspected["state"]["corpus_fingerprint"]);
  EXPECT_EQ(header["version"], inspected["state"]["program_version"]);
  EXPECT_EQ(header["command"], (Words{DIKKAT_PROGRAM, "train", "--config", "tiny.toml", "--out", "run", "--set", "train.max_steps=4"}));
  for (const char* name : {"date", "commit", "host", "processor"}) {
    EXPECT_FALSE(header[name].get<std::string>().empty()) << name;
  }

  // The events are in order.
  std::vector<std::string> order;
  double last = begin - 0.001;
  for (const Json& line : log) {
    EXPECT_GE(line["time"].get<double>(), last) << line;
    last = line["time"];
    if (line["event"] != "step" && line["event"] != "save") {  // these lines are written in the background
      order.push_back(line["event"].get<std::string>() + line["step"].dump());
    }
  }
  EXPECT_LE(last, end + 0.001);
  EXPECT_EQ(order, (Words{"header0", "eval4", "finish4", "resume4", "change4", "eval6", "eval8", "finish8"}));
  const auto line_of = [&](const std::string& event, int step) {
    return *std::ranges::find_if(log, [&](const Json& line) { return line["event"] == event && line["step"] == step; });
  };
  // There are lines of the resume, of the change and of the saves.
  EXPECT_EQ(line_of("resume", 4)["threads"], 1);
  EXPECT_EQ(line_of("change", 4)["key"], "train.max_steps");
  EXPECT_EQ(line_of("change", 4)["before"], "4");
  EXPECT_EQ(line_of("change", 4)["after"], "8");
  for (const int step : {0, 4, 6, 8}) {
    const std::string file = line_of("save", step)["file"];
    EXPECT_EQ(file, "step-00000000" + std::to_string(step) + ".h5");
    if (const auto path = here / ("run/checkpoints/" + file); std::filesystem::exists(path)) {
      EXPECT_EQ(line_of("save", step)["bytes"], std::filesystem::file_size(path));
    }
  }
}

TEST(Workflow, ReportsWhereTheTimeWentWhenAsked) {
  const Workspace here;
  const Outcome trained = here.run({"train", "--config", "tiny.toml", "--out", "run", "--profile", "--set", "train.max_steps=8"});
  expect_named(trained.err, {" 6 steps", "\nforward ", "\nbackward "});
  const Outcome resumed = here.run({"resume", "run", "--profile", "--set", "train.max_steps=9"});
  expect_named(resumed.err, {" 1 step,", "\nforward "});
  EXPECT_FALSE(contains(here.run({"resume", "run", "--set", "train.max_steps=10"}).err, "\nforward "));
}

TEST(Workflow, WarnsOfMoreThreadsThanCores) {
  const Workspace here;
  const Words train = {"train", "--config", "tiny.toml", "--set", "train.max_steps=1"};
  const auto warned = [](const Outcome& outcome) { return contains(outcome.err, "OMP_NUM_THREADS"); };
  const std::string many = std::to_string(std::thread::hardware_concurrency() + 1);
  EXPECT_TRUE(warned(here.run(train, {.environment = {{"OMP_NUM_THREADS", many}}})));
  EXPECT_FALSE(warned(here.run(train, {.environment = {{"OMP_NUM_THREADS", "1"}}})));
  Words chosen = train;
  chosen.insert(chosen.end(), {"--threads", many});
  EXPECT_TRUE(warned(here.run(chosen)));
}

TEST(Workflow, EvaluationOfARunIsItsLastOneToTheBit) {
  const Workspace here;
  here.train("run");
  const Outcome evaluated = here.run({"eval", "run", "--json"});
  ASSERT_EQ(evaluated.code, 0) << evaluated.err;
  EXPECT_EQ(std::count(evaluated.out.begin(), evaluated.out.end(), '\n'), 1);
  const Json result = Json::parse(evaluated.out);
  const double loss = result["loss"];
  EXPECT_EQ(loss, here.metrics("run").back()["val_loss"].get<double>());
  EXPECT_DOUBLE_EQ(result["perplexity"].get<double>(), std::exp(loss));
  EXPECT_DOUBLE_EQ(result["bits_per_byte"].get<double>(), loss / std::numbers::ln2) << "a token is a byte";
  const auto size = static_cast<double>(std::filesystem::file_size(here / "text.txt"));
  EXPECT_NEAR(result["tokens"].get<double>(), size / 10, 2) << "all of the last tenth";

  const Outcome in_words = here.run({"eval", "run"});
  expect_named(in_words.out, {"loss", fixed(loss, 4) + " +- "});
  here.write("line.txt", "the lamp\n");
  const Outcome of_a_line = here.run({"eval", "run", "--corpus", "line.txt"});
  EXPECT_FALSE(contains(of_a_line.out, " +- ")) << of_a_line.out;
  expect_named(of_a_line.err, {"model.block_size"});
  const Outcome by_file = here.run({"eval", "run/checkpoints/step-000000020.h5", "--json"});
  EXPECT_EQ(Json::parse(by_file.out)["loss"], loss);
}

TEST(Workflow, EvaluatesAnotherTextInBitsOfItsBytes) {
  const Workspace here;
  here.write("text.txt", tiny_text() + "\xC4\x9F");  // a character of two bytes in the vocabulary
  here.train("run", {"tokenizer.kind=char", "data.val_fraction=0.05"});
  here.write("other.txt", "the ships go by \xC4\x9F\xC4\x9F\xC4\x9F");
  const Outcome evaluated = here.run({"eval", "run", "--corpus", "other.txt", "--json"});
  ASSERT_EQ(evaluated.code, 0) << evaluated.err;
  const Json result = Json::parse(evaluated.out);
  EXPECT_EQ(result["tokens"], 18) << "19 characters, the first of which is given";
  EXPECT_DOUBLE_EQ(result["bits_per_byte"].get<double>(), result["loss"].get<double>() / std::numbers::ln2 * 18 / 21);
}

TEST(Workflow, EvaluationOfTheBestIsTheBest) {
  const Workspace here;
  here.train("run", {"train.max_steps=24", "optim.schedule=constant", "optim.learning_rate=0.3"});  // learns and forgets
  double best = 1e9;
  int best_step = -1;
  for (const Json& line : here.metrics("run")) {
    if (line["event"] == "eval" && line["val_loss"] < best) {
      best = line["val_loss"];
      best_step = line["step"];
    }
  }
  const Json result = Json::parse(here.run({"eval", "run", "--best", "--json"}).out);
  EXPECT_EQ(result["loss"], best);
  EXPECT_EQ(result["step"], best_step);
}

TEST(Workflow, SamplesAreAFunctionOfTheSeed) {
  const Workspace here;
  here.train("run", {"tokenizer.kind=char"});
  const Words words = {"sample", "run", "--prompt", "the ", "--max-new-tokens", "40", "--num-samples", "2", "--seed", "5"};
  const Outcome first = here.run(words);
  EXPECT_EQ(first.code, 0) << first.err;
  EXPECT_EQ(std::count(first.err.begin(), first.err.end(), '\n'), 1) << first.err;
  expect_named(first.err, {" 24 "});
  EXPECT_TRUE(first.out.starts_with("the ")) << first.out;
  EXPECT_EQ(here.run(words, {.environment = {{"OMP_NUM_THREADS", "1"}}}).out, first.out);
  Words other = words;
  other.back() = "6";
  EXPECT_NE(here.run(other).out, first.out);

  Words as_json = words;
  as_json.push_back("--json");
  const Json object = Json::parse(here.run(as_json).out);
  EXPECT_EQ(object["prompt"], "the ");
  EXPECT_EQ(object["seed"], 5);
  ASSERT_EQ(object["samples"].size(), 2);
  for (const Json& sample : object["samples"]) {
    EXPECT_EQ(sample["tokens"].size(), 40);
    EXPECT_TRUE(contains(first.out, "the " + sample["text"].get<std::string>()));
  }
}

TEST(Workflow, ThePromptMayComeFromStandardInput) {
  const Workspace here;
  here.train("run");
  const Outcome argument = here.run({"sample", "run", "--prompt", "by night", "--max-new-tokens", "8"});
  const Outcome input = here.run({"sample", "run", "--prompt", "-", "--max-new-tokens", "8"}, {.input = "by night"});
  EXPECT_EQ(input.code, 0) << input.err;
  EXPECT_EQ(input.out, argument.out);
  EXPECT_EQ(here.run({"sample", "run", "--prompt", "-x", "--max-new-tokens", "1"}).out.substr(0, 2), "-x")
      << "a text may begin with a hyphen";
  const Outcome none = here.run({"sample", "run", "--max-new-tokens", "0"});
  EXPECT_EQ(none.code, 0) << none.err;
  EXPECT_EQ(none.out, "\n");
}

TEST(Workflow, InspectPrintsTheContentsOfACheckpoint) {
  const Workspace here;
  here.train("run");
  const Outcome inspected = here.run({"inspect", "run", "--json"});
  ASSERT_EQ(inspected.code, 0) << inspected.err;
  const Json object = Json::parse(inspected.out);
  EXPECT_EQ(object["step"], 20);
  EXPECT_EQ(object["parameters"], 11072);
  EXPECT_EQ(object["tokenizer"]["kind"], "byte");
  EXPECT_EQ(object["state"]["tokens_seen"], 20 * 5 * 3 * 24);
  EXPECT_TRUE(contains(object["config"].get<std::string>(), "\nvocab_size = 256\n")) << "derived values too, exactly";
  EXPECT_TRUE(std::ranges::any_of(object["tensors"], [](const Json& tensor) {
    return tensor == Json{{"path", "model/h.0.attn.c_attn.weight"}, {"type", "f32"}, {"shape", {48, 16}}, {"bytes", 4 * 48 * 16}};
  }));
  EXPECT_EQ(object["run"]["date"], here.log("run").front()["date"]);
  EXPECT_EQ(object["run"]["command"].back(), "run");
  std::filesystem::copy_file(here / "run/checkpoints/step-000000020.h5", here / "copy.h5");
  EXPECT_TRUE(Json::parse(here.run({"inspect", "copy.h5", "--json"}).out)["run"].is_null()) << "nobody knows";
  const std::string date = object["run"]["date"], command = "train --config tiny.toml --out run";
  const std::string of_copy = here.run({"inspect", "copy.h5"}).out;
  EXPECT_FALSE(contains(of_copy, date) || contains(of_copy, command)) << of_copy;
  expect_named(here.run({"inspect", "run/checkpoints/step-000000020.h5"}).out,
               {date, command, "11,072", "h.1.mlp.c_fc.weight", "[64, 16]", "optimizer/v ", "44 KB", "byte", "256", "max_steps = 20"});
}

TEST(Workflow, InspectPrintsNothingThatATerminalWouldObey) {
  const Workspace here;
  const std::string name =
      "\x1B]0;title\x07\xC2\x9B"
      "2J\xC3\xBC.txt";  // a title, "clear the screen" in its two-byte form, and an innocent letter
  here.write(name, tiny_text());
  const Outcome trained = here.run({"train", "--config", "tiny.toml", "--out", "run", "--set", "data.corpus=[" + Json(name).dump() + "]"});
  ASSERT_EQ(trained.code, 0) << trained.err;
  const std::string out = here.run({"inspect", "run"}).out;
  EXPECT_FALSE(contains(out, "\x1B") || contains(out, "\x07") || contains(out, "\xC2\x9B")) << out;
  EXPECT_TRUE(contains(out, "2J\xC3\xBC.txt")) << out;
}

TEST(Workflow, TheWrittenConfigurationRepeatsTheRun) {
  const Workspace here;
  here.train("run");
  here.write("copy.toml", contents(here / "run/config.toml"));
  const Outcome again = here.run({"train", "--config", "copy.toml", "--out", "again"});
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(here.timeless_metrics("again"), here.timeless_metrics("run"));
  EXPECT_EQ(here.checkpoint("again", 20), here.checkpoint("run", 20));
}

TEST(Workflow, TheWrittenConfigurationIsARecipeForAnotherText) {
  const Workspace here;
  ASSERT_EQ(here.run({"train", "--config", "tiny.toml", "--out", "run", "--set", "tokenizer.kind=char"}).code, 0);
  here.write("other.txt", tiny_text() + "ÄÖÜäöüß");
  const Outcome other =
      here.run({"train", "--config", "run/config.toml", "--corpus", "other.txt", "--out", "other", "--set", "train.max_steps=5"});
  EXPECT_EQ(other.code, 0) << other.err;
  EXPECT_TRUE(contains(contents(here / "other/config.toml"), "\n# decay_steps = 5  ")) << "nothing of the first run is pinned";
}

TEST(Workflow, AResumedRunsLowestRateFollowsItsLearningRate) {
  const Workspace here;
  ASSERT_EQ(here.run({"train", "--config", "tiny.toml", "--out", "run", "--set", "train.max_steps=5"}).code, 0);
  const Outcome resumed = here.run({"resume", "run", "--set", "train.max_steps=6", "optim.learning_rate=2e-3"});
  ASSERT_EQ(resumed.code, 0) << resumed.err;
  const std::string config = contents(here / "run/config.toml");
  EXPECT_TRUE(contains(config, "\n# min_lr = 2e-4  ")) << config;
  EXPECT_TRUE(contains(config, "\n# decay_steps = 5  ")) << "the schedule of a run that is extended stays";
  EXPECT_FALSE(contains(resumed.err, "config.toml")) << "nobody has edited it";
}

TEST(Workflow, TrainsOnTheDefaultsWithoutAConfiguration) {
  const Workspace here;
  const Outcome trained = here.run({"train", "--corpus", "text.txt", "--set", "train.max_steps=2", "model.n_embd=16", "model.n_layer=1",
                                    "model.block_size=16", "tokenizer.kind=byte"});
  EXPECT_EQ(trained.code, 0) << trained.err;
  EXPECT_EQ(trained.out, "runs/default\n");
}

TEST(Workflow, AConfigurationIsFoundByItsName) {
  const Workspace here;
  const Outcome trained = here.run({"train", "--config", "quickstart", "--corpus", "text.txt", "--set", "train.max_steps=1",
                                    "model.n_embd=16", "model.n_layer=1", "tokenizer.kind=byte"});
  EXPECT_EQ(trained.code, 0) << trained.err;
  EXPECT_EQ(trained.out, "runs/quickstart\n");
  EXPECT_TRUE(contains(contents(here / "runs/quickstart/config.toml"), "block_size = 64\n"));
}

TEST(Workflow, RunsAreNamedAfterTheConfiguration) {
  const Workspace here;
  const Words words = {"train", "--config", "tiny.toml", "--set", "train.max_steps=1"};
  EXPECT_EQ(here.run(words).out, "runs/tiny\n");
  EXPECT_EQ(here.run(words).out, "runs/tiny-2\n");
  EXPECT_EQ(here.run(words).out, "runs/tiny-3\n");
  EXPECT_EQ(here.checkpoint("runs/tiny-2", 1), here.checkpoint("runs/tiny", 1));
}

TEST(Workflow, AFinishedRunIsUnchangedAndCanBeExtended) {
  const Workspace here;
  here.train("run");
  const auto before = here.tree();
  const Outcome resumed = here.run({"resume", "run"});
  EXPECT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_EQ(resumed.out, "");
  expect_named(resumed.err, {"run", "step 20", "dikkat resume run --set train.max_steps="});
  EXPECT_EQ(here.tree(), before);

  const Outcome extended = here.run({"resume", "run", "--set", "train.max_steps=24"});
  EXPECT_EQ(extended.code, 0) << extended.err;
  EXPECT_EQ(extended.out, "run\n");
  expect_named(extended.err, {"step 20", " 24/24 "});
  EXPECT_TRUE(contains(contents(here / "run/config.toml"), "max_steps = 24"));
  expect_named(here.run({"inspect", "run"}).out, {"train.max_steps=24"});  // the change is recorded
}

TEST(Workflow, ARunMayContinueInAnotherFolderAndWithItsTextElsewhere) {
  const Workspace here;
  here.train("run", {"train.max_steps=8"});
  std::filesystem::rename(here / "text.txt", here / "moved.txt");
  const Outcome moved = here.run({"resume", "run", "--set", "data.corpus=moved.txt", "train.max_steps=12"});
  EXPECT_EQ(moved.code, 0) << moved.err;
  std::filesystem::create_directory(here / "below");
  Start below = here.here({"resume", "../run", "--set", "train.max_steps=16"});
  below.folder = (here / "below").string();
  const Outcome elsewhere = run(below);
  EXPECT_EQ(elsewhere.code, 0) << elsewhere.err;
}

TEST(Workflow, AFolderWhoseNameNoConfigurationCanHoldIsRefusedBeforeTheRun) {
  const Workspace here;
  std::filesystem::create_directories(here / "bad\xff");
  for (const char* name : {"tiny.toml", "text.txt"}) {
    std::filesystem::copy(here / name, here / "bad\xff" / name);
  }
  Start inside = here.here({"train", "--config", "tiny.toml", "--out", "run"});
  inside.folder = (here / "bad\xff").string();
  const Outcome outcome = run(inside);
  EXPECT_EQ(outcome.code, 2);
  expect_named(outcome.err, {"UTF-8"});
  EXPECT_FALSE(std::filesystem::exists(here / "bad\xff/run"));
}

TEST(Workflow, AnEditedConfigurationIsReportedAndHasNoEffect) {
  const Workspace here;
  here.train("run", {"train.max_steps=4"});
  EXPECT_FALSE(contains(here.run({"resume", "run", "--set", "train.max_steps=5"}).err, "config.toml"));
  std::string text = contents(here / "run/config.toml");
  const std::string was = "n_layer = 2";
  ASSERT_TRUE(contains(text, was));
  here.write("run/config.toml", text.replace(text.find(was), was.size(), "n_layer = 7"));
  const Outcome outcome = here.run({"resume", "run", "--set", "train.max_steps=6"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  expect_named(outcome.err, {"run/config.toml", "model.n_layer", " 7"});

  text = contents(here / "run/config.toml");
  const std::string limit = "max_steps = 6";
  ASSERT_TRUE(contains(text, limit));
  here.write("run/config.toml", text.replace(text.find(limit), limit.size(), "max_steps = 7"));
  EXPECT_FALSE(contains(here.run({"resume", "run", "--set", "train.max_steps=7"}).err, "config.toml")) << "it was just set";
}

TEST(Workflow, AnEditedConfigurationThatCannotBeReadIsReportedAndKept) {
  const Workspace here;
  here.train("run", {"train.max_steps=4"});
  const std::string edited = "[model]\nn_layr = 7\n";
  here.write("run/config.toml", edited);
  const Outcome finished = here.run({"resume", "run"});
  EXPECT_EQ(finished.code, 0);
  expect_named(finished.err, {"run/config.toml:2:1", "model.n_layr"});
  EXPECT_EQ(contents(here / "run/config.toml"), edited);
  const Outcome resumed = here.run({"resume", "run", "--set", "train.max_steps=6"});
  EXPECT_EQ(resumed.code, 0);
  expect_named(resumed.err, {"model.n_layr", "config.toml.aside"});
  EXPECT_EQ(contents(here / "run/config.toml.aside"), edited);
  EXPECT_TRUE(contains(contents(here / "run/config.toml"), "max_steps = 6"));
}

TEST(Workflow, ForeignLinesInMetricsAreReportedAndKept) {
  const Workspace here;
  here.train("run", {"train.max_steps=4"});
  const std::string own = contents(here / "run/metrics.jsonl");
  const std::string noted = own + "{\"event\":\"note\",\"text\":\"warmer here\"}\n";
  here.write("run/metrics.jsonl", noted);
  const Outcome resumed = here.run({"resume", "run", "--set", "train.max_steps=6"});
  expect_named(resumed.err, {"run/metrics.jsonl", "1", "metrics.jsonl.aside"});
  EXPECT_EQ(contents(here / "run/metrics.jsonl.aside"), noted);
  EXPECT_TRUE(contents(here / "run/metrics.jsonl").starts_with(own));

  std::filesystem::remove(here / "run/metrics.jsonl");
  const Outcome anew = here.run({"resume", "run", "--set", "train.max_steps=8"});
  expect_named(anew.err, {"run/metrics.jsonl", " 6 "});
  EXPECT_FALSE(contains(here.run({"resume", "run", "--set", "train.max_steps=9"}).err, "metrics.jsonl"));
}

TEST(Workflow, AConfigurationThatIsAFifoIsNotWaitedFor) {
  const Workspace here;
  here.train("run", {"train.max_steps=4"});
  std::filesystem::remove(here / "run/config.toml");
  ASSERT_EQ(::mkfifo((here / "run/config.toml").c_str(), 0600), 0);
  const Outcome outcome = here.run({"resume", "run", "--set", "train.max_steps=6"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
}

TEST(Workflow, ThreadsChangeNoBit) {
  const Workspace here;
  here.train("two");
  EXPECT_EQ(here.run({"train", "--config", "tiny.toml", "--out", "one"}, {.environment = {{"OMP_NUM_THREADS", "1"}}}).code, 0);
  const Outcome three = here.run({"train", "--config", "tiny.toml", "--out", "three", "--threads", "3"});
  EXPECT_EQ(three.code, 0);
  EXPECT_EQ(here.log("three").front()["threads"], 3) << three.err;
  for (const char* other : {"one", "three"}) {
    EXPECT_EQ(here.checkpoint(other, 20), here.checkpoint("two", 20)) << other;
    EXPECT_EQ(here.timeless_metrics(other), here.timeless_metrics("two")) << other;
  }
}

}  // namespace
}  // namespace dikkat::testing
