#include <regex>

#include "tests/train/cli/workspace.h"

namespace dikkat::testing {
namespace {

const Words kCommands = {"plan", "train", "resume", "sweep", "eval", "sample", "inspect", "verify"};

TEST(Help, OfTheProgramShowsEveryCommandAtWork) {
  const Outcome help = run({.arguments = {"--help"}});
  EXPECT_EQ(help.code, 0);
  EXPECT_EQ(help.err, "");
  EXPECT_TRUE(contains(help.out, "Usage: dikkat COMMAND")) << help.out;
  for (const std::string& command : kCommands) {
    EXPECT_TRUE(contains(help.out, "\n  dikkat " + command + ' ')) << command;
  }
  EXPECT_TRUE(contains(help.out, "Exit codes"));
}

TEST(Help, OfACommandShowsItAtWork) {
  for (const std::string& command : kCommands) {
    const Outcome help = run({.arguments = {command, "--help"}});
    EXPECT_EQ(help.code, 0);
    EXPECT_EQ(help.err, "");
    EXPECT_TRUE(contains(help.out, "Usage: dikkat " + command + ' ')) << help.out;
    EXPECT_TRUE(contains(help.out, "Examples:\n  dikkat " + command + ' ')) << help.out;
  }
}

TEST(Help, TellsDefaults) {
  const std::string help = run({.arguments = {"sample", "--help"}}).out;
  EXPECT_TRUE(contains(help, "--max-new-tokens N=500 ") && contains(help, "--temperature X=0.8 ")) << help;
}

TEST(Help, SaysTheSameOfWeightsEverywhere) {
  EXPECT_TRUE(contains(run({.arguments = {"eval", "--help"}}).out, "a seventh")) << "18 bytes for 32 numbers, which take 128";
  EXPECT_TRUE(contains(run({.arguments = {"--help-config"}}).out, "(a seventh, and coarse)"));
}

TEST(Help, OfFinetuneNamesItsRecipe) {
  const std::string help = run({.arguments = {"finetune", "--help"}}).out;
  EXPECT_TRUE(contains(help, "FILE|NAME=finetune")) << help;
  EXPECT_FALSE(contains(help, "without it, the defaults")) << help;
  EXPECT_TRUE(contains(help, "Llama, Qwen and SmolLM2")) << help;
}

TEST(Help, TellsAboutEveryKey) {
  const Outcome keys = run({.arguments = {"--help-config"}});
  EXPECT_EQ(keys.code, 0);
  for (const char* word :
       {"[model]", "# n_layer: an integer from 1", "\nn_layer = 4\n", "[tokenizer]", "[data]", "[optim]", "[train]", "default: "}) {
    EXPECT_TRUE(contains(keys.out, word)) << word;
  }
  EXPECT_EQ(run({.arguments = {"train", "--help-config"}}).out, keys.out) << "as the recipes say";
}

TEST(Help, KnowsItsVersion) {
  const Outcome version = run({.arguments = {"--version"}});
  EXPECT_EQ(version.code, 0);
  EXPECT_TRUE(std::regex_match(version.out, std::regex("dikkat \\S+ \\(([0-9a-f]{12}|unknown)\\)\n"))) << version.out;
}

TEST(Help, IsTheAnswerToNoArguments) {
  const Outcome nothing = run({.arguments = {}});
  EXPECT_EQ(nothing.code, 2);
  EXPECT_EQ(nothing.out, "");
  EXPECT_TRUE(contains(nothing.err, "Usage: dikkat COMMAND"));
}

}  // namespace
}  // namespace dikkat::testing
