#include "tests/train/cli/workspace.h"

// Models go out to other programs' files and come back, on the command line.
namespace dikkat::testing {
namespace {

constexpr const char* kTexts[] = {"hf", "model.gguf"};

class Exchange : public ::testing::Test {
 protected:
  Exchange() {
    here.train("run", {"tokenizer.kind=bpe", "tokenizer.vocab_size=280", "model.norm=rms_norm", "model.positions=rope", "model.n_kv_head=1",
                       "model.activation=silu", "model.gated=true", "model.bias=false"});
    for (const char* to : kTexts) {
      const Outcome exported = here.run({"export", "run", "--out", to});
      EXPECT_EQ(exported.code, 0) << exported.err;
      EXPECT_EQ(exported.out, std::string(to) + "\n");
    }
  }
  std::string sample_of(const std::string& model) const {
    const Outcome outcome = here.run({"sample", model, "--prompt", "a", "--temperature", "0", "--max-new-tokens", "40", "--json"});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return Json::parse(outcome.out)["samples"].dump();
  }
  double loss_of(const std::string& model) const {
    const Outcome outcome = here.run({"eval", model, "--corpus", "text.txt", "--json"});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return Json::parse(outcome.out)["loss"].get<double>();
  }
  void expect_refused(const Words& arguments, const Words& words) const {
    const auto before = here.tree();
    const Outcome outcome = here.run(arguments);
    EXPECT_EQ(outcome.code, 2) << outcome.err;
    for (const std::string& word : words) {
      EXPECT_TRUE(contains(outcome.err, word)) << word << " is not in\n" << outcome.err;
    }
    EXPECT_EQ(here.tree(), before) << "what is refused leaves nothing";
  }

  Workspace here;
};

TEST_F(Exchange, FilesServeAsModels) {
  for (const std::string from : kTexts) {
    SCOPED_TRACE(from);
    EXPECT_EQ(sample_of(from), sample_of("run"));
    EXPECT_EQ(loss_of(from), loss_of("run"));
    const Outcome imported = here.run({"import", from, "--out", from + "-run"});
    ASSERT_EQ(imported.code, 0) << imported.err;
    EXPECT_TRUE(contains(imported.err, "llama, ")) << imported.err;
    EXPECT_EQ(sample_of(from + "-run"), sample_of("run"));
    EXPECT_EQ(here.run({"verify", from + "-run"}).code, 0);

    const Outcome tuned = here.run({"train", "--init-from", from, "--corpus", "text.txt", "--out", from + "-tuned", "--set",
                                    "train.max_steps=2", "train.eval_interval=1", "train.eval_tokens=0", "optim.warmup_steps=0"});
    ASSERT_EQ(tuned.code, 0) << tuned.err;
    EXPECT_EQ(here.metrics(from + "-tuned").front()["step"], 0);
    const Outcome again = here.run({"export", from + "-tuned", "--out", from + "-tuned-hf"});
    EXPECT_EQ(again.code, 0) << again.err;
  }
}

TEST_F(Exchange, FilesMayNameAnotherContext) {
  ASSERT_EQ(here.run({"export", "run", "--out", "long", "--context", "4096"}).code, 0);
  EXPECT_EQ(Json::parse(contents(here / "long/config.json"))["max_position_embeddings"], 4096);
  here.train("gpt2", {});
  expect_refused({"export", "gpt2", "--out", "new", "--context", "4096"}, {"--context is 4096, but the model has positions for"});
}

TEST_F(Exchange, RefusalsChangeNothing) {
  expect_refused({"export", "run", "--out", "hf"}, {"hf exists"});
  expect_refused({"export", "run", "--out", "new", "--format", "onnx"}, {"--format is onnx, expected one of hf, gguf, llm.c"});
  expect_refused({"export", "run", "--out", "new", "--dtype", "q8_0"}, {"no weights of q8_0"});
  expect_refused({"export", "run", "--out", "new.bin"}, {"llm.c has no model of the family llama"});
  expect_refused({"import", "run", "--out", "new"}, {"run is no model of another program"});
  expect_refused({"import", "hf", "--out", "run"}, {"run is not empty"});
  expect_refused({"eval", "hf"}, {"name the text to be evaluated with --corpus"});
  expect_refused({"sample", "hf", "--best"}, {"expected a run directory with --best"});
  expect_refused({"sample", "hf", "--newest"}, {"expected a run directory with --newest"});
  expect_refused({"sample", "run", "--context", "5"}, {"--context and --tokenizer are for other programs' files"});
  here.write("broken.gguf", "GGUF and nothing else");
  expect_refused({"import", "broken.gguf", "--out", "new"}, {"broken.gguf"});
}

}  // namespace
}  // namespace dikkat::testing
