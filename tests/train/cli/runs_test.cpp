#include "tests/train/cli/terminal.h"
#include "tests/train/cli/workspace.h"

// The commands that show runs: runs, report, export-metrics.
namespace dikkat::testing {
namespace {

class Runs : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    here_ = new Workspace;
    here_->train("runs/short", {"train.max_steps=6"});
    here_->train("runs/long", {"train.max_steps=12", "optim.learning_rate=5e-3"});
  }
  static void TearDownTestSuite() { delete here_; }

  static Workspace* here_;
};
Workspace* Runs::here_ = nullptr;

TEST_F(Runs, DifferInTheStepsOfTheirScheduleAsTheyBegan) {
  const Workspace own;
  own.train("one", {"train.max_steps=6"});
  own.train("two", {"train.max_steps=6"});
  ASSERT_EQ(own.run({"resume", "two", "--quiet", "--set", "train.max_steps=8"}).code, 0);
  const Outcome shown = own.run({"runs", "diff", "one", "two"});
  EXPECT_TRUE(contains(shown.out, "train.max_steps")) << shown.out;
  EXPECT_FALSE(contains(shown.out, "optim.decay_steps")) << shown.out;
}

TEST_F(Runs, WithoutPatienceLeftAreNotChangedByAResume) {
  const Workspace own;
  own.train("run", {"train.max_steps=40", "train.eval_interval=1", "train.patience=1", "optim.learning_rate=1"});
  const Outcome resumed = own.run({"resume", "run", "--set", "train.max_steps=60"});
  expect_named(resumed.err, {"dikkat resume run --set train.max_steps=60 train.patience=0"});
  EXPECT_FALSE(contains(contents(own / "run/config.toml"), "max_steps = 60"));
  const Outcome more = own.run({"resume", "run", "--set", "train.max_steps=60", "train.patience=0"});
  EXPECT_EQ(lines_with(more.err, "train.patience").size(), 1U) << "it has an effect, so only the change is reported: " << more.err;
  EXPECT_EQ(own.log("run").back()["event"], "finish");
  EXPECT_EQ(own.log("run").back()["step"], 60);
}

TEST_F(Runs, AreListedWithTheirLossAndState) {
  here_->write("runs/broken/metrics.jsonl", "a note\n");
  const Outcome listed = here_->run({"runs"});
  EXPECT_EQ(listed.code, 0) << listed.err;
  std::istringstream lines(listed.out);
  std::string heading, broken, longer, shorter;
  std::getline(lines, heading);
  std::getline(lines, broken);
  std::getline(lines, longer);
  std::getline(lines, shorter);
  EXPECT_TRUE(broken.starts_with("runs/broken ") && contains(broken, "metrics.jsonl")) << listed.out;
  EXPECT_TRUE(shorter.starts_with("runs/short ")) << listed.out;

  const Json runs = Json::parse(here_->run({"runs", "--json"}).out)["runs"];
  ASSERT_EQ(runs.size(), 3U);
  EXPECT_EQ(runs[0]["state"], "broken");
  EXPECT_EQ(runs[1]["state"], "finished");
  EXPECT_EQ(runs[1]["step"], 12);
  const std::vector<Json> lines_of_long = here_->metrics("runs/long");
  EXPECT_EQ(runs[1]["best_val_loss"], lines_of_long.back()["val_loss"]) << "the loss falls";
  expect_named(longer, {"runs/long ", " 12 ", fixed(runs[1]["best_val_loss"], 4) + " +- "});
  EXPECT_GT(runs[1]["bytes"], 10000);
  std::filesystem::remove_all(*here_ / "runs/broken");
}

TEST_F(Runs, DifferInTheKeysThatWereSet) {
  const Json found = Json::parse(here_->run({"runs", "diff", "runs/short", "runs/long", "--json"}).out);
  EXPECT_EQ(found["differences"]["optim.learning_rate"], (Json{"0.01", "0.005"}));
  EXPECT_EQ(found["differences"]["train.max_steps"], (Json{"6", "12"}));
  EXPECT_FALSE(found["differences"].contains("model.n_layer"));
  const Outcome told = here_->run({"runs", "diff", "runs/short", "runs/long"});
  EXPECT_TRUE(contains(told.out, "optim.learning_rate")) << told.out;
  // 12 steps are better than 6. Both were evaluated on one text, so the error is at most that of the two.
  EXPECT_EQ(found["better"]["best"], "runs/long");
  EXPECT_NEAR(found["better"]["difference"].get<double>(),
              found["runs"][0]["best_val_loss"].get<double>() - found["runs"][1]["best_val_loss"].get<double>(), 1e-12);
  EXPECT_GT(found["better"]["standard_error"].get<double>(), found["runs"][0]["val_standard_error"].get<double>());
}

TEST_F(Runs, AResumesChangesAreTheConfigurationNow) {
  here_->train("runs/changed", {"train.max_steps=6"});
  EXPECT_EQ(here_->run({"resume", "runs/changed", "--set", "train.max_steps=8"}).code, 0);
  const Json found = Json::parse(here_->run({"runs", "diff", "runs/short", "runs/changed", "--json"}).out);
  EXPECT_EQ(found["differences"]["train.max_steps"], (Json{"6", "8"}));
  std::filesystem::remove_all(*here_ / "runs/changed");
}

TEST_F(Runs, AreRemovedAfterAQuestionAndNeverWhileTheyRun) {
  const Workspace here;
  here.train("done", {"train.max_steps=4"});
  const Outcome asked = here.run({"runs", "rm", "done"});
  EXPECT_EQ(asked.code, 2) << "nobody can be asked";
  EXPECT_TRUE(std::filesystem::exists(here / "done"));

  // A running run is not removed, nor the others of the command.
  Program running(here.here({"train", "--config", "tiny.toml", "--out", "busy", "--set", "train.max_steps=100000"}));
  running.until([&] { return std::filesystem::exists(here / "busy/metrics.jsonl") && here.metric_lines("busy") > 2; });
  const Outcome refused = here.run({"runs", "rm", "done", "busy", "--yes"});
  EXPECT_EQ(refused.code, 2);
  expect_named(refused.err, {"busy", std::to_string(running.pid())});
  EXPECT_TRUE(std::filesystem::exists(here / "done")) << "all or none";
  const Json runs = Json::parse(here.run({"runs", "--in", ".", "--json"}).out)["runs"];
  EXPECT_EQ(runs[0]["state"], "running") << runs;
  EXPECT_EQ(runs[1]["state"], "finished") << runs;
  running.send(SIGTERM);
  running.wait();

  // Finished runs are removed, and nothing else.
  const Outcome removed = here.run({"runs", "rm", "done", "busy", "--yes"});
  EXPECT_EQ(removed.code, 0) << removed.err;
  EXPECT_FALSE(std::filesystem::exists(here / "done") || std::filesystem::exists(here / "busy"));
  EXPECT_EQ(here.run({"runs", "rm", ".", "--yes"}).code, 2) << "it is not a run";
  here.write("project/checkpoints/mine.bin", "not of a run");
  EXPECT_EQ(here.run({"runs", "rm", "project", "--yes"}).code, 2) << "a folder of that name does not make a run";
  EXPECT_TRUE(std::filesystem::exists(here / "project/checkpoints/mine.bin"));
  here.train("noted", {"train.max_steps=4"});
  here.write("noted/notes.md", "mine");
  const Outcome kept = here.run({"runs", "rm", "noted", "--yes"});
  expect_named(kept.err, {"noted", "notes.md"});
  EXPECT_TRUE(std::filesystem::exists(here / "noted/notes.md"));
  EXPECT_TRUE(std::filesystem::exists(here / "text.txt"));
}

TEST_F(Runs, AReportReplacesReportsAndNothingElse) {
  const Outcome made = here_->run({"report", "runs/short"});
  EXPECT_EQ(made.out, "runs/short/report.html\n");
  EXPECT_EQ(here_->run({"report", "runs/short"}).code, 0) << "again";
  const std::string page = contents(*here_ / "runs/short/report.html");
  EXPECT_TRUE(page.starts_with("<!doctype html>"));
  EXPECT_FALSE(contains(page, "{{"));
  EXPECT_FALSE(contains(page, "http://") || contains(page, "src=\"")) << "it needs no other file";

  here_->write("foreign.html", "<!doctype html>\n<html lang=\"en\">\n<p>mine</p>\n");
  EXPECT_EQ(here_->run({"report", "runs/short", "--out", "foreign.html"}).code, 2) << "a page of somebody else";
  EXPECT_TRUE(contents(*here_ / "foreign.html").ends_with("<p>mine</p>\n"));
}

TEST_F(Runs, AreListedAndComparedWithinTheTerminal) {
  const auto shown = [&](const Words& words, int columns) {
    Terminal terminal(static_cast<unsigned short>(columns));
    const Outcome outcome = here_->run(words, {.environment = {{"NO_COLOR", "1"}}, .out = terminal.name()});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    std::string text = terminal.shown();
    std::erase(text, '\r');
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      EXPECT_TRUE(std::ssize(line) <= columns || line.ends_with('.')) << words.back() << ": " << line;
    }
    return std::pair(text, outcome.err);
  };
  // Find the headings of the whole table.
  const std::string whole = here_->run({"runs"}, {.environment = {{"COLUMNS", "40"}}}).out;  // a pipe gets the whole table
  Words headings = {""};
  const std::string heading = whole.substr(0, whole.find('\n'));
  for (std::size_t i = 0; i < heading.size(); ++i) {  // there are two blanks or more between headings
    if (heading.compare(i, 2, "  ") != 0) {
      headings.back() += heading[i];
    } else if (headings.back() != "" && headings.back() != " ") {
      headings.emplace_back();
    }
  }
  ASSERT_GT(headings.size(), 4U);
  // Each column is shown or named in a note.
  for (const int columns : {50, 60, 80, 120}) {
    const auto [list, notes] = shown({"runs"}, columns);
    EXPECT_TRUE(contains(list, " +- ")) << columns << ": the loss is in it: " << list;
    EXPECT_EQ(notes.empty(), columns == 120) << notes;
    for (const std::string& column : headings) {
      EXPECT_TRUE(contains(notes, column) || contains(list, column)) << columns << ", " << column << ": " << notes << list;
    }
  }
  EXPECT_TRUE(contains(shown({"runs"}, 120).first, "runs/short"));
  const std::string narrow = shown({"runs", "diff", "runs/short", "runs/long"}, 45).first;
  EXPECT_TRUE(contains(narrow, "optim.learning_rate\n  runs/short: 0.01\n  runs/long: 0.005\n")) << narrow;
}

TEST_F(Runs, HaveColorsOnATerminalOnly) {
  const auto shown = [&](const std::map<std::string, std::string>& environment) {
    Terminal terminal;
    here_->run({"runs"}, {.environment = environment, .out = terminal.name()});
    return terminal.shown();
  };
  const std::string kGreen = "\x1b[32m";
  EXPECT_TRUE(contains(shown({{"TERM", "xterm"}, {"NO_COLOR", ""}}), kGreen));
  EXPECT_FALSE(contains(shown({{"TERM", "xterm"}, {"NO_COLOR", "1"}}), "\x1b"));
  EXPECT_FALSE(contains(shown({{"TERM", "dumb"}, {"NO_COLOR", ""}}), "\x1b"));
  EXPECT_FALSE(contains(here_->run({"runs"}, {.environment = {{"TERM", "xterm"}}}).out, "\x1b"));
}

TEST_F(Runs, InspectShowsTheCurve) {
  const Outcome shown = here_->run({"inspect", "runs/long"});
  expect_named(shown.out, {" █", "▁ ", fixed(here_->metrics("runs/long").back()["val_loss"], 4)});
}

TEST_F(Runs, MetricsAreExported) {
  const Outcome exported = here_->run({"export-metrics", "runs/long", "--csv", "long.csv", "--tensorboard", "boards/long"});
  EXPECT_EQ(exported.out, "long.csv\nboards/long/events.out.tfevents.dikkat\n");
  const std::string table = contents(*here_ / "long.csv");
  EXPECT_EQ(std::count(table.begin(), table.end(), '\n'), 13) << "a heading and 12 steps";
  EXPECT_GT(contents(*here_ / "boards/long/events.out.tfevents.dikkat").size(), 1000U);
  EXPECT_EQ(here_->run({"export-metrics", "runs/long"}).code, 2);
  EXPECT_EQ(here_->run({"export-metrics", "runs/long", "--csv", "text.txt"}).code, 2);
}

}  // namespace
}  // namespace dikkat::testing
