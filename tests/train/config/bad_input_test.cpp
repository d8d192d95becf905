#include "tests/train/config/support.h"
#include "train/config/parse.h"

namespace dikkat {
namespace {

using testing::names;

struct BadFile {
  std::string text;
  std::vector<std::string> words;
};

// Every case is a file, and each of the words must be in the message.
const BadFile kBadFiles[] = {
    // not TOML
    {"[model]\nbias = False", {"f.toml:2:8: ", "TOML"}},
    {"[optim]\nschedule = cosine", {":2:12", "TOML"}},
    {"[data]\ncorpus = data/tales.txt", {":2:", "TOML"}},
    {"[tokenizer]\nkind = \"char", {":2:", "TOML"}},
    {"[tokenizer]\nkind = \"char\nx = 1", {":2:", "TOML"}},
    {"[optim]\nlearning_rate = .001", {":2:17", "TOML"}},
    {"[optim]\nlearning_rate = 1.", {":2:", "TOML"}},
    {"[optim]\nlearning_rate = 1e400", {":2:", "TOML"}},
    {"[train]\nmax_steps = 99999999999999999999", {":2:", "99999999999999999999"}},
    {"[train]\nmax_steps = 0010", {":2:", "TOML"}},
    {"[train]\nmax_steps = 1,000", {":2:", "TOML"}},
    {"[train]\nmax_steps: 1000", {":2:", "TOML"}},
    {"[train]\nmax_steps =", {":2:", "TOML"}},
    {"[train", {":1:", "TOML"}},
    {"[]", {":1:2", "TOML"}},
    {"import torch", {":1:", "TOML"}},
    {"{\"model\": {\"n_layer\": 4}}", {":1:1", "TOML"}},
    {"[model]\nn_layer = 4\nn_layer = 5", {":3:", "n_layer"}},
    {"[model]\nn_layer = 4\n[train]\nseed = 1\n[model]\nn_head = 4", {":5:1", "model"}},
    {"model.n_layer = 4\n[model]\nn_head = 4", {":2:1", "model"}},
    {"[tokenizer]\nkind = \"\xFF\"", {":2:", "utf-8"}},
    {"a = 1 # \x01", {":1:", "TOML"}},
    {"[data]\ncorpus = [\"a\", \"b\"", {":2:", "TOML"}},
    // unknown keys and sections
    {"[optim]\nlearning_rat = 1e-3", {"f.toml:2:1: ", "optim.learning_rat", "optim.learning_rate"}},
    {"[optim]\nlearningRate = 1e-3", {"optim.learning_rate"}},
    {"[train]\nbatch-size = 3", {"train.batch_size"}},
    {"[train]\nmax_step = 3", {"train.max_steps"}},
    {"[train]\nevla_interval = 3", {"train.eval_interval"}},
    {"[train]\nwarmup = 3", {"optim.warmup_steps"}},
    {"[model]\nblok_size = 3", {"model.block_size"}},
    {"[train]\nlearning_rate = 1e-3", {":2:1: ", "train.learning_rate", "optim.learning_rate"}},
    {"n_layer = 3", {":1:1: ", "n_layer", "model.n_layer"}},
    {"kind = \"gpt\"", {"kind", "model.kind"}},
    {"[model]\nn_heads = 12", {"model.n_heads", "model.n_head?"}},
    {"[train]\nbananas = 3", {"train.bananas", "dikkat config keys"}},
    {"bananas = 3", {"bananas", "dikkat config keys"}},
    {"[train]\n\"a b\\n\" = 3", {"train.\"a b\\n\""}},
    {"[optimizer]\nlearning_rate = 1e-3", {":1:2: ", "[optimizer]", "[optim]"}},
    {"[training]\nseed = 1", {"[training]", "[train]"}},
    {"[modle]\nn_layer = 1", {"[modle]", "[model]"}},
    {"[zoo]\nn_layer = 1", {"[zoo]", "[model], [tokenizer], [data], [optim], [train]"}},
    {"model = 3", {":1:1: ", "3", "section", "[model]"}},
    {"[[model]]\nn_layer = 3", {"model", "list", "[model]"}},
    {"[model.n_layer]\nx = 1", {"model.n_layer", "section", "integer"}},
    // wrong types
    {"[optim]\nlearning_rate = \"3e-4\"", {":2:1: ", "optim.learning_rate", "\"3e-4\"", "number"}},
    {"[optim]\nlearning_rate = \"fast\"", {"optim.learning_rate", "\"fast\"", "number", "0", "1"}},
    {"[train]\nmax_steps = \"100\"", {"train.max_steps", "\"100\"", "integer"}},
    {"[model]\nbias = \"true\"", {"model.bias", "\"true\"", "true or false"}},
    {"[model]\nbias = 1", {"model.bias", "1", "true or false"}},
    {"[model]\nqkv_bias = 0.0", {"model.qkv_bias", "0.0", "true or false"}},
    {"[train]\nmax_steps = 2000.0", {"train.max_steps", "2000.0", "integer"}},
    {"[train]\nmax_steps = 0.5", {"train.max_steps", "0.5", "integer"}},
    {"[train]\nmax_steps = true", {"train.max_steps", "true", "integer"}},
    {"[train]\nseed = 1979-05-27", {"train.seed", "date", "integer"}},
    {"[model]\ndropout = [0.1]", {"model.dropout", "list", "number"}},
    {"[tokenizer]\nkind = 3", {"tokenizer.kind", "3", "\"byte\", \"char\""}},
    {"[data]\ncorpus = \"a.txt\"", {"data.corpus", "\"a.txt\"", "list"}},
    {"[data]\ncorpus = [\"a.txt\", 3]", {"data.corpus", "3", "list of strings"}},
    {"[data]\ncorpus = [[\"a.txt\"]]", {"data.corpus", "a list", "strings"}},
    {"[model]\nrope_short_factors = 2.0", {"model.rope_short_factors", "2.0", "list of numbers"}},
    {"[model]\nrope_short_factors = \"2.0\"", {"model.rope_short_factors", "list of numbers"}},
    {"[model]\nrope_short_factors = [1, \"2\"]", {"model.rope_short_factors", "\"2\"", "list of numbers"}},
    // out of range
    {"[model]\nrope_short_factors = [1.5, 0.0]", {"model.rope_short_factors", "[1.5, 0.0]", "above 0"}},
    {"[model]\nrope_short_factors = [1.5, nan]", {"model.rope_short_factors", "nan", "above 0"}},
    {"[model]\nrope_amplitude = 0", {"model.rope_amplitude", "0.0", "above 0"}},
    {"[optim]\nlearning_rate = 0", {"optim.learning_rate", "0.0", "number", "1"}},
    {"[optim]\nlearning_rate = -1e-3", {"optim.learning_rate", "-0.001"}},
    {"[optim]\nlearning_rate = nan", {"optim.learning_rate", "nan"}},
    {"[optim]\ngrad_clip = inf", {"optim.grad_clip", "inf", "number", "0"}},
    {"[optim]\nweight_decay = -inf", {"optim.weight_decay", "-inf"}},
    {"[optim]\nbeta1 = 1.0", {"optim.beta1", "1.0", "number", "0", "1"}},
    {"[optim]\nbeta2 = 1.5", {"optim.beta2", "1.5"}},
    {"[optim]\neps = 0.0", {"optim.eps", "0.0", "number", "1e-30", "1"}},
    {"[optim]\nwarmup_steps = -1", {"optim.warmup_steps", "-1", "integer", "0", "999999999"}},
    {"[optim]\ndecay_steps = 0", {"optim.decay_steps", "0"}},
    {"[model]\ndropout = 1", {"model.dropout", "1.0", "number", "0", "1"}},
    {"[model]\nblock_size = 0", {"model.block_size", "0", "integer", "1"}},
    {"[model]\nn_layer = 0", {"model.n_layer", "0"}},
    {"[model]\nn_embd = 10000000", {"model.n_embd", "10000000", "integer", "1", "1000000"}},
    {"[model]\nvocab_size = -5", {"model.vocab_size", "-5"}},
    {"[data]\nval_fraction = 1", {"data.val_fraction", "1.0", "number"}},
    {"[train]\nbatch_size = 0", {"train.batch_size", "0"}},
    {"[train]\neval_interval = 0", {"train.eval_interval", "0"}},
    {"[train]\nmax_steps = 1000000000", {"train.max_steps", "1000000000", "integer", "1", "999999999"}},
    {"[train]\nseed = -1", {"train.seed", "-1", "integer", "0"}},
    {"[optim]\nschedule = \"cosin\"", {"optim.schedule", "\"cosin\"", "\"constant\", \"linear\", \"cosine\", \"inverse_sqrt\""}},
    {"[model]\nkind = \"bert\"", {"model.kind", "\"bert\"", "\"gpt\", \"encoder_decoder\""}},
    {"[data]\ncorpus = [\"\"]", {"data.corpus", "empty"}},
    {"[data]\ncorpus = [\"a\\u0000b\"]", {"data.corpus", "null"}},
};

TEST(BadFile, IsRefusedWithItsPlace) {
  ASSERT_GE(std::size(kBadFiles), 60U);
  for (const BadFile& bad : kBadFiles) {
    SCOPED_TRACE(bad.text);
    const std::string message = input_error_of([&] { parse_config(bad.text, "f.toml"); });
    EXPECT_TRUE(names(message, bad.words));
    EXPECT_TRUE(message.starts_with("f.toml:")) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    EXPECT_TRUE(schema::is_utf8(message));
  }
}

TEST(BadFile, ThatNestsDeepDoesNotExhaustTheStack) {
  std::string keys = "a";
  std::string lists = "a = ";
  std::string tables = "a = ";
  for (int i = 0; i < 200'000; ++i) {
    keys += ".a";
    lists += '[';
    tables += "{a=";
  }
  EXPECT_TRUE(names(input_error_of([&] { parse_config(keys + " = 1", "f"); }), {"f: ", "deep"}));
  EXPECT_TRUE(names(input_error_of([&] { parse_config('[' + keys + ']', "f"); }), {"f: ", "deep"}));
  EXPECT_TRUE(names(input_error_of([&] { parse_config(lists, "f"); }), {"f:1:", "TOML"}));
  EXPECT_TRUE(names(input_error_of([&] { parse_config(tables, "f"); }), {"f:1:", "TOML"}));
}

TEST(BadFile, DotsInStringsAndCommentsDoNotNest) {
  std::string many;
  for (int i = 0; i < 2000; ++i) {
    many += concat(i == 0 ? "" : ", ", i % 2 == 0 ? "\"a.\\\".txt\"" : "'b.#.txt'");
  }
  const Config config = parse_config(concat("# ...", std::string(2000, '.'), "\n[data]\ncorpus = [", many, "]\n"), "f");
  EXPECT_EQ(config.data.corpus.size(), 2000U);
}

}  // namespace
}  // namespace dikkat
