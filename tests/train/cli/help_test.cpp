#include <regex>
#include <sstream>

#include "autograd/base/error.h"
#include "tests/train/cli/terminal.h"
#include "tests/train/cli/workspace.h"

namespace dikkat::testing {
namespace {

const Words kCommands = {"plan", "train", "assistant", "resume", "sweep", "eval", "sample", "inspect", "verify"};

TEST(Help, ShowsEveryCommandAtWork) {
  const Outcome program = run({.arguments = {"--help"}});
  for (const std::string& command : kCommands) {
    const std::string example = "\n  dikkat " + command + ' ';
    expect_named(program.out, {example});
    const Outcome help = run({.arguments = {command, "--help"}});
    EXPECT_EQ(help.code, 0);
    EXPECT_EQ(help.err, "");
    expect_named(help.out, {"Usage: dikkat " + command + ' ', example});
  }
  EXPECT_EQ(program.code, 0);
  expect_named(program.out, {"dikkat COMMAND", "130", "143", "129", "138"});
  EXPECT_EQ(program.err, "");
  const Outcome nothing = run({.arguments = {}});
  EXPECT_EQ(nothing.code, 2);
  EXPECT_EQ(nothing.out, "");
  expect_named(nothing.err, kCommands);
}

Words lines_of(const std::string& text) {
  Words lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    lines.push_back(line);
  }
  return lines;
}
/// The words of a text, with one blank between them.
std::string joined_words_of(const std::string& text) {
  std::istringstream stream(text);
  std::string words;
  for (std::string word; stream >> word;) {
    words += word + ' ';
  }
  return words;
}

TEST(Help, IsBrokenBetweenWordsAtTheWidthOfTheTerminal) {
  const Words commands = {"", "train", "resume", "sweep", "eval", "sample", "chat", "serve", "finetune", "runs", "tokenizer train"};
  for (const std::string& command : commands) {
    Words arguments = lines_of(std::regex_replace(command, std::regex(" "), "\n"));
    arguments.push_back("--help");
    const auto help = [&](const std::string& columns) { return run({.arguments = arguments, .environment = {{"COLUMNS", columns}}}).out; };
    const std::string whole = joined_words_of(help("2000"));
    for (const int columns : {40, 60, 80, 137}) {
      const std::string shown = help(std::to_string(columns));
      bool in_examples = false;
      EXPECT_EQ(joined_words_of(shown), whole) << command << ", " << columns << " columns: no word is lost or broken";
      for (const std::string& line : lines_of(shown)) {
        in_examples = in_examples || std::regex_search(line, std::regex("^  (\\S.*\\| )?dikkat "));
        const bool is_command = in_examples && line.starts_with("  ");
        const bool is_one_word = line.find_last_of(' ') == std::string::npos || line.find_first_not_of(' ') > line.find_last_of(' ');
        EXPECT_TRUE(static_cast<int>(line.size()) <= columns || is_command || is_one_word)
            << command << ", " << columns << " columns: " << line;
      }
    }
  }
}

TEST(Help, IsAtMostHundredColumnsWideInAFile) {
  for (const std::string& line : lines_of(run({.arguments = {"eval", "--help"}}).out)) {
    EXPECT_TRUE(line.size() <= 100 || line.starts_with("  dikkat ")) << line;
  }
  Terminal narrow(50);
  run({.arguments = {"eval", "--help"}, .out = narrow.name()});
  for (const std::string& line : lines_of(narrow.shown())) {
    EXPECT_TRUE(line.size() <= 51 || line.starts_with("  dikkat ")) << line << ": 50, and a carriage return";
  }
}

TEST(Help, OfTheKeysHasCommentsThatFitAndTheSameKeys) {
  const auto keys = [](const std::string& columns) {
    return run({.arguments = {"--help-config"}, .environment = {{"COLUMNS", columns}}}).out;
  };
  const std::string narrow = keys("70"), wide = keys("2000");
  std::string without_comments, expected;
  for (const std::string& line : lines_of(narrow)) {
    EXPECT_TRUE(line.size() <= 70 || !line.starts_with("#")) << line;
    without_comments += line.starts_with("#") ? "" : line + '\n';
  }
  for (const std::string& line : lines_of(wide)) {
    expected += line.starts_with("#") ? "" : line + '\n';
  }
  EXPECT_EQ(without_comments, expected);
}

TEST(Help, NamesDefaultsAndEveryKey) {
  // CLI11 writes a default as N=500, and newer releases as N [500].
  const auto has_default = [](const std::string& help, const char* option, const char* value) {
    return std::regex_search(help, std::regex(concat(option, "(=", value, "| \\[", value, "\\])\\s")));
  };
  const std::string sample = run({.arguments = {"sample", "--help"}}).out;
  EXPECT_TRUE(has_default(sample, "--max-new-tokens N", "500") && has_default(sample, "--temperature X", "0.8")) << sample;
  EXPECT_TRUE(has_default(run({.arguments = {"finetune", "--help"}}).out, "FILE\\|NAME", "finetune"));
  const Outcome keys = run({.arguments = {"--help-config"}});
  EXPECT_EQ(keys.code, 0);
  expect_named(keys.out, {"[model]", "# n_layer: ", "\nn_layer = 4\n", "[tokenizer]", "[data]", "[optim]", "[train]"});
  EXPECT_EQ(run({.arguments = {"train", "--help-config"}}).out, keys.out) << "as in the recipes";
}

TEST(Help, KnowsItsVersion) {
  const Outcome version = run({.arguments = {"--version"}});
  EXPECT_EQ(version.code, 0);
  EXPECT_TRUE(std::regex_match(version.out, std::regex("dikkat \\S+ \\(([0-9a-f]{12}|unknown \\(.*\\))\\)\n"))) << version.out;
}

}  // namespace
}  // namespace dikkat::testing
