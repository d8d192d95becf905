#include "tests/train/config/support.h"

namespace dikkat {
namespace {

struct BadFile {
  std::string text;
  std::vector<std::string> words;
};

// Every case is a file; each of the words must be in the message.
const BadFile kBadFiles[] = {
    // not TOML
    {"[model]\nbias = False", {"f.toml:2:8: ", "not TOML", "lower case", "bias = False"}},
    {"[model]\nbias = True", {":2:", "lower case"}},
    {"[optim]\nschedule = cosine", {":2:12", "a string needs quotes", "schedule = cosine"}},
    {"[data]\ncorpus = data/tales.txt", {":2:", "a string needs quotes"}},
    {"[data]\ncorpus = /home/me/a.txt", {":2:", "a string needs quotes"}},
    {"[tokenizer]\nkind = \"char", {":2:", "a quote is not closed"}},
    {"[tokenizer]\nkind = \"char\nx = 1", {":2:", "a quote is not closed"}},
    {"[optim]\nlearning_rate = .001", {":2:17", "digits on both sides"}},
    {"[optim]\nlearning_rate = 1.", {":2:", "digits on both sides"}},
    {"[optim]\nlearning_rate = 1e400", {":2:", "too large"}},
    {"[train]\nmax_steps = 99999999999999999999", {":2:", "too large"}},
    {"[train]\nmax_steps = 0010", {":2:", "leading zeros"}},
    {"[train]\nmax_steps = 1,000", {":2:", "max_steps = 1,000"}},
    {"[train]\nmax_steps: 1000", {":2:", "TOML writes key = value"}},
    {"[train]\nmax_steps =", {":2:", "no value after the ="}},
    {"[train]\nmax_steps = None", {":2:", "leave the key out"}},
    {"[train", {":1:", "not TOML"}},
    {"[]", {":1:2", "not TOML"}},
    {"import torch", {":1:", "not TOML", "import torch"}},
    {"{\"model\": {\"n_layer\": 4}}", {":1:1", "looks like JSON"}},
    {"[model]\nn_layer = 4\nn_layer = 5", {":3:", "n_layer is given a second time", "keep one"}},
    {"[model]\nn_layer = 4\n[train]\nseed = 1\n[model]\nn_head = 4", {":5:1", "section [model] is given a second time"}},
    {"model.n_layer = 4\n[model]\nn_head = 4", {":2:1", "section [model] is given a second time"}},
    {"[tokenizer]\nkind = \"\xFF\"", {":2:", "UTF-8"}},
    {"a = 1 # \x01", {":1:", "not TOML"}},
    {"[data]\ncorpus = [\"a\", \"b\"", {":2:", "not TOML"}},
    // unknown keys and sections
    {"[optim]\nlearning_rat = 1e-3", {"f.toml:2:1: unknown key optim.learning_rat", "did you mean optim.learning_rate?"}},
    {"[optim]\nlearningRate = 1e-3", {"did you mean optim.learning_rate?"}},
    {"[train]\nbatch-size = 3", {"did you mean train.batch_size?"}},
    {"[train]\nmax_step = 3", {"did you mean train.max_steps?"}},
    {"[train]\nevla_interval = 3", {"did you mean train.eval_interval?"}},
    {"[train]\nwarmup = 3", {"did you mean optim.warmup_steps?"}},
    {"[model]\nblok_size = 3", {"did you mean model.block_size?"}},
    {"[train]\nlearning_rate = 1e-3", {":2:1: learning_rate belongs in [optim], not in [train]"}},
    {"n_layer = 3", {":1:1: n_layer belongs in [model], not outside of the sections"}},
    {"kind = \"gpt\"", {"kind belongs in [model] or [tokenizer]"}},
    {"[train]\nbananas = 3", {"unknown key train.bananas", "the keys of [train] are batch_size, ", "seed"}},
    {"bananas = 3", {"unknown key bananas", "[model], [tokenizer], [data], [optim], [train]"}},
    {"[train]\n\"a b\\n\" = 3", {"unknown key train.\"a b\\n\""}},
    {"[optimizer]\nlearning_rate = 1e-3", {":1:2: unknown section [optimizer]", "did you mean [optim]?"}},
    {"[training]\nseed = 1", {"did you mean [train]?"}},
    {"[modle]\nn_layer = 1", {"did you mean [model]?"}},
    {"[zoo]\nn_layer = 1", {"unknown section [zoo]", "the sections are [model], [tokenizer], [data], [optim], [train]"}},
    {"model = 3", {":1:1: model is 3, expected a section", "write [model]"}},
    {"[[model]]\nn_layer = 3", {"model is a list of sections", "write [model] once"}},
    {"[model.n_layer]\nx = 1", {"model.n_layer is a section, expected an integer"}},
    // wrong types
    {"[optim]\nlearning_rate = \"3e-4\"", {":2:1: optim.learning_rate is the string \"3e-4\", expected a number", "remove the quotes"}},
    {"[optim]\nlearning_rate = \"fast\"", {"optim.learning_rate is the string \"fast\", expected a number above 0 and at most 1"}},
    {"[train]\nmax_steps = \"100\"", {"expected an integer", "remove the quotes"}},
    {"[model]\nbias = \"true\"", {"expected true or false", "remove the quotes"}},
    {"[model]\nbias = 1", {"model.bias is 1, expected true or false"}},
    {"[model]\nqkv_bias = 0.0", {"model.qkv_bias is 0.0, expected true or false"}},
    {"[train]\nmax_steps = 2000.0", {"train.max_steps is 2000.0, expected an integer", "write 2000"}},
    {"[train]\nmax_steps = 2e3", {"expected an integer", "write 2000"}},
    {"[train]\nmax_steps = 0.5", {"train.max_steps is 0.5, expected an integer"}},
    {"[train]\nmax_steps = true", {"train.max_steps is true, expected an integer"}},
    {"[train]\nseed = 1979-05-27", {"train.seed is a date or time, expected an integer"}},
    {"[model]\ndropout = [0.1]", {"model.dropout is a list, expected a number"}},
    {"[tokenizer]\nkind = 3", {"tokenizer.kind is 3, expected one of \"byte\", \"char\"", "a string needs quotes"}},
    {"[data]\ncorpus = \"a.txt\"", {"data.corpus is the string \"a.txt\", expected a list of strings", "write corpus = [\"a.txt\"]"}},
    {"[data]\ncorpus = [\"a.txt\", 3]", {"data.corpus holds 3, expected a list of strings"}},
    {"[data]\ncorpus = [[\"a.txt\"]]", {"data.corpus holds a list"}},
    // out of range
    {"[optim]\nlearning_rate = 0", {"optim.learning_rate is 0.0, expected a number above 0 and at most 1"}},
    {"[optim]\nlearning_rate = -1e-3", {"optim.learning_rate is -0.001, expected"}},
    {"[optim]\nlearning_rate = nan", {"optim.learning_rate is nan, expected"}},
    {"[optim]\ngrad_clip = inf", {"optim.grad_clip is inf, expected a number of at least 0"}},
    {"[optim]\nweight_decay = -inf", {"optim.weight_decay is -inf, expected"}},
    {"[optim]\nbeta1 = 1.0", {"optim.beta1 is 1.0, expected a number of at least 0 and below 1"}},
    {"[optim]\nbeta2 = 1.5", {"optim.beta2 is 1.5"}},
    {"[optim]\neps = 0.0", {"optim.eps is 0.0, expected a number from 1e-30 to 1"}},
    {"[optim]\nwarmup_steps = -1", {"optim.warmup_steps is -1, expected an integer from 0 to 999999999"}},
    {"[optim]\ndecay_steps = 0", {"optim.decay_steps is 0"}},
    {"[model]\ndropout = 1", {"model.dropout is 1.0, expected a number of at least 0 and below 1"}},
    {"[model]\nblock_size = 0", {"model.block_size is 0, expected an integer from 1"}},
    {"[model]\nn_layer = 0", {"model.n_layer is 0"}},
    {"[model]\nn_embd = 10000000", {"model.n_embd is 10000000, expected an integer from 1 to 1000000"}},
    {"[model]\nvocab_size = -5", {"model.vocab_size is -5"}},
    {"[data]\nval_fraction = 1", {"data.val_fraction is 1.0, expected a number"}},
    {"[train]\nbatch_size = 0", {"train.batch_size is 0"}},
    {"[train]\neval_interval = 0", {"train.eval_interval is 0"}},
    {"[train]\nmax_steps = 1000000000", {"train.max_steps is 1000000000, expected an integer from 1 to 999999999"}},
    {"[train]\nseed = -1", {"train.seed is -1, expected an integer of at least 0"}},
    {"[optim]\nschedule = \"cosin\"",
     {"optim.schedule is \"cosin\"", "one of \"constant\", \"linear\", \"cosine\", \"inverse_sqrt\"", "did you mean \"cosine\"?"}},
    {"[optim]\nschedule = \"noam\"", {"optim.schedule is \"noam\"", "did you mean \"inverse_sqrt\"?"}},
    {"[optim]\nschedule = \"constant_with_warmup\"", {"did you mean \"constant\"?"}},
    {"[model]\nkind = \"bert\"", {"model.kind is \"bert\", expected one of \"gpt\", \"encoder_decoder\""}},
    {"[data]\ncorpus = [\"\"]", {"data.corpus holds an empty string"}},
    {"[data]\ncorpus = [\"a\\u0000b\"]", {"data.corpus", "null character"}},
    // names from elsewhere
    {"[train]\nmax_iters = 5000", {":2:1: max_iters is nanoGPT's name; here it is train.max_steps"}},
    {"max_iters = 5000", {"max_iters is nanoGPT's name; here it is train.max_steps"}},
    {"lr_decay_iters = 5000", {"nanoGPT's", "optim.decay_steps"}},
    {"warmup_iters = 100", {"nanoGPT's", "optim.warmup_steps"}},
    {"eval_iters = 200", {"nanoGPT's", "train.eval_tokens", "0 is the whole validation part"}},
    {"dataset = 'shakespeare_char'", {"nanoGPT's", "data.corpus"}},
    {"device = 'cpu'", {"device is nanoGPT's name", "no such key", "on the CPU"}},
    {"dtype = 'bfloat16'", {"nanoGPT's", "train.precision"}},
    {"[train]\nprecision = 'bfloat16'", {"train.precision", "did you mean \"bf16\"?"}},
    {"compile = false", {"nanoGPT's", "compiled already"}},
    {"decay_lr = true", {"nanoGPT's", "optim.schedule"}},
    {"always_save_checkpoint = false", {"nanoGPT's", "train.checkpoint_interval"}},
    {"out_dir = 'out'", {"nanoGPT's", "--out"}},
    {"init_from = 'runs/mine'", {"init_from belongs in [train]"}},
    {"[model]\nemb_dim = 768", {"emb_dim is Raschka's name; here it is model.n_embd"}},
    {"[model]\nn_heads = 12", {"Raschka's", "model.n_head"}},
    {"[model]\nn_layers = 12", {"Raschka's", "model.n_layer"}},
    {"[model]\ncontext_length = 256", {"Raschka's", "model.block_size"}},
    {"[model]\ndrop_rate = 0.1", {"Raschka's", "model.dropout"}},
    {"num_epochs = 10", {"Raschka's", "train.max_steps", "steps"}},
    {"[model]\nn_positions = 1024", {"Hugging Face's", "model.block_size"}},
    {"[model]\nnum_attention_heads = 12", {"Hugging Face's", "model.n_head"}},
    {"[model]\nhidden_size = 768", {"Hugging Face's", "model.n_embd"}},
    {"[model]\nnum_hidden_layers = 12", {"Hugging Face's", "model.n_layer"}},
    {"[model]\nattn_pdrop = 0.1", {"Hugging Face's", "model.dropout"}},
    {"[optim]\nlr = 1e-3", {"PyTorch's", "optim.learning_rate"}},
};

TEST(BadFile, IsAnsweredWithWhatToDo) {
  ASSERT_GE(std::size(kBadFiles), 60U);
  for (const BadFile& bad : kBadFiles) {
    SCOPED_TRACE(bad.text);
    const std::string message = input_error([&] { parse_config(bad.text, "f.toml"); });
    expect_words(message, bad.words);
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
  expect_words(input_error([&] { parse_config(keys + " = 1", "f"); }), {"too deep"});
  expect_words(input_error([&] { parse_config('[' + keys + ']', "f"); }), {"too deep"});
  expect_words(input_error([&] { parse_config(lists, "f"); }), {"not TOML"});
  expect_words(input_error([&] { parse_config(tables, "f"); }), {"not TOML"});
}

TEST(BadFile, DotsInStringsAndCommentsAreNoNesting) {
  std::string many;
  for (int i = 0; i < 2000; ++i) {
    many += concat(i == 0 ? "" : ", ", i % 2 == 0 ? "\"a.\\\".txt\"" : "'b.#.txt'");
  }
  const Config config = parse_config(concat("# ...", std::string(2000, '.'), "\n[data]\ncorpus = [", many, "]\n"), "f");
  EXPECT_EQ(config.data.corpus.size(), 2000U);
}

}  // namespace
}  // namespace dikkat
