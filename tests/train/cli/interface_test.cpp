#include <algorithm>
#include <regex>
#include <sstream>

#include <sys/stat.h>

#include "tests/train/cli/terminal.h"
#include "tests/train/cli/workspace.h"

// The program as a person sees it.
namespace dikkat::testing {
namespace {

/// The final contents of a terminal of unlimited height. `widest` is the longest line that it ever showed. The only cursor movements are
/// \r,
///  and erasing to the end of the line.
struct Screen {
  std::vector<std::string> lines = {""};
  std::size_t widest = 0;

  explicit Screen(const std::string& written) {
    std::size_t column = 0;
    for (std::size_t i = 0; i < written.size(); ++i) {
      std::string& line = lines.back();
      if (written[i] == '\n') {
        lines.emplace_back();
        column = 0;
      } else if (written[i] == '\r') {
        column = 0;
      } else if (written.compare(i, 3, "\x1b[K") == 0) {
        line.resize(column);
        i += 2;
      } else {
        line.resize(std::max(line.size(), column + 1));
        line[column++] = written[i];
      }
      widest = std::max(widest, column);
    }
  }
  long count(const std::string& pattern) const {
    return std::count_if(lines.begin(), lines.end(), [&](const std::string& line) { return std::regex_search(line, std::regex(pattern)); });
  }
};

class TerminalOf : public ::testing::TestWithParam<unsigned short> {};

TEST_P(TerminalOf, TrainingFitsAndKeepsALineEveryLogInterval) {
  const Workspace here;
  Terminal terminal(GetParam());
  Program program(here.here({"train", "--config", "tiny.toml", "--out", "run", "--set", "train.max_steps=300", "train.log_interval=50"},
                            {.err = terminal.name()}));
  program.until([&] {
    terminal.shown();  // it reads all the time: a terminal's buffer is small
    return false;
  });
  const Outcome ended = program.wait();
  EXPECT_EQ(ended.code, 0);
  const Screen screen(terminal.shown());
  const std::size_t longest_word = (here / "text.txt").string().size();
  EXPECT_LE(screen.widest, std::max<std::size_t>(GetParam(), longest_word)) << "the text is not wrapped by the terminal";
  constexpr int kEvalInterval = 6;
  for (const int step : {1, 50, 100, 150, 200, 250, 300}) {
    EXPECT_EQ(screen.count("\\b" + std::to_string(step) + "/300\\b"), step % kEvalInterval == 0 ? 2 : 1) << step;
  }
  EXPECT_EQ(screen.count("\\b\\d+/300\\b"), 7 + 300 / kEvalInterval) << "no other step stays";
  EXPECT_EQ(screen.lines.back(), "");
  const auto live = std::count(terminal.shown().begin(), terminal.shown().end(), '\r');
  EXPECT_GT(live, 7) << "a line moves meanwhile";
}

INSTANTIATE_TEST_SUITE_P(Interface, TerminalOf, ::testing::Values(80, 40), ::testing::PrintToStringParamName());

TEST(Interface, QuietPrintsOnlyResultsWarningsAndErrors) {
  const Workspace here;
  const Outcome trained = here.run({"--quiet", "train", "--config", "tiny.toml", "--out", "run", "--set", "train.max_steps=6"});
  EXPECT_EQ(trained.code, 0);
  EXPECT_EQ(trained.out, "run\n");
  EXPECT_EQ(trained.err, "");
  const Outcome crowded =
      here.run({"train", "--quiet", "--threads", "999", "--config", "tiny.toml", "--out", "again", "--set", "train.max_steps=1"});
  expect_named(crowded.err, {"999", "--threads"});
  const Outcome sampled = here.run({"sample", "run", "--quiet", "--prompt", "the ", "--max-new-tokens", "40"});
  EXPECT_EQ(sampled.err, "") << "not even of a text that outgrew the context";
}

// OpenMP's runtime then binds the first thread to one core before main() begins; the program starts itself once more from there.
TEST(Interface, ThreadsThatAreBoundToCoresUseAllOfThem) {
  const Workspace here;
  const auto threads_with = [&](const std::string& setting) {
    const std::string command = "cd " + here.path() + " && env -u OMP_NUM_THREADS -u GOMP_SPINCOUNT -u KMP_BLOCKTIME " + setting +
                                " " DIKKAT_PROGRAM " train --config tiny.toml --quiet --set train.max_steps=1 --out " + setting + " >out";
    EXPECT_EQ(std::system(command.c_str()), 0);  // NOLINT(cert-env33-c,concurrency-mt-unsafe)
    return here.log(setting).front()["threads"].get<int>();
  };
  EXPECT_EQ(threads_with("OMP_PROC_BIND=true"), threads_with("OMP_PROC_BIND=false"));
}

TEST(Interface, VerifyGivesJson) {
  const Workspace here;
  here.train("run", {"train.max_steps=8"});
  const Outcome good = here.run({"verify", "run", "--json"});
  EXPECT_EQ(good.code, 0);
  const Json all = Json::parse(good.out);
  EXPECT_EQ(all["good"], true);
  EXPECT_EQ(all["checkpoints"].back()["step"], 8);
  EXPECT_EQ(all["checkpoints"].back()["hash"].get<std::string>().size(), 64U);

  std::string file = here.checkpoint("run", 8);
  file[file.size() / 2] = static_cast<char>(file[file.size() / 2] ^ 1);
  here.write("run/checkpoints/step-000000008.h5", file);
  const Outcome damaged = here.run({"verify", "run", "--json"});
  EXPECT_EQ(damaged.code, 2);
  const Json found = Json::parse(damaged.out);
  EXPECT_EQ(found["good"], false);
  EXPECT_EQ(found["checkpoints"].size(), all["checkpoints"].size());
  const Json& bad = found["checkpoints"].back();
  EXPECT_EQ(bad["good"], false);
  EXPECT_TRUE(contains(bad["error"], "step-000000008.h5")) << bad;
}

TEST(Interface, UsesTheBestCheckpointByDefault) {
  const Workspace here;
  here.train("run", {"train.max_steps=18"});
  here.write("run/checkpoints/best", "step-000000016.h5\n");  // as after overfitting
  const auto step_of_eval = [&](const Words& more) {
    Words words = {"eval", "run", "--json"};
    words.insert(words.end(), more.begin(), more.end());
    return Json::parse(here.run(words).out)["step"].get<int>();
  };
  // Each command takes the best checkpoint, unless told otherwise, and reports its choice.
  EXPECT_EQ(step_of_eval({}), 16);
  EXPECT_EQ(step_of_eval({"--best"}), 16);
  EXPECT_EQ(step_of_eval({"--newest"}), 18);
  const auto expect_choice = [&](const Words& command) { expect_named(here.run(command).err, {"step 16", "--newest", "step 18"}); };
  for (const Words& command :
       {Words{"sample", "run", "--max-new-tokens", "1"}, Words{"eval", "run"}, Words{"export", "run", "--out", "hf"}}) {
    expect_choice(command);
    std::filesystem::remove_all(here / "hf");
    for (const char* choice : {"--best", "--newest"}) {
      Words chosen = command;
      chosen.emplace_back(choice);
      EXPECT_FALSE(contains(here.run(chosen).err, "--newest")) << "it was chosen";
      std::filesystem::remove_all(here / "hf");
    }
  }
  EXPECT_FALSE(contains(here.run({"eval", "run/checkpoints/step-000000016.h5"}).err, "--newest")) << "a file is used directly";
  // A best checkpoint that is missing is an error.
  here.write("run/checkpoints/best", "step-000000004.h5\n");
  expect_refused(here, {"eval", "run"}, {"step-000000004.h5", "--newest", "step 18"});
  here.write("run/checkpoints/best", "step-000000016.h5\n");
  std::filesystem::remove(here / "run/metrics.jsonl");
  ASSERT_EQ(::mkfifo((here / "run/metrics.jsonl").c_str(), 0600), 0);
  expect_choice({"eval", "run"});  // the command does not wait for the FIFO
  // Runs whose newest checkpoint is the best, and runs without an evaluation, need no choice.
  here.train("better", {"train.max_steps=6"});
  EXPECT_FALSE(contains(here.run({"eval", "better"}).err, "--newest")) << "the newest is the best";
  here.train("unmeasured", {"train.max_steps=6", "data.val_fraction=0"});
  EXPECT_EQ(here.run({"eval", "unmeasured", "--corpus", "text.txt"}).code, 0) << "without an evaluation the newest";
  EXPECT_EQ(here.run({"eval", "unmeasured", "--corpus", "text.txt", "--best"}).code, 2) << "there is no best one";
}

TEST(Interface, ReportsTheLossOfTheBestCheckpoint) {
  const Workspace here;
  here.train("run", {"train.max_steps=20", "train.keep_last=9"});
  here.write("run/checkpoints/best", "step-000000018.h5\n");
  double loss = 0;
  for (const Json& line : here.metrics("run")) {
    loss = line["event"] == "eval" && line["step"] == 18 ? line["val_loss"].get<double>() : loss;
  }
  expect_named(here.run({"eval", "run"}).err, {"step 18", fixed(loss, 4), "--newest"});
}

TEST(Interface, PlansRunsThatDoNotFit) {
  const Workspace here;
  const Outcome planned = here.run({"plan", "--config", "tiny.toml", "--set", "model.n_embd=1000000", "model.n_head=10"});
  EXPECT_EQ(planned.code, 2);
  expect_named(planned.out, {" TB"});
  expect_named(planned.err, {" TB", "model.n_embd"});
  EXPECT_FALSE(contains(planned.err, "batch_size")) << planned.err;
}

TEST(Interface, ADiskThatIsTooSmallForTheWholeRunIsAWarningBeforeItBegins) {
  const Workspace here;
  const auto warns = [](const Outcome& outcome) { return contains(outcome.err, "train.keep_last"); };
  const Words all = {"train.keep_last=1000000", "model.n_embd=256", "train.max_steps=1"};  // 19 TB
  EXPECT_TRUE(warns(here.run({"plan", "--config", "tiny.toml", "--set", all[0], all[1]})));
  EXPECT_TRUE(warns(here.train("run", all)));
  EXPECT_FALSE(warns(here.run({"resume", "run", "--set", "train.max_steps=2"}))) << "it has some of its checkpoints already";
  EXPECT_FALSE(warns(here.train("modest", {"train.max_steps=1"})));
}

TEST(Interface, EvaluationSkipsAndCountsUnknownCharactersWhenAsked) {
  const Workspace here;
  here.train("run", {"train.max_steps=1", "tokenizer.kind=char"});
  here.write("known.txt", "the lamp turns and ships go by at night. the lamp turns and ships go by.");
  here.write("foreign.txt", "the lamp é turns and ships go ü by at night. the é lamp turns and ships go by.");
  expect_refused(here, {"eval", "run", "--corpus", "foreign.txt"}, {"/foreign.txt", "--unknown skip"});
  const Outcome skipped = here.run({"eval", "run", "--corpus", "foreign.txt", "--unknown", "skip", "--json"});
  EXPECT_EQ(skipped.code, 0) << skipped.err;
  expect_named(skipped.err, {" 3 ", "é", "ü"});
  EXPECT_TRUE(Json::parse(skipped.out)["bits_per_byte"].is_null()) << "its tokens do not cover all bytes";
  EXPECT_EQ(Json::parse(skipped.out)["tokens"],
            Json::parse(here.run({"eval", "run", "--corpus", "known.txt", "--json"}).out)["tokens"].get<int>() + 3)
      << "the blanks beside them are known";
  EXPECT_EQ(here.run({"eval", "run", "--corpus", "known.txt", "--unknown", "skip"}).out,
            here.run({"eval", "run", "--corpus", "known.txt"}).out);
}

TEST(Interface, TheVersionHasTheFactsThatAReportNeeds) {
  const Outcome version = run({.arguments = {"--version", "--verbose"}});
  EXPECT_EQ(version.code, 0);
  for (const char* line : {"\ncommit +([0-9a-f]{12}|unknown)", "\ncompiler +(gcc|clang) \\S", "\nflags +-O", "\ninstructions +\\S",
                           "\nlibraries +TBB .*HDF5 ", "\nMPI +(none|Open MPI|MPICH)"}) {
    EXPECT_TRUE(std::regex_search(version.out, std::regex(line))) << line << version.out;
  }
}

TEST(Interface, ASmallStackIsRaisedOrRefused) {
  const Workspace here;
  const auto train_with = [&](const std::string& limit, const std::string& out) {
    const std::string program = "exec " DIKKAT_PROGRAM " train --config tiny.toml --out " + out + " > out.txt 2> err.txt";
    return std::system(("cd " + here.path() + " && ulimit " + limit + " && " + program).c_str());
  };
  EXPECT_EQ(train_with("-S -s 64", "raised"), 0) << contents(here / "err.txt");
  const int fixed = train_with("-s 64", "fixed");  // only root may raise this one
  ASSERT_TRUE(WIFEXITED(fixed)) << fixed;
  if (WEXITSTATUS(fixed) != 0) {
    EXPECT_EQ(WEXITSTATUS(fixed), 2);
    expect_named(contents(here / "err.txt"), {"64 KiB", "ulimit -s"});
  }
}

TEST(Interface, OnlyTheFirstProcessPrintsAnErrorThatAllHave) {
  const Workspace here;
  const auto start = [&](const Words& arguments, const char* rank) {
    return here.run(arguments, {.environment = {{"OMPI_COMM_WORLD_SIZE", "2"},
                                                {"OMPI_COMM_WORLD_RANK", rank},
                                                {"OMPI_COMM_WORLD_LOCAL_RANK", rank},
                                                {"DIKKAT_TRANSPORT", "/missing/transport.so"}}});
  };
  const Words teach = {"teach", "run", "--data", "text.txt", "--out", "taught"};
  const Outcome first = start(teach, "0"), second = start(teach, "1");
  EXPECT_EQ(first.code, 2);
  expect_named(first.err, {"dikkat: ", "dikkat teach"});
  EXPECT_EQ(second.code, 0) << "mpirun would kill the first one";
  EXPECT_EQ(second.err, "");
  // The variable may be wrong for one process only, which then has to print it.
  const Outcome lost = start({"train", "--config", "tiny.toml", "--out", "run"}, "1");
  EXPECT_NE(lost.code, 0);
  expect_named(lost.err, {"dikkat: ", "/missing/transport.so"});
}

}  // namespace
}  // namespace dikkat::testing
