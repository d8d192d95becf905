#include <filesystem>

#include "tests/train/cli/workspace.h"

namespace dikkat::testing {
namespace {

TEST(Config, ShowPrintsARecipeThatReadsBackToItself) {
  const Workspace here;
  const Outcome shown = here.run({"config", "show", "--set", "model.n_layer=6", "optim.kind=muon"});
  EXPECT_EQ(shown.code, 0) << shown.err;
  EXPECT_TRUE(contains(shown.out, "\nn_layer = 6\n")) << shown.out;
  here.write("shown.toml", shown.out);
  EXPECT_EQ(here.run({"config", "show", "--config", "shown.toml"}).out, shown.out);
}

TEST(Config, ListsRecipesWithDescriptionsAndKeys) {
  const Workspace here;
  const std::string list = here.run({"config", "list"}).out;
  const std::size_t line = list.find("\nquickstart ");
  ASSERT_NE(line, std::string::npos) << list;
  const std::string quickstart = list.substr(line + 1, list.find('\n', line + 1) - line - 1);
  expect_named(quickstart, {"0.90 M"});
  expect_named(list, {"124.4 M"});
  EXPECT_FALSE(contains(list, "--corpus")) << "commands are not descriptions: " << list;
  EXPECT_TRUE(contains(here.run({"config", "list", "--names"}).out, "\nllama-tiny\nolmo-2-1b\nquickstart\n"));
  EXPECT_TRUE(contains(here.run({"config", "keys"}).out, "\nmodel.n_layer\n"));
}

TEST(Config, ShowTakesARecipeByNameOrAFile) {
  const Workspace here;
  const Outcome named = here.run({"config", "show", "quickstart"});
  EXPECT_EQ(named.code, 0) << named.err;
  EXPECT_EQ(named.out, here.run({"config", "show", "--config", "quickstart"}).out);
  EXPECT_EQ(here.run({"config", "show", "tiny.toml"}).out, here.run({"config", "show", "--config", "tiny.toml"}).out);
}

TEST(Config, ShowOfChangesLeavesOutDefaults) {
  const Workspace here;
  const Outcome shown = here.run({"config", "show", "--only-changed", "--set", "train.max_steps=7"});
  EXPECT_EQ(shown.code, 0) << shown.err;
  EXPECT_TRUE(contains(shown.out, "max_steps = 7")) << shown.out;
  EXPECT_FALSE(contains(shown.out, "n_layer")) << shown.out;
}

TEST(Config, InitWritesAFileThatTrainTakes) {
  const Workspace here;
  const Outcome made = here.run({"config", "init", "mine.toml", "--set", "model.n_layer=3"});
  EXPECT_EQ(made.code, 0) << made.err;
  EXPECT_EQ(made.out, "mine.toml\n");
  EXPECT_TRUE(contains(here.run({"config", "show", "--config", "mine.toml"}).out, "\nn_layer = 3\n"));
}

}  // namespace
}  // namespace dikkat::testing
