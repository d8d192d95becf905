#include <sys/file.h>

#include "tests/train/cli/workspace.h"

// Commands that were killed, and are repeated with the same words. What a kill leaves behind is made here by hand; tests/torture kills all
// commands at random moments.
namespace dikkat::testing {
namespace {

namespace fs = std::filesystem;

Words train_with(const std::string& out, const Words& settings = {}) {
  Words words = {"train", "--config", "tiny.toml", "--out", out};
  for (const std::string& setting : settings) {
    words.insert(words.end(), {"--set", setting});
  }
  return words;
}

/// The hidden files and folders in a workspace, but for locks.
Words hidden_in(const Workspace& here) {
  Words names;
  for (const auto& [name, text] : here.tree()) {
    const std::string file = fs::path(name).filename();
    if (file.starts_with(".") && file != ".lock") {
      names.push_back(name);
    }
  }
  return names;
}

/// Makes the run that a start leaves when it is killed before its first checkpoint.
void write_start_of(const Workspace& here, const std::string& whole, const std::string& out) {
  here.write(out + "/config.toml", contents(here / whole / "config.toml"));
  const std::string metrics = contents(here / whole / "metrics.jsonl");
  here.write(out + "/metrics.jsonl", metrics.substr(0, metrics.find('\n') + 1) + "{\"event\":\"step\",\"ste");
  here.write(out + "/checkpoints/.tmp-0-1", "half");
  here.write(out + "/.lock", "1\n");
}

TEST(Repeated, ATrainingThatWasKilledBeforeItsFirstCheckpointBeginsAgain) {
  const Workspace here;
  here.train("whole");
  write_start_of(here, "whole", "run");
  expect_refused(here, train_with("run", {"train.max_steps=21"}), {"run", "--out"});
  const Outcome repeated = here.run(train_with("run"));
  EXPECT_EQ(repeated.code, 0) << repeated.err;
  EXPECT_TRUE(here.checkpoint("run", 20) == here.checkpoint("whole", 20));
  EXPECT_EQ(here.timeless_metrics("run"), here.timeless_metrics("whole"));
  EXPECT_EQ(hidden_in(here), Words{});

  // Other files are somebody's, and a run that has lost its checkpoints is not a start.
  write_start_of(here, "whole", "noted");
  here.write("noted/notes.txt", "mine");
  expect_refused(here, train_with("noted"), {"noted", "notes.txt"});
  here.train("lost");
  fs::remove_all(here / "lost/checkpoints");
  expect_refused(here, train_with("lost"), {"lost", "--out"});
}

TEST(Repeated, ATrainingThatWasKilledLaterContinues) {
  const Workspace here;
  here.train("whole", {"train.max_steps=60"});
  const Words command = train_with("run", {"train.max_steps=60"});
  {
    Program program(here.here(command));
    ASSERT_TRUE(program.until([&] { return here.metric_lines("run") >= 13; }));
    program.send(SIGKILL);
    EXPECT_EQ(program.wait().code, -SIGKILL);
  }
  expect_refused(here, train_with("run", {"train.max_steps=60", "optim.learning_rate=0.02"}),
                 {"run", "optim.learning_rate", "0.02", "--out"});
  const Outcome repeated = here.run(command);
  EXPECT_EQ(repeated.code, 0) << repeated.err;
  EXPECT_EQ(repeated.out, "run\n");
  EXPECT_TRUE(here.checkpoint("run", 60) == here.checkpoint("whole", 60));
  EXPECT_EQ(here.timeless_metrics("run"), here.timeless_metrics("whole"));

  const std::string before = contents(here / "run/metrics.jsonl");
  const Outcome again = here.run(command);
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(again.out, "run\n");
  EXPECT_EQ(contents(here / "run/metrics.jsonl"), before) << "a finished run is left as it is";
}

TEST(Repeated, ASweepsLegThatWasKilledBeforeItsFirstCheckpointBeginsAgain) {
  const Workspace here;
  const Words command = {"sweep", "--config", "tiny.toml", "--vary", "model.n_layer=1,2", "--no-halving", "--out", "out"};
  ASSERT_EQ(here.run(command).code, 0);
  const std::string run = "out/model.n_layer=1", whole = here.checkpoint(run, 20);
  fs::rename(here / run, here / "whole");
  write_start_of(here, "whole", run);
  fs::remove(here / "out/results.jsonl");
  here.write("out/.tmp-results.jsonl-1", "half");
  const Outcome repeated = here.run(command);
  EXPECT_EQ(repeated.code, 0) << repeated.err;
  EXPECT_TRUE(here.checkpoint(run, 20) == whole);
  EXPECT_FALSE(fs::exists(here / (run + ".aside")));
  EXPECT_EQ(hidden_in(here), Words{});
}

TEST(Repeated, TeachContinuesAndLeavesNoHalfParts) {
  const Workspace here;
  here.train("run");
  const Words command = {"teach", "run", "--data", "text.txt", "--out", "taught", "--top", "8"};
  here.write("taught/.tmp-teacher.json-1", "half");
  EXPECT_EQ(here.run(command).code, 0) << "killed before it has written its header";
  here.write("taught/.tmp-part-00000.bin-1", "half");
  EXPECT_EQ(here.run(command).code, 0);
  EXPECT_EQ(hidden_in(here), Words{});

  // A folder that another process holds.
  const int lock = ::open((here / "taught/.lock").c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_EQ(::flock(lock, LOCK_EX | LOCK_NB), 0);
  const Outcome second = here.run(command);
  EXPECT_EQ(second.code, 2);
  expect_named(second.err, {"taught", "in use by process"});
  ::close(lock);
}

TEST(Repeated, AnAssistantThatWasKilledBeforeItHadAPlanBeginsAgain) {
  const Workspace here;
  here.write("out/.lock", "1\n");
  here.write("out/.tmp-assistant.json-1", "half");
  expect_refused(here, {"assistant", "--out", "out"}, {"--corpus", "--from"});  // the folder is accepted
  here.write("out/.tmp-notes-1", "of another program");
  expect_refused(here, {"assistant", "--out", "out"}, {"out", "--out"});
}

TEST(Repeated, ATokenizerThatWasKilledBetweenItsFilesIsCompleted) {
  const Workspace here;
  const auto command = [](const std::string& out) {
    return Words{"tokenizer", "train", "--corpus", "text.txt", "--vocab-size", "280", "--out", out};
  };
  ASSERT_EQ(here.run(command("whole")).code, 0);
  here.write("killed/vocab.bpe", contents(here / "whole/vocab.bpe"));
  here.write("killed/.tmp-encoder.json-1", "half");
  const Outcome repeated = here.run(command("killed"));
  EXPECT_EQ(repeated.code, 0) << repeated.err;
  for (const char* name : {"tokenizer.json", "vocab.bpe", "encoder.json"}) {
    EXPECT_EQ(contents(here / "killed" / name), contents(here / "whole" / name)) << name;
  }
  EXPECT_EQ(hidden_in(here), Words{});
  here.write("other/vocab.bpe", "of another tokenizer");
  const auto before = here.tree();
  EXPECT_EQ(here.run(command("other")).code, 2);
  EXPECT_TRUE(here.tree() == before);
}

TEST(Repeated, AnExportRemovesWhatAKilledOneHasLeft) {
  const Workspace here;
  here.train("run", {"model.positions=rope", "model.norm=rms_norm", "model.bias=false", "model.gated=true", "model.activation=silu"});
  for (const char* hidden : {".tmp-hf-1/model.safetensors", ".tmp-m.gguf-1", ".tmp-m.Modelfile-1"}) {
    here.write(hidden, "half");
  }
  const Words gguf = {"export", "run", "--out", "m.gguf", "--modelfile"};
  EXPECT_EQ(here.run({"export", "run", "--out", "hf"}).code, 0);
  EXPECT_EQ(here.run(gguf).code, 0);
  EXPECT_EQ(hidden_in(here), Words{});
  // Killed between the two files.
  const std::string modelfile = contents(here / "m.Modelfile");
  fs::remove(here / "m.gguf");
  EXPECT_EQ(here.run(gguf).code, 0);
  EXPECT_EQ(contents(here / "m.Modelfile"), modelfile);
  expect_refused(here, gguf, {"m.gguf"});
  fs::remove(here / "m.gguf");
  here.write("m.Modelfile", "mine");
  const auto before = here.tree();
  const Outcome refused = here.run(gguf);
  EXPECT_EQ(refused.code, 2);
  expect_named(refused.err, {"m.Modelfile"});
  EXPECT_TRUE(here.tree() == before);
}

TEST(Repeated, AnImportRemovesWhatAKilledOneHasLeft) {
  const Workspace here;
  here.train("run", {"model.positions=rope", "model.norm=rms_norm", "model.bias=false", "model.gated=true", "model.activation=silu"});
  ASSERT_EQ(here.run({"export", "run", "--out", "hf"}).code, 0);
  here.write(".tmp-imported-1/checkpoints/.tmp-0-1", "half");
  fs::create_directories(here / "imported");  // an empty folder
  const Outcome imported = here.run({"import", "hf", "--out", "imported"});
  EXPECT_EQ(imported.code, 0) << imported.err;
  EXPECT_EQ(imported.out, "imported/checkpoints/step-000000000.h5\n");
  EXPECT_EQ(hidden_in(here), Words{});
  EXPECT_EQ(here.run({"eval", "imported", "--corpus", "text.txt"}).code, 0);
  here.write("started/.lock", "1\n");  // of a training that was killed at once
  EXPECT_EQ(here.run({"import", "hf", "--out", "started"}).code, 0);
  expect_refused(here, {"import", "hf", "--out", "imported"}, {"imported"});
}

TEST(Repeated, RemovalsAreAllOrNothing) {
  const Workspace here;
  here.write(".tmp-run-1/run/checkpoints/step-000000001.h5", "half of a run that is being removed");
  const Words command = {"runs", "rm", "run", "--yes"};
  const Outcome ended = here.run(command);
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(hidden_in(here), Words{});
  EXPECT_EQ(here.run(command).code, 2) << "there is nothing left";
}

TEST(Repeated, AHiddenFileThatIsInUseStays) {
  const Workspace here;
  here.train("run");
  here.write(".tmp-metrics.csv-1", "another process is writing this");
  const int file = ::open((here / ".tmp-metrics.csv-1").c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_EQ(::flock(file, LOCK_EX | LOCK_NB), 0);
  const Words command = {"export-metrics", "run", "--csv", "metrics.csv"};
  EXPECT_EQ(here.run(command).code, 0);
  EXPECT_EQ(hidden_in(here), Words{".tmp-metrics.csv-1"});
  ::close(file);
  EXPECT_EQ(here.run(command).code, 0);
  EXPECT_EQ(hidden_in(here), Words{});
}

}  // namespace
}  // namespace dikkat::testing
