#include "tests/train/cli/workspace.h"

// Sweeps of real runs.
namespace dikkat::testing {
namespace {

constexpr const char* kFinalist = "optim.learning_rate=0.01";

/// Three rates, of which one goes on after 7 of 20 steps and then runs with both seeds.
Words sweep(const std::string& out, const Words& rest = {}) {
  Words words = {"sweep", "--config", "tiny.toml", "--vary", "optim.learning_rate=1e-4,1e-2,1e-5", "--seeds", "1,2", "--out", out};
  words.insert(words.end(), rest.begin(), rest.end());
  return words;
}
Words resumed(const std::string& out) { return {"sweep", "--resume", out, "--json"}; }

/// What --json prints, without what the clock says.
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

TEST(Sweep, PrintsATableAndKeepsWordsOnStandardError) {
  const Workspace here;
  const Outcome outcome = here.run(sweep("out"));
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  std::istringstream table(outcome.out);
  std::string head, first, second;
  std::getline(table, head);
  std::getline(table, first);
  std::getline(table, second);
  EXPECT_TRUE(head.starts_with("combination")) << outcome.out;
  EXPECT_TRUE(first.starts_with(kFinalist) && contains(first, " 2/2 ") && contains(first, "finished")) << outcome.out;
  EXPECT_TRUE(contains(second, " 1/2 ") && contains(second, "stopped at rung 1") && contains(second, "* ")) << outcome.out;
  for (const char* word : {"sweep     3 combinations, seeds 1, 2", "halving   3 combinations to step 7, 1 to step 20 with all seeds",
                           "at most, for 4 runs in 5 legs", "leg 1 of 5 at most", "dikkat train --config out/best.toml"}) {
    EXPECT_TRUE(contains(outcome.err, word)) << word << "\n" << outcome.err;
  }
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

TEST(Sweep, AnInterruptStopsInOrderAndTheSameCommandContinues) {
  const Workspace here;
  const Json whole = timeless(here.run(sweep("whole", {"--json"})));
  {
    Program program(here.here(sweep("out")));
    const std::string run = "out/optim.learning_rate=1e-4,seed=1";
    ASSERT_TRUE(program.until([&] { return here.metric_lines(run) >= 2; }));
    program.send(SIGINT);
    const Outcome stopped = program.wait();
    EXPECT_EQ(stopped.code, 130) << stopped.err;
    EXPECT_TRUE(contains(stopped.err, "continue with: dikkat sweep --resume out")) << stopped.err;
    EXPECT_TRUE(stopped.out.starts_with("combination")) << stopped.out;
  }
  EXPECT_EQ(timeless(here.run(sweep("out", {"--json"}))), whole);
}

TEST(Sweep, AFinishedOneIsToldAgainAndNotRepeated) {
  const Workspace here;
  const Json whole = timeless(here.run(sweep("out", {"--json"})));
  const auto before = here.tree();
  EXPECT_EQ(timeless(here.run(resumed("out"))), whole);
  EXPECT_EQ(here.tree(), before);
}

/// Weights grow beyond all numbers where the rate is near 1.
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

TEST(Sweep, ARunThatDivergesIsRecordedAndTheOthersGoOn) {
  const Workspace here;
  const Outcome outcome = here.run(violent("optim.learning_rate=1,1e-2", {"--json"}));
  const Json found = timeless(outcome);
  EXPECT_EQ(found["best"], kFinalist);
  const Json& failed = found["combinations"][1];
  EXPECT_EQ(failed["state"], "failed");
  EXPECT_TRUE(contains(failed["failure"], "step ") && contains(failed["failure"], "not finite")) << failed;
  EXPECT_TRUE(contains(outcome.err, "the sweep goes on")) << outcome.err;
  EXPECT_EQ(timeless(here.run(resumed("out"))), found) << "it is not run again";
}

TEST(Sweep, WhereAllDivergeItFails) {
  const Workspace here;
  const Outcome outcome = here.run(violent("optim.learning_rate=1,0.9"));
  EXPECT_EQ(outcome.code, 1);
  EXPECT_TRUE(contains(outcome.err, "every run failed")) << outcome.err;
  EXPECT_FALSE(std::filesystem::exists(here / "out" / "best.toml"));
}

TEST(Sweep, ABudgetEndsItInOrder) {
  const Workspace here;
  const Outcome outcome = here.run({"sweep", "--config", "tiny.toml", "--vary", "model.n_layer=1,2", "--set", "train.max_steps=1000000",
                                    "train.eval_interval=1000000", "--budget", "3s", "--out", "out"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(contains(outcome.err, "the budget of 3s is used up")) << outcome.err;
  EXPECT_TRUE(contains(outcome.err, "dikkat sweep --resume out --budget 3s")) << outcome.err;
  EXPECT_TRUE(contains(outcome.out, "unfinished") && contains(outcome.out, "waiting")) << outcome.out;
  EXPECT_EQ(here.log("out/model.n_layer=1").back()["reason"], "budget");
  EXPECT_EQ(here.run({"verify", "out/model.n_layer=1"}).code, 0) << "it is saved";
}

TEST(Sweep, ADerivedKeyFollowsTheOneThatVaries) {
  const Workspace here;
  EXPECT_EQ(here.run(sweep("out")).code, 0);
  EXPECT_TRUE(contains(contents(here / run_of("out", 1) / "config.toml"), "# min_lr = 0.001 "))
      << contents(here / run_of("out", 1) / "config.toml");
}

/// Words that the sweep is refused with, before anything is written.
void expect_refused(const Workspace& here, const Words& rest, const Words& words) {
  Words arguments = {"sweep", "--config", "tiny.toml", "--out", "new"};
  arguments.insert(arguments.end(), rest.begin(), rest.end());
  const auto before = here.tree();
  const Outcome outcome = here.run(arguments);
  EXPECT_EQ(outcome.code, 2) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  for (const std::string& word : words) {
    EXPECT_TRUE(contains(outcome.err, word)) << word << "\n" << outcome.err;
  }
  EXPECT_TRUE(here.tree() == before) << "something was written";
}

TEST(Sweep, RefusesBadInput) {
  const Workspace here;
  here.write("pictures/cat.png", "cat");
  const Words rates = {"--vary", "optim.learning_rate=1e-3,2e-3"};
  const auto with = [&](const Words& rest) {
    Words words = rates;
    words.insert(words.end(), rest.begin(), rest.end());
    return words;
  };
  expect_refused(here, {}, {"nothing varies, expected --vary"});
  expect_refused(here, {"--vary", "optim.learning_rte=1"}, {"unknown key optim.learning_rte", "did you mean"});
  expect_refused(here, {"--vary", "optim.learning_rate=1e-3,fast"}, {"optim.learning_rate is \"fast\"", "expected a number"});
  expect_refused(here, {"--vary", "data.val_fraction=0.1,0.2"}, {"cannot be compared"});
  expect_refused(here, with({"--set", "optim.learning_rate=1"}), {"optim.learning_rate is given by --set and varied by --vary"});
  expect_refused(here, with({"--seeds", "1,1"}), {"1 is given twice"});
  expect_refused(here, with({"--eta", "1"}), {"--eta is 1, expected an integer from 2"});
  for (const char* budget : {"soon", "0s", "-3m", "10", "nanh", "1e9h", "3 m"}) {
    expect_refused(here, with({std::string("--budget=") + budget}), {"--budget is", "expected a time such as"});
  }
  expect_refused(here, with({"--set", "data.val_fraction=0"}), {"compares validation losses"});
  expect_refused(here, with({"--corpus", "-"}), {"the corpus is standard input"});
  expect_refused(here, {"--vary", "train.max_steps=10,20"}, {"add --no-halving"});
  expect_refused(here, with({"--out", "again"}), {"--out takes one value, once"});
}

TEST(Sweep, ListsAllCombinationsThatCannotRun) {
  const Workspace here;
  expect_refused(here, {"--vary", "model.n_head=2,3,5"}, {"model.n_head=3: model.n_embd is 16", "model.n_head=5: model.n_embd is 16"});
  expect_refused(here, {"--vary", "model.block_size=8,100000,200000"},
                 {"model.block_size=100000: ", "model.block_size=200000: ", "tokens, expected at least"});
  const Outcome missing =
      here.run({"sweep", "--config", "tiny.toml", "--corpus", "nowhere.txt", "--vary", "model.n_layer=1,2", "--out", "new"});
  EXPECT_EQ(missing.code, 2);
  const std::size_t first = missing.err.find("nowhere.txt does not exist");
  EXPECT_NE(first, std::string::npos) << missing.err;
  EXPECT_EQ(missing.err.find("nowhere.txt does not exist", first + 1), std::string::npos) << "it is told once: " << missing.err;
}

TEST(Sweep, RefusesAnotherFolderAndAnotherGrid) {
  const Workspace here;
  here.write("pictures/cat.png", "cat");
  EXPECT_EQ(here.run(sweep("out")).code, 0);
  const auto before = here.tree();
  const auto refused = [&](const Words& arguments, const std::string& word) {
    const Outcome outcome = here.run(arguments);
    EXPECT_EQ(outcome.code, 2) << word;
    EXPECT_TRUE(contains(outcome.err, word)) << word << "\n" << outcome.err;
  };
  refused(sweep("pictures"), "pictures is not empty");
  refused(sweep("text.txt"), "text.txt is a file");
  refused({"sweep", "--resume", "pictures"}, "pictures is not the folder of a sweep");
  refused({"sweep", "--resume", "nowhere"}, "nowhere is not the folder of a sweep");
  refused({"sweep", "--resume", "out", "--vary", "model.n_layer=1,2"}, "--vary does not go with --resume");
  refused(sweep("out", {"--set", "train.batch_size=6"}), "out has another sweep: its train.batch_size is 5, not 6");
  refused(sweep("out", {"--vary", "model.n_layer=1,2"}), "out has another sweep: it has 3 combinations");
  refused(sweep("out", {"--no-halving"}), "it has eta 3, not no halving");
  EXPECT_TRUE(here.tree() == before) << "something was changed";
}

}  // namespace
}  // namespace dikkat::testing
