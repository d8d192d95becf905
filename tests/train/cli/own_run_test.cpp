#include "optim/adamw.h"
#include "tests/train/cli/workspace.h"
#include "train/library/run_folder.h"

// What the commands print about models and runs of a program's own.
namespace dikkat::testing {
namespace {

/// Writes a run of 6 steps, with a checkpoint each 2 steps.
void write_run(const std::filesystem::path& path, const std::string& rate) {
  ParameterStore parameters;
  parameters.add("conv.weight", {4, 3, 5, 5}, Init::normal(0.1), Decay::yes, Role::hidden);
  parameters.add("conv.bias", {4}, Init::ones(), Decay::no, Role::vector);
  parameters.allocate(1);
  AdamW adamw(parameters, {});
  RunFolder run(path, {.settings = {{"learning_rate", rate}}});
  const std::vector<float> running(9, 0.5F);
  for (index step = run.resume(parameters, adamw); step < 6;) {
    adamw.step(++step, 0.01);
    run.log_step({.step = step, .loss = 2.0 / static_cast<double>(step)});
    if (step % 2 == 0) {
      run.log_evaluation({.step = step, .val_loss = 3.0 / static_cast<double>(step), .measures = {{"accuracy", 0.875}}});
      run.save(parameters, adamw, step, {{"epoch", std::int64_t{17}}, {"running_mean", running}, {"scale", 0.25}});
    }
  }
  run.finish();
}

class OwnRun : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    here_ = new Workspace;
    write_run(*here_ / "runs/one", "1e-3");
    write_run(*here_ / "runs/two", "3e-3");
  }
  static void TearDownTestSuite() { delete here_; }

  static Workspace* here_;
};
Workspace* OwnRun::here_ = nullptr;

TEST_F(OwnRun, IsInspected) {
  const Outcome shown = here_->run({"inspect", "runs/one"});
  EXPECT_EQ(shown.code, 0) << shown.err;
  expect_named(shown.out, {"step        6", "304", "optimizer/m", "conv.weight", "[4, 3, 5, 5]", "epoch", "i64 []  17", "scale",
                           "f64 []  0.25", "running_mean                 f32 [9]\n"});
  EXPECT_FALSE(contains(shown.out, "configuration"));
  const Json json = Json::parse(here_->run({"inspect", "runs/one/checkpoints/step-000000004.h5", "--json"}).out);
  EXPECT_EQ(json["step"], 4);
  EXPECT_TRUE(json["tokenizer"].is_null());
  EXPECT_EQ(json["parameters"], 304);
}

TEST_F(OwnRun, IsVerified) {
  const Outcome good = here_->run({"verify", "runs/one"});
  EXPECT_EQ(good.code, 0) << good.err;
  EXPECT_EQ(lines_with(good.out, "good").size(), 2U) << good.out;
  std::string bad = contents(*here_ / "runs/one/checkpoints/step-000000006.h5");
  bad[bad.size() / 2] ^= 1;
  here_->write("bad.h5", bad);
  EXPECT_EQ(here_->run({"verify", "bad.h5"}).code, 2);
}

TEST_F(OwnRun, IsListedAndCompared) {
  const Json runs = Json::parse(here_->run({"runs", "--json"}).out)["runs"];
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_EQ(runs[0]["state"], "finished");
  EXPECT_EQ(runs[0]["step"], 6);
  EXPECT_EQ(runs[0]["best_val_loss"], 0.5);
  const Outcome diff = here_->run({"runs", "diff", "runs/one", "runs/two"});
  EXPECT_EQ(diff.code, 0) << diff.err;
  expect_named(diff.out, {"learning_rate", "1e-3", "3e-3"});
}

TEST_F(OwnRun, IsReported) {
  const Outcome report = here_->run({"report", "runs/one", "--out", "one.html"});
  EXPECT_EQ(report.code, 0) << report.err;
  const std::string page = contents(*here_ / "one.html");
  expect_named(page, {"accuracy", "learning_rate", "step-000000006.h5"});
  EXPECT_FALSE(contains(page, "config.toml"));
  EXPECT_EQ(here_->run({"export-metrics", "runs/one", "--csv", "one.csv"}).code, 0);
}

TEST_F(OwnRun, IsNoLanguageModel) {
  expect_refused(*here_, {"sample", "runs/one"}, {"runs/one", "inspect"});
  expect_refused(*here_, {"eval", "runs/one"}, {"runs/one", "inspect"});
  expect_refused(*here_, {"resume", "runs/one"}, {"runs/one", "inspect"});
  expect_refused(*here_, {"export", "runs/one", "--out", "out"}, {"runs/one", "inspect"});
  expect_refused(*here_, {"train", "--config", "tiny.toml", "--out", "new", "--set", "tokenizer.path=runs/one"}, {"runs/one", "inspect"});
}

}  // namespace
}  // namespace dikkat::testing
