#include <cstdlib>

#include "tests/train/cli/workspace.h"

// The program reports failures of the system in its own words, not in a library's.
namespace dikkat::testing {
namespace {

/// Runs the program in a folder that is removed before it starts.
Outcome in_a_removed_folder(const Workspace& here, const std::string& arguments) {
  const std::string errors = (here / "errors.txt").string();
  const std::string command = "cd " + here.path() + " && mkdir gone && cd gone && rmdir ../gone && " + DIKKAT_PROGRAM + " " + arguments +
                              " > /dev/null 2> " + errors;
  const int status = std::system(command.c_str());
  return {.code = WEXITSTATUS(status), .out = "", .err = contents(errors)};
}

TEST(ForeignFailure, ARemovedCurrentFolderIsNamed) {
  const Workspace here;
  const std::string text = (here / "text.txt").string();
  const std::string config = (here / "tiny.toml").string();
  here.train("run", {"train.max_steps=1"});
  const std::string run = (here / "run").string();
  for (const std::string& arguments :
       Words{"train --config " + config + " --corpus " + text, "train --config " + config + " --corpus text.txt --out " + run + "-2",
             "tokenizer train --corpus " + text + " --out new", "report run",
             "sweep --config " + config + " --corpus " + text + " --vary train.batch_size=4,5 --out sweep", "export " + run + " --out new",
             "resume run", "runs", "eval run", "config init new.toml"}) {
    const Outcome outcome = in_a_removed_folder(here, arguments);
    EXPECT_TRUE(outcome.code == 1 || outcome.code == 2) << arguments << ": " << outcome.code << outcome.err;
    EXPECT_FALSE(contains(outcome.err, "filesystem error") || contains(outcome.err, "Please report")) << arguments << ": " << outcome.err;
    EXPECT_TRUE(contains(outcome.err, "dikkat: ")) << arguments << ": " << outcome.err;
  }
}

TEST(ForeignFailure, AFolderThatCannotBeMadeIsNamed) {
  const Workspace here;
  here.train("run", {"train.max_steps=1"});
  for (const Words& arguments :
       {Words{"tokenizer", "train", "--corpus", "text.txt", "--out", "text.txt/below"},
        Words{"train", "--config", "tiny.toml", "--out", "text.txt/below"}, Words{"export", "run", "--out", "text.txt/below"},
        Words{"report", "run", "--out", "text.txt/below/page.html"}, Words{"config", "init", "text.txt/below/new.toml"},
        Words{"sweep", "--config", "tiny.toml", "--vary", "train.batch_size=4,5", "--out", "text.txt/below"},
        Words{"export-metrics", "run", "--tensorboard", "text.txt/below"}}) {
    const Outcome outcome = here.run(arguments);
    EXPECT_TRUE(outcome.code == 1 || outcome.code == 2) << arguments[0] << ": " << outcome.code << outcome.err;
    EXPECT_TRUE(contains(outcome.err, "text.txt") && !contains(outcome.err, "filesystem error")) << arguments[0] << ": " << outcome.err;
  }
}

}  // namespace
}  // namespace dikkat::testing
