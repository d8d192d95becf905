#include "tests/train/cli/workspace.h"

// Output that is generated from the description of the command line.
namespace dikkat::testing {
namespace {

/// The words that bash offers after these words.
std::string offered(const Workspace& here, const std::string& words, int number) {
  const std::string script = "dikkat() { " DIKKAT_PROGRAM " \"$@\"; }; source dikkat.bash; COMP_WORDS=(" + words +
                             "); COMP_CWORD=" + std::to_string(number) + "; _dikkat; echo \"${COMPREPLY[@]}\" > offered.txt";
  here.write("complete.sh", script);
  EXPECT_EQ(std::system(("cd " + here.path() + " && bash complete.sh").c_str()), 0);
  return contents(here / "offered.txt");
}

TEST(Completion, BashOffersCommandsAndTheirOptions) {
  const Workspace here;
  here.write("dikkat.bash", here.run({"completion", "bash"}).out);
  EXPECT_EQ(offered(here, "dikkat ev", 1), "eval\n");
  EXPECT_EQ(offered(here, "dikkat tokenizer enc", 2), "encode\n");
  EXPECT_EQ(offered(here, "dikkat train --co", 2), "--config --corpus --columns\n");
  EXPECT_EQ(offered(here, "dikkat train --config train --init", 4), "--init-from\n") << "a value is not a command";
  EXPECT_EQ(offered(here, "dikkat tokenizer ''", 2), "train make extend compare encode decode inspect render\n");
  EXPECT_EQ(offered(here, "dikkat report ''", 2), "\n") << "then file names";
}

TEST(Completion, BashOffersRecipesAndKeys) {
  const Workspace here;
  here.write("dikkat.bash", here.run({"completion", "bash"}).out);
  EXPECT_EQ(offered(here, "dikkat train --config shakespeare-b", 3), "shakespeare-best\n");
  EXPECT_EQ(offered(here, "dikkat train --config quickstart --set model.n_emb", 5), "model.n_embd=\n");
  EXPECT_EQ(offered(here, "dikkat train --set train.seed=1 model.gate", 4), "model.gated=\n") << "another key";
  EXPECT_EQ(offered(here, "dikkat train --set model.positions = ro", 5), "\n") << "a value";
  EXPECT_EQ(offered(here, "dikkat train --config quickstart ''", 4), "\n");
}

TEST(Completion, OtherShellsKnowEveryCommand) {
  const Workspace here;
  const std::string zsh = here.run({"completion", "zsh"}).out, fish = here.run({"completion", "fish"}).out;
  for (const char* command : {"train", "report", "watch", "export-metrics"}) {
    EXPECT_TRUE(contains(zsh, "'" + std::string(command) + ":")) << command;
    EXPECT_TRUE(contains(fish, "-a " + std::string(command) + " -d ")) << command;
  }
}

TEST(Completion, FishOffersCommandsRecipesAndKeys) {
  const Workspace here;
  here.write("bin/dikkat", "#!/bin/sh\nexec " DIKKAT_PROGRAM " \"$@\"\n");
  std::filesystem::permissions(here / "bin/dikkat", std::filesystem::perms::owner_all);
  here.write("dikkat.fish", here.run({"completion", "fish"}).out);
  const auto offered = [&](const std::string& words) {
    const std::string command = "cd " + here.path() + " && HOME=$PWD PATH=$PWD/bin:$PATH fish -c 'source dikkat.fish; complete -C \"" +
                                words + "\"' > offered.txt 2>&1";
    EXPECT_EQ(std::system(command.c_str()), 0);
    return contents(here / "offered.txt");
  };
  EXPECT_TRUE(offered("dikkat ev").starts_with("eval\t"));
  EXPECT_TRUE(offered("dikkat train --config quicks").starts_with("quickstart"));
  EXPECT_TRUE(offered("dikkat train --set model.n_emb").starts_with("model.n_embd=")) << contents(here / "offered.txt");
}

TEST(Completion, ZshReadsItsScript) {
  const Workspace here;
  here.write("_dikkat", here.run({"completion", "zsh"}).out);
  EXPECT_EQ(std::system(("zsh -n " + here.path() + "/_dikkat").c_str()), 0);
}

TEST(ManPages, ThereIsOneForEachCommandWithItsOptions) {
  const Workspace here;
  EXPECT_EQ(here.run({"man", "man1"}).code, 0);
  const std::string page = contents(here / "man1/dikkat-train.1");
  EXPECT_TRUE(page.starts_with(".TH DIKKAT-TRAIN 1 ")) << page.substr(0, 100);
  EXPECT_TRUE(contains(page, "\\fB\\-\\-corpus\\fR \\fIPATH\\fR\n")) << page;
  EXPECT_TRUE(contains(page, "\n.nf\n  dikkat train")) << page;
  EXPECT_TRUE(contains(contents(here / "man1/dikkat.1"), ".TP\n\\fBwatch\\fR\n"));
  EXPECT_TRUE(std::filesystem::exists(here / "man1/dikkat-tokenizer-encode.1"));
}

}  // namespace
}  // namespace dikkat::testing
