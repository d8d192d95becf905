#include "tests/train/cli/workspace.h"

// Sweeps of real runs.
namespace dikkat::testing {
namespace {

constexpr const char* kFinalist = "optim.learning_rate=0.01";

/// Three rates, one of which continues after 7 of 20 steps and then runs with both seeds.
Words sweep(const std::string& out, const Words& rest = {}) {
  Words words = {"sweep", "--config", "tiny.toml", "--vary", "optim.learning_rate=1e-4,1e-2,1e-5", "--seeds", "1,2", "--out", out};
  words.insert(words.end(), rest.begin(), rest.end());
  return words;
}
Words resumed(const std::string& out) { return {"sweep", "--resume", out, "--json"}; }

/// The output of --json, without times.
Json timeless(const Outcome& outcome) {
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  Json object = Json::parse(outcome.out, nullptr, false);
  EXPECT_TRUE(object.is_object()) << outcome.out << outcome.err;
  object.erase("out");
  for (Json& row : object["combinations"]) {
    row.erase("seconds");
  }
  return object;
}

std::vector<Json> results(const Workspace& here, const std::string& out) {
  std::vector<Json> lines;
  std::istringstream text(contents(here / out / "results.jsonl"));
  for (std::string line; std::getline(text, line);) {
    lines.push_back(Json::parse(line, nullptr, false));
    lines.back().erase("seconds");
  }
  return lines;
}

std::string run_of(const std::string& out, int seed) { return out + "/" + kFinalist + ",seed=" + std::to_string(seed); }

TEST(Sweep, ComparesAllCombinationsAndNamesTheBest) {
  const Workspace here;
  const Json found = timeless(here.run(sweep("out", {"--json"})));
  EXPECT_EQ(found["best"], kFinalist);
  EXPECT_EQ(found["complete"], true);
  EXPECT_EQ(found["rungs"], Json({7}));
  const Json& rows = found["combinations"];
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0]["state"], "finished");
  EXPECT_EQ(rows[0]["seeds"], Json({1, 2}));
  EXPECT_EQ(rows[0]["steps"], 20);
  EXPECT_EQ(rows[1]["state"], "stopped");
  EXPECT_EQ(rows[1]["rung"], 1);
  EXPECT_EQ(rows[1]["steps"], 7);
  EXPECT_EQ(rows[1]["seeds"], Json({1}));
  EXPECT_GT(rows[0]["val_standard_error"], 0.0) << "the seeds differ";
  EXPECT_EQ(results(here, "out").size(), 5U);
  for (const int seed : {1, 2}) {
    EXPECT_NE(here.checkpoint(run_of("out", seed), 20), "");
  }
}

TEST(Sweep, ARunInLegsIsTheRunThatTrainMakes) {
  const Workspace here;
  here.write("tiny.toml", std::string(kTinyConfig).replace(std::string(kTinyConfig).find("keep_last"), 13, ""));
  EXPECT_EQ(here.run(sweep("out")).code, 0);
  const Outcome whole = here.run({"train", "--config", "out/best.toml", "--out", "whole"});
  EXPECT_EQ(whole.code, 0) << whole.err;
  const auto steps = [&](const std::string& run) {
    std::vector<Json> objects = here.timeless_metrics(run);
    std::erase_if(objects, [](const Json& object) { return object["event"] == "eval" && object["step"] == 7; });
    return objects;
  };
  const std::vector<Json> of_train = steps("whole");
  std::vector<Json> of_sweep = steps(run_of("out", 1));
  EXPECT_EQ(of_sweep.size(), 24U);
  std::size_t kept = 0;
  for (const auto& file : std::filesystem::directory_iterator(here / run_of("out", 1) / "checkpoints")) {
    kept += file.path().extension() == ".h5" ? 1 : 0;
  }
  EXPECT_LE(kept, 2U) << "the last and the best, unless train.keep_last is given";
  EXPECT_EQ(of_sweep, of_train);
}

TEST(Sweep, PrintsATable) {
  const Workspace here;
  const Outcome outcome = here.run(sweep("out"));
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  std::istringstream table(outcome.out);
  std::string head, first, second;
  std::getline(table, head);
  std::getline(table, first);
  std::getline(table, second);
  EXPECT_TRUE(first.starts_with(kFinalist)) << outcome.out;
  expect_named(first, {" 2/2 ", " 20 "});
  expect_named(second, {" 1/2 ", " 7 ", "* "});
  expect_named(outcome.err, {"1, 2", "step 7", "step 20", " 1 of 5 ", "dikkat train --config out/best.toml"});
}

TEST(Sweep, KilledAgainAndAgainItEndsInTheSameTableAndTheSameBits) {
  const Workspace here;
  const Json whole = timeless(here.run(sweep("whole", {"--json"})));
  bool ended = false;
  for (const long wanted : {3, 14, 22, 33, 38, 50, 60}) {  // of 67 lines in all: in each of the five legs
    Program program(here.here(ended ? resumed("out") : sweep("out")));
    program.until([&] {
      std::error_code none;
      long lines = 0;
      for (std::filesystem::directory_iterator run(here / "out", none), end; !none && run != end; run.increment(none)) {
        lines += here.metric_lines("out/" + run->path().filename().string());
      }
      return lines >= wanted;
    });
    program.send(SIGKILL);
    program.wait();
    ended = std::filesystem::exists(here / "out" / "sweep.json");
  }
  EXPECT_EQ(timeless(here.run(resumed("out"))), whole);
  EXPECT_EQ(results(here, "out"), results(here, "whole"));
  for (const int seed : {1, 2}) {
    EXPECT_TRUE(here.checkpoint(run_of("out", seed), 20) == here.checkpoint(run_of("whole", seed), 20)) << "checkpoints differ";
  }
}

TEST(Sweep, AnInterruptStopsItAndTheSameCommandContinues) {
  const Workspace here;
  const Json whole = timeless(here.run(sweep("whole", {"--json"})));
  {
    Program program(here.here(sweep("out")));
    const std::string run = "out/optim.learning_rate=1e-4,seed=1";
    ASSERT_TRUE(program.until([&] { return here.metric_lines(run) >= 2; }));
    program.send(SIGINT);
    const Outcome stopped = program.wait();
    EXPECT_EQ(stopped.code, 130) << stopped.err;
    expect_named(stopped.err, {"dikkat sweep --resume out"});
    expect_named(stopped.out, {"optim.learning_rate=1e-4", " 0/2 "});
  }
  EXPECT_EQ(timeless(here.run(sweep("out", {"--json"}))), whole);
}

TEST(Sweep, AFinishedOneIsReportedAgainAndNotRepeated) {
  const Workspace here;
  const Json whole = timeless(here.run(sweep("out", {"--json"})));
  const auto before = here.tree();
  EXPECT_EQ(timeless(here.run(resumed("out"))), whole);
  EXPECT_EQ(here.tree(), before);
}

/// A sweep in which weights overflow if the rate is near 1.
Words violent(const std::string& vary, const Words& rest = {}) {
  Words words = {"sweep",
                 "--config",
                 "tiny.toml",
                 "--vary",
                 vary,
                 "--out",
                 "out",
                 "--set",
                 "optim.weight_decay=10",
                 "optim.warmup_steps=0",
                 "optim.schedule=constant",
                 "optim.grad_clip=0",
                 "train.max_steps=100"};
  words.insert(words.end(), rest.begin(), rest.end());
  return words;
}

TEST(Sweep, ARunThatDivergesIsRecordedAndTheOthersContinue) {
  const Workspace here;
  const Outcome outcome = here.run(violent("optim.learning_rate=1,1e-2", {"--json"}));
  const Json found = timeless(outcome);
  EXPECT_EQ(found["best"], kFinalist);
  const Json& failed = found["combinations"][1];
  EXPECT_EQ(failed["state"], "failed");
  expect_named(failed["failure"], {"step ", " h."});
  EXPECT_EQ(found["combinations"][0]["state"], "finished");
  expect_named(outcome.err, {failed["failure"]});
  EXPECT_EQ(timeless(here.run(resumed("out"))), found) << "it is not run again";
}

TEST(Sweep, FailsIfAllRunsDiverge) {
  const Workspace here;
  const Outcome outcome = here.run(violent("optim.learning_rate=1,0.9"));
  EXPECT_EQ(outcome.code, 1);
  EXPECT_TRUE(contains(outcome.err, "dikkat: ")) << outcome.err;
  EXPECT_FALSE(std::filesystem::exists(here / "out" / "best.toml"));
}

TEST(Sweep, ABudgetEndsIt) {
  const Workspace here;
  const Outcome outcome = here.run({"sweep", "--config", "tiny.toml", "--vary", "model.n_layer=1,2", "--set", "train.max_steps=1000000",
                                    "train.eval_interval=1000000", "--budget", "3s", "--out", "out", "--json"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  expect_named(outcome.err, {"dikkat sweep --resume out --budget 3s"});
  const Json rows = Json::parse(outcome.out)["combinations"];
  EXPECT_EQ(rows[0]["state"], "unfinished");
  EXPECT_EQ(rows[1]["state"], "waiting");
  const Json last = here.log("out/model.n_layer=1").back();
  EXPECT_EQ(last["reason"], "budget");
  EXPECT_EQ(rows[0]["steps"], last["step"]);
  EXPECT_GT(rows[0]["steps"], 0);
  EXPECT_EQ(here.run({"verify", "out/model.n_layer=1"}).code, 0) << "it is saved";
}

TEST(Sweep, ABudgetWithoutAStepIsRefused) {
  const Workspace here;
  const Words begin = {"sweep", "--config", "tiny.toml", "--vary", "model.n_layer=1,2", "--out", "out", "--json"};
  Words small = begin;
  small.insert(small.end(), {"--budget", "0.000001s"});
  const Outcome refused = here.run(small);
  EXPECT_EQ(refused.code, 2);
  EXPECT_EQ(refused.out, "");
  expect_named(refused.err, {"--budget", "0.000001s", "out"});
  EXPECT_EQ(here.run(begin).code, 0) << "the sweep continues";
}

TEST(Sweep, ADerivedKeyFollowsTheOneThatVaries) {
  const Workspace here;
  EXPECT_EQ(here.run(sweep("out")).code, 0);
  EXPECT_TRUE(contains(contents(here / run_of("out", 1) / "config.toml"), "# min_lr = 0.001 "))
      << contents(here / run_of("out", 1) / "config.toml");
}

TEST(Sweep, NamesAllCombinationsThatCannotRun) {
  const Workspace here;
  const auto vary = [](const std::string& values) { return Words{"sweep", "--config", "tiny.toml", "--out", "new", "--vary", values}; };
  expect_refused(here, vary("model.n_head=2,3,5"), {"model.n_head=3", "model.n_head=5", "model.n_embd", " 16"});
  expect_refused(here, vary("model.block_size=8,100000,200000"),
                 {"model.block_size=100000", " 100001 ", "model.block_size=200000", " 200001 "});
}

TEST(Sweep, NotesThatCombinationsPredictFromOtherContexts) {
  const Workspace here;
  const auto lines = [&](const std::string& out, const std::string& varied, const std::string& value) {
    const Outcome outcome = here.run({"sweep", "--config", "tiny.toml", "--vary", varied, "--no-halving", "--out", out, "--set",
                                      "train.max_steps=1", "optim.warmup_steps=0"});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    std::size_t notes = 0;
    for (const std::string& line : lines_with(outcome.err, value)) {
      notes += contains(line, "contexts") ? 1 : 0;
    }
    return notes;
  };
  EXPECT_EQ(lines("windows", "model.block_size=12,24", "model.block_size=24"), 1U);
  EXPECT_EQ(lines("layers", "model.n_layer=1,2", "model.n_layer=2"), 0U);
}

// The sweep looks as if it had been stopped after its first run.
TEST(Sweep, RefusesToChooseIfTheTextHasChangedBetweenItsRuns) {
  const Workspace here;
  const Words words = {
      "sweep", "--config",          "tiny.toml",           "--vary", "optim.learning_rate=1e-3,1e-2", "--no-halving", "--out", "out",
      "--set", "train.max_steps=2", "optim.warmup_steps=0"};
  ASSERT_EQ(here.run(words).code, 0);
  const std::string lines = contents(here / "out/results.jsonl");
  here.write("out/results.jsonl", lines.substr(0, lines.find('\n') + 1));
  ASSERT_GT(std::filesystem::remove_all(here / "out/optim.learning_rate=0.01"), 0U);
  here.write("text.txt", tiny_text(700));
  for (const char* when : {"when the second run has ended", "before anything is done"}) {
    const Outcome refused = here.run({"sweep", "--resume", "out"});
    EXPECT_EQ(refused.code, 2) << when;
    expect_named(refused.err, {"tokens"});
    EXPECT_EQ(refused.out, "") << when;
  }
}

TEST(Sweep, RefusesAnotherGrid) {
  const Workspace here;
  EXPECT_EQ(here.run(sweep("out")).code, 0);
  expect_refused(here, {"sweep", "--resume", "out", "--vary", "model.n_layer=1,2"}, {"--vary", "--resume"});
  expect_refused(here, sweep("out", {"--set", "train.batch_size=6"}), {"train.batch_size", " 5", " 6", "dikkat sweep --resume out"});
  expect_refused(here, sweep("out", {"--vary", "model.n_layer=1,2"}), {kFinalist, "model.n_layer=1", "dikkat sweep --resume out"});
  expect_refused(here, sweep("out", {"--no-halving"}), {" 3", "dikkat sweep --resume out"});
}

}  // namespace
}  // namespace dikkat::testing
