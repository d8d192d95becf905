#include "tests/train/cli/workspace.h"

// A small model of the Llama family from training to text: its parts together, on the command line.
namespace dikkat::testing {
namespace {

/// Three heads of queries for each head of keys, a head size that does not follow from the width, and every other key of the family.
constexpr const char* kLlamaKeys = R"([model]
n_layer = 2
n_head = 6
n_kv_head = 2
n_embd = 16
head_size = 4
n_hidden = 24
block_size = 24
dropout = 0.1
bias = false
qkv_bias = true
norm = "rms_norm"
norm_eps = 1e-6
qk_norm = true
positions = "rope"
rope_theta = 500.0
rope_scaling = "llama3"
rope_factor = 2.0
rope_original_context = 16
activation = "silu"
gated = true
logit_softcap = 15.0
)";

class Llama : public ::testing::TestWithParam<const char*> {
 protected:
  Llama() {
    const std::string tiny = kTinyConfig;
    here.write("tiny.toml", kLlamaKeys + tiny.substr(tiny.find("[tokenizer]")));
  }
  std::string kind() const { return std::string("optim.kind=") + GetParam(); }

  const Workspace here;
};

TEST_P(Llama, StoppedAndResumedEndsInTheSameBytes) {
  const Outcome trained = here.train("whole", {kind(), "train.max_steps=60"});
  // The parameters are the table; two blocks of c_attn with its bias, the norms of heads, c_proj, gate and up, down, two norms; and a norm.
  const int expected = 256 * 16 + 2 * (40 * 16 + 40 + 2 * 4 + 16 * 24 + 48 * 16 + 16 * 24 + 2 * 16) + 16;
  EXPECT_EQ(here.log("whole").front()["parameters"], expected) << trained.err;
  const auto stop_at = [&](const Words& arguments, long lines, const char* threads) {
    Program program(here.here(arguments, {.environment = {{"OMP_NUM_THREADS", threads}}}));
    EXPECT_TRUE(program.until([&] { return here.metric_lines("parts") >= lines; })) << lines;
    program.send(SIGINT);
    EXPECT_EQ(program.wait().code, 128 + SIGINT);
  };
  stop_at({"train", "--config", "tiny.toml", "--out", "parts", "--set", kind(), "train.max_steps=60"}, 7, "1");
  stop_at({"resume", "parts"}, 20, "2");
  const Outcome resumed = here.run({"resume", "parts"});
  EXPECT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_EQ(here.timeless_metrics("parts"), here.timeless_metrics("whole"));
  ASSERT_NE(here.checkpoint("whole", 60), "");
  EXPECT_TRUE(here.checkpoint("parts", 60) == here.checkpoint("whole", 60)) << "the checkpoints differ";
  EXPECT_LT(here.metrics("whole").back()["val_loss"].get<double>(), 4) << "it learns";
}

TEST_P(Llama, IsEvaluatedToTheBitOfItsLastEvaluation) {
  here.train("run", {kind()});
  const Outcome evaluated = here.run({"eval", "run", "--json"}, {.environment = {{"OMP_NUM_THREADS", "1"}}});
  ASSERT_EQ(evaluated.code, 0) << evaluated.err;
  EXPECT_EQ(Json::parse(evaluated.out)["loss"], here.metrics("run").back()["val_loss"]);
}

TEST_P(Llama, WritesTheSameTextBeyondItsContextOnAnyNumberOfThreads) {
  here.train("run", {kind()});
  const Words words = {"sample", "run", "--prompt", "the lamp ", "--max-new-tokens", "60", "--num-samples", "3", "--seed", "5"};
  const Outcome first = here.run(words);
  ASSERT_EQ(first.code, 0) << first.err;
  expect_named(first.err, {" 24 "});
  EXPECT_EQ(here.run(words, {.environment = {{"OMP_NUM_THREADS", "1"}}}).out, first.out);
}

INSTANTIATE_TEST_SUITE_P(With, Llama, ::testing::Values("adamw", "muon"), [](const auto& kind) { return std::string(kind.param); });

}  // namespace
}  // namespace dikkat::testing
