#include "train/sweep/sweep_directory.h"

#include <gtest/gtest.h>

#include "tests/support/temporary_folder.h"
#include "tests/support/throws.h"
#include "train/config/override.h"
#include "train/config/parse.h"
#include "train/config/resolve.h"
#include "train/system/file.h"

namespace dikkat {
namespace {

using testing::names;

SweepDescription two_rates() {
  SweepDescription sweep{.combinations = {}, .seeds = {1, 2}, .eta = 3};
  for (const char* rate : {"0.001", "0.002"}) {
    Config config;
    config.data.corpus = {"/text.txt"};
    apply_override(config, concat("optim.learning_rate=", rate));
    resolve(config);
    sweep.combinations.push_back({.name = concat("optim.learning_rate=", rate), .config = config, .seconds = 1.5});
  }
  return sweep;
}

LegResult result(double loss, std::string failure = "") {
  return {.leg = {.combination = 1, .seed = 2, .from = 10, .steps = 20},
          .step = 20,
          .loss = loss,
          .standard_error = 0.1,
          .seconds = 2,
          .failure = std::move(failure)};
}

TEST(SweepDirectory, KeepsDescriptionAndResultsToTheBit) {
  const TemporaryFolder folder;
  const double loss = 1.0 / 3;
  {
    SweepDirectory made = SweepDirectory::create(folder / "a/sweep", two_rates());
    LegResult first = result(loss);
    first.accuracy = 1.0 / 7;
    first.decided_by = "mrr";
    made.record(first);
    made.record(result(std::numeric_limits<double>::quiet_NaN(), "step 3: the loss is NaN"));
  }
  const SweepDirectory opened = SweepDirectory::open(folder / "a/sweep");
  EXPECT_EQ(difference_between(opened.description(), two_rates()), "");
  EXPECT_EQ(opened.description().combinations[1].config, two_rates().combinations[1].config);
  EXPECT_EQ(opened.description().combinations[1].seconds, 1.5);
  ASSERT_EQ(opened.results().size(), 2U);
  EXPECT_EQ(opened.results()[0].leg, result(0).leg);
  EXPECT_EQ(opened.results()[0].loss, loss);
  EXPECT_EQ(opened.results()[0].accuracy, 1.0 / 7);
  EXPECT_EQ(opened.results()[0].decided_by, "mrr");
  EXPECT_EQ(opened.results()[1].accuracy, -1);
  EXPECT_TRUE(opened.results()[1].failed());
  EXPECT_EQ(opened.run_path(result(0).leg).filename(), "optim.learning_rate=0.002,seed=2");
}

TEST(SweepDirectory, ReadsTheAccuracyOfEarlierVersions) {
  const TemporaryFolder folder;
  SweepDirectory::create(folder / "sweep", two_rates()).record(result(1));
  std::string line = read_bytes(folder / "sweep/results.jsonl");
  const std::string now = R"("decided_by":"")";
  ASSERT_NE(line.find(now), std::string::npos) << line;
  for (const auto& [value, accuracy] : {std::pair("0.75", 0.75), std::pair("null", -1.0)}) {
    std::string old = line;
    folder.write("sweep/results.jsonl", old.replace(line.find(now), now.size(), concat(R"("rewards_accuracy":)", value)));
    const LegResult found = SweepDirectory::open(folder / "sweep").results().front();
    EXPECT_EQ(found.accuracy, accuracy);
    EXPECT_EQ(found.decided_by, accuracy > 0 ? "rewards_accuracy" : "");
  }
}

TEST(SweepDirectory, TheBestConfigurationDerivesItsKeysAgain) {
  const TemporaryFolder folder;
  const SweepDirectory made = SweepDirectory::create(folder / "sweep", two_rates());
  Config best = load_config(made.write_best(1));
  EXPECT_EQ(best.optim.learning_rate, 0.002);
  EXPECT_TRUE(best.optim.min_lr.is_open());
}

TEST(SweepDirectory, ReportsTheDifferences) {
  const SweepDescription found = two_rates();
  SweepDescription other = two_rates();
  other.combinations[1].name = "optim.learning_rate=0.003";
  EXPECT_TRUE(names(difference_between(found, other), {"2 combinations", "optim.learning_rate=0.001; optim.learning_rate=0.002",
                                                       "optim.learning_rate=0.001; optim.learning_rate=0.003"}));
  other = two_rates();
  other.seeds = {1};
  EXPECT_TRUE(names(difference_between(found, other), {"seeds", "1,2", "1"}));
  other = two_rates();
  other.eta = 0;
  EXPECT_TRUE(names(difference_between(found, other), {"eta 3", "no halving"}));
  other = two_rates();
  other.combinations[1].config.train.batch_size = 7;
  EXPECT_TRUE(names(difference_between(found, other), {"train.batch_size", "12", "7"}));
}

TEST(SweepDirectory, HasOneWriter) {
  const TemporaryFolder folder;
  const SweepDirectory first = SweepDirectory::create(folder / "sweep", two_rates());
  EXPECT_TRUE(names(input_error_of([&] { SweepDirectory::open(folder / "sweep"); }), {(folder / "sweep").string(), "process"}));
}

TEST(SweepDirectory, TakesOnlyAnEmptyFolder) {
  const TemporaryFolder folder;
  folder.write("full/cat.png", "cat");
  folder.write("file", "text");
  EXPECT_TRUE(names(input_error_of([&] { SweepDirectory::create(folder / "full", two_rates()); }),
                    {(folder / "full").string(), "not empty", "--out"}));
  EXPECT_TRUE(names(input_error_of([&] { SweepDirectory::create(folder / "file", two_rates()); }),
                    {(folder / "file").string(), "a file", "--out"}));
  EXPECT_TRUE(names(input_error_of([&] { SweepDirectory::open(folder / "full"); }), {(folder / "full").string(), "sweep.json"}));
  folder.write("killed/.tmp-sweep.json-1", "{");
  folder.write("killed/.lock", "");
  SweepDirectory::create(folder / "killed", two_rates());
}

TEST(SweepDirectory, RefusesDamagedFiles) {
  const TemporaryFolder folder;
  {
    SweepDirectory::create(folder / "sweep", two_rates()).record(result(1));
  }
  const std::string good = read_bytes(folder / "sweep/sweep.json");
  const auto refusal = [&](const std::string& file, const std::string& text) {
    folder.write("sweep/" + file, text);
    return input_error_of([&] { SweepDirectory::open(folder / "sweep"); });
  };
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    return text.replace(text.find(from), from.size(), to);
  };
  EXPECT_TRUE(names(refusal("sweep.json", good.substr(0, good.size() / 2)), {"sweep.json", "damaged"}));
  EXPECT_TRUE(names(refusal("sweep.json", "[]"), {"sweep.json", "damaged"}));
  EXPECT_TRUE(names(refusal("sweep.json", changed("\"format\": 1", "\"format\": 2")), {"sweep.json", "format 2", "1", "newer"}));
  EXPECT_TRUE(names(refusal("sweep.json", changed("optim.learning_rate=0.002", "../../elsewhere")), {"sweep.json", "not describe"}));
  EXPECT_TRUE(names(refusal("sweep.json", changed("\"eta\": 3", "\"eta\": -3")), {"sweep.json", "not describe"}));
  folder.write("sweep/sweep.json", good);
  const std::string lines = read_bytes(folder / "sweep/results.jsonl");
  EXPECT_TRUE(names(refusal("results.jsonl", lines + lines.substr(0, 20)), {"results.jsonl:2", "line"}));
  EXPECT_TRUE(names(refusal("results.jsonl", "{\"combination\":7}\n"), {"results.jsonl:1", "line"}));
}

}  // namespace
}  // namespace dikkat
