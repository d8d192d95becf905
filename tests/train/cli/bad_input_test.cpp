#include <sys/stat.h>

#include "tests/train/cli/workspace.h"

// Each command that cannot work ends with one line that names the problem, and changes nothing.
namespace dikkat::testing {
namespace {

struct Case {
  std::string command;  // its words are separated by spaces; single quotes enclose a word that has spaces, or none
  int code;
  Words fragments;  // see expect_named()
};

std::string train(const std::string& rest) { return "train --config tiny.toml --out new " + rest; }
std::string set(const std::string& assignments) { return train("--set " + assignments); }
std::string sweep_of_rest(const std::string& rest) { return "sweep --config tiny.toml --out new " + rest; }
std::string rates(const std::string& rest) { return sweep_of_rest("--vary optim.learning_rate=1e-3,2e-3 " + rest); }

const Case kCases[] = {
    // texts
    {train("--corpus nowhere.txt"), 2, {"/nowhere.txt"}},
    {train("--corpus empty.txt"), 2, {"/empty.txt"}},
    {train("--corpus binary.txt --set tokenizer.kind=char"), 2, {"/binary.txt", "NUL", "byte 3"}},
    {train("--corpus pictures"), 2, {"/pictures", ".txt", ".png"}},
    {train("--corpus pipe"), 2, {"/pipe", "FIFO"}},
    {train("--corpus /dev/zero"), 2, {"/dev/zero", "device"}},
    {train("--corpus text.txt ./text.txt"), 2, {"/text.txt"}},
    {train("--corpus ''"), 2, {"--corpus", "dikkat train --help"}},
    {train("--corpus short.txt"), 2, {"/short.txt", "25", "model.block_size"}},
    {train("--corpus latin.txt --set tokenizer.kind=char"), 2, {"/latin.txt", "byte 3060", "0xE9", "iconv", "tokenizer.kind"}},
    {train("--corpus *.nothing"), 2, {"/*.nothing"}},
    {train("--corpus cut.gz"), 2, {"/cut.gz", "gzip"}},
    {train("--corpus bad.jsonl"), 2, {"/bad.jsonl", "line 2", "column 9"}},
    {train("--corpus d.jsonl --set data.text_field=body"), 2, {"/d.jsonl", "line 1", "\"n\"", "\"body\"", "data.text_field"}},
    {train("--corpus chats.jsonl"), 2, {"/chats.jsonl", "--init-from"}},
    {train("--corpus large.bin"), 2, {"/large.bin", "tokenizer.path"}},
    {train("--corpus large.bin text.txt"), 2, {".bin"}},
    {train("--corpus large.bin --set tokenizer.kind=char tokenizer.path=meta.json"), 2, {"/large.bin", "65535"}},
    {"corpus inspect nowhere", 2, {"nowhere"}},
    {"corpus inspect text.txt --html text.txt", 2, {"text.txt"}},
    {"corpus inspect nul.jsonl", 2, {"/nul.jsonl", "line 1", "NUL", "byte 1", "tokenizer.kind"}},
    {"corpus inspect nul.jsonl --kind bite", 2, {"--kind", "\"bite\"", "\"byte\""}},
    {"corpus inspect d.jsonl --chat --tokenizer llama", 2, {"d.jsonl", "\"messages\""}},
    {"eval run --corpus nowhere.txt", 2, {"nowhere.txt"}},
    {"eval chars --corpus other.txt", 2, {"/other.txt", "byte 4", "'X'", "--unknown skip"}},
    {"eval chars --corpus text.txt --unknown drop", 2, {"--unknown", "drop", "skip"}},

    // configurations
    {"train --config no.toml", 2, {"no.toml", "quickstart"}},
    {"train --config quickstrat", 2, {"quickstart", "dikkat config list"}},
    {"train --config gpt9", 2, {"gpt9", "quickstart"}},
    {"train --config text.txt", 2, {"text.txt:1:4"}},
    {"train --config pictures", 2, {"pictures"}},
    {"train --config unknown.toml", 2, {"unknown.toml:2:1", "model.blocksize", "model.block_size"}},
    {"train --config quoted.toml", 2, {"quoted.toml:2:1", "train.max_steps", "\"100\""}},
    {set("model.n_layr=3"), 2, {"model.n_layr", "model.n_layer"}},
    {set("model.n_layer=many"), 2, {"model.n_layer", "\"many\"", "1000"}},
    {set("model.dropout=1.5"), 2, {"model.dropout", "1.5", " 0 "}},
    {set("optim.learning_rate=nan"), 2, {"optim.learning_rate", "\"nan\""}},
    {set("model.n_head=3"), 2, {"model.n_head", "model.n_embd", "16", "15", "18"}},
    {set("train.max_steps"), 2, {"train.max_steps="}},
    {set("model.vocab_size=10"), 2, {"model.vocab_size", "256"}},
    {set("tokenizer.kind=bpe tokenizer.vocab_size=256"), 2, {"tokenizer.vocab_size", "257"}},
    {set("tokenizer.kind=bpe tokenizer.vocab_size=300 model.vocab_size=100"), 2, {"model.vocab_size", "290"}},
    {set("tokenizer.kind=gpt2"), 2, {"tokenizer.kind", "\"gpt2\"", "\"bpe\""}},
    {set("tokenizer.kind=bpe tokenizer.path=nowhere"), 2, {"/nowhere", "vocab.bpe"}},
    {set("tokenizer.kind=bpe tokenizer.path=damaged.json"), 2, {"/damaged.json", "JSON", "byte 9"}},
    {set("tokenizer.kind=bpe tokenizer.splitter=gpt4"), 2, {"tokenizer.splitter", "\"gpt4\"", "\"qwen2\""}},
    {set("data.cache=text.txt/cache"), 1, {"/text.txt/cache", "data.cache", "Not a directory"}},
    {set("data.cache="), 2, {"data.cache"}},
    {set("data.pack=tight"), 2, {"data.pack", "\"tight\"", "\"stream\""}},
    {set("optim.groups=[]"), 2, {"[[optim.groups]]"}},
    {set("lora.rank=2"), 2, {"lora.rank", "--init-from"}},
    {set("model.n_embd=32768 model.n_layer=400"), 2, {" TB", "model.n_embd"}},
    {set("model.n_embd=1024 train.batch_size=100000"), 2, {" GB", "train.batch_size", "train.recompute"}},
    {train("--epochs 1 --set train.max_steps=3"), 2, {"--epochs", "train.max_steps"}},
    {"plan --config tiny.toml --ranks 3", 2, {"--ranks", "3", "2, 4, 8"}},
    {"train --config pairs.toml --out new --set tokenizer.kind=char", 2, {"tokenizer.kind", "\"word\"", "model.kind"}},
    {"train --config mixed.toml --out new --corpus text.txt", 2, {"data.sources", "data.corpus"}},
    {"train --config mixed.toml --out new --evaluate text.txt", 2, {"--evaluate", "\"text.txt\"", "NAME=PATH"}},
    {"train --config mixed.toml --out new --set data.sources=[]", 2, {"[[data.sources]]"}},
    {"train --config gone.toml", 2, {"/gone.txt"}},
    {"config show quickstart --config tiny.toml", 2, {"quickstart", "tiny.toml"}},
    {"config init tiny.toml", 2, {"tiny.toml"}},
    {"config init nowhere/mine.toml", 2, {"nowhere", "mine.toml"}},

    // folders and files
    {"train --config tiny.toml --out run", 2, {"dikkat resume run"}},
    {"train --config tiny.toml --out pictures", 2, {"pictures", "cat.png", "--out"}},
    {"train --config tiny.toml --out text.txt", 2, {"text.txt", "--out"}},
    {"train --config tiny.toml --out text.txt/run", 2, {"text.txt/run", "Not a directory"}},
    {"train --config tiny.toml --out ''", 2, {"--out", "dikkat train --help"}},
    {"report text.txt", 2, {"text.txt"}},
    {"report pictures", 2, {"pictures", "metrics.jsonl"}},
    {"report nothing", 2, {"nothing"}},
    {"report run --out pictures", 2, {"pictures"}},
    {"report run --out text.txt", 2, {"text.txt"}},
    {"eval run --html text.txt/a.html", 2, {"text.txt", "Not a directory"}},
    {"runs --in nowhere", 2, {"nowhere", "--in"}},
    {"runs diff run", 2, {"runs diff"}},
    {"runs diff run text.txt", 2, {"text.txt"}},
    {"runs rm pictures --yes", 2, {"pictures"}},
    {"runs rm run", 2, {"--yes"}},
    {"export-metrics run", 2, {"--tensorboard", "--csv"}},
    {"export-metrics run --csv text.txt", 2, {"text.txt", ".csv"}},

    // runs to resume
    {"resume nowhere", 2, {"nowhere"}},
    {"resume pictures", 2, {"pictures", "checkpoints"}},
    {"resume run/checkpoints/step-000000004.h5", 2, {"run/checkpoints/step-000000004.h5"}},
    {"resume run --set model.n_layer=3", 2, {"model.n_layer", " 2"}},
    {"resume run --set train.max_steps=2", 2, {"train.max_steps", " 4"}},
    {"resume run --set data.corpus=other.txt train.max_steps=8", 2, {"/other.txt", "sha256"}},
    {"resume run --base chars --set train.max_steps=30", 2, {"run", "--base"}},

    // models
    {"eval nowhere", 2, {"nowhere", "GGUF"}},
    {"--quiet eval nowhere", 2, {"nowhere", "GGUF"}},
    {"serve nowhere", 2, {"nowhere", "GGUF"}},
    {"finetune some-model --data text.txt", 2, {"some-model", "GGUF"}},
    {train("--init-from some-model"), 2, {"some-model", "GGUF"}},
    {"sample model.gguf", 2, {"model.gguf", "PEFT"}},
    {"sample pictures", 2, {"pictures", "dikkat runs"}},
    {"eval pictures", 2, {"pictures", "dikkat runs"}},
    {"eval text.txt", 2, {"text.txt", "checkpoints/step-"}},
    {"eval pipe", 2, {"pipe"}},
    {"eval /dev/zero", 2, {"/dev/zero"}},
    {"eval ''", 2, {"MODEL", "dikkat eval --help"}},
    {"inspect nowhere", 2, {"nowhere", "No such file"}},
    {"verify nowhere", 2, {"nowhere", "No such file"}},
    {"verify pictures", 2, {"pictures", "checkpoints/step-"}},
    {"eval run --best --newest", 2, {"--best", "--newest"}},
    {"eval run --base chars", 2, {"run", "--base"}},
    {"merge run --out new", 2, {"run", "lora.rank"}},
    {"finetune run", 2, {"--data", "data.corpus"}},
    {"finetune run --data text.txt --out new --full --set lora.rank=8", 2, {"--full", "lora.rank", "8"}},
    {"finetune run --config mixed.toml --data text.txt --replay text.txt", 2, {"--replay", "data.sources"}},
    {"finetune hf --data text.txt --out new --set data.window=40961", 2, {"data.window", "40961", "model.block_size", "24"}},
    {"export llama --out pictures", 2, {"pictures"}},
    {"export llama --out new --format onnx", 2, {"--format", "onnx", "gguf"}},
    {"export llama --out new --dtype q8_0", 2, {"q8_0", "f16"}},
    {"export llama --out new.bin", 2, {"llm.c", "llama", "gpt2"}},
    {"export run --out new --context 4096", 2, {"--context", "4096", "24"}},
    {"import run --out new", 2, {"run", ".gguf"}},
    {"import hf --out run", 2, {"dikkat resume run"}},
    {"import broken.gguf --out new", 2, {"broken.gguf"}},
    {"inspect hf --best", 2, {"hf", "--best"}},
    {"sample hf --best", 2, {"hf", "--best"}},
    {"sample hf --newest", 2, {"hf", "--newest"}},
    {"sample run --context 5", 2, {"--context", "--tokenizer"}},

    // evaluating, sampling and serving
    {"eval hf", 2, {"hf", "--corpus"}},
    {"eval run --stride 25", 2, {"stride", "25", "24"}},
    {"eval run --score all", 2, {"--score"}},
    {"eval run --score some", 2, {"--score", "some", "last_answer"}},
    {"eval run --exact-match", 2, {"--exact-match", "run/checkpoints/step-000000004.h5"}},
    {"eval run --threads 0", 2, {"--threads", "0", "4096"}},
    {"sample chars --prompt 'the X'", 2, {"prompt", "byte 4", "'X'"}},
    {"sample chars --prompt th\xff", 2, {"prompt", "byte 2", "0xFF"}},
    {"sample run --prompt ''", 2, {"prompt"}},
    {"sample run --prompt -", 2, {"prompt"}},
    {"sample run --prompt-file nowhere.txt", 2, {"nowhere.txt", "No such file"}},
    {"sample run --prompt-file .", 2, {"Is a directory"}},
    {"sample run --prompt x --prompt-file short.txt", 2, {"--prompt-file"}},
    {"sample run --temperature -1", 2, {"--temperature", "-1", "1000"}},
    {"sample run --temperature nan", 2, {"--temperature", "nan", "1000"}},
    {"sample run --temperature 0 --top-k 9", 2, {"temperature", "top-k"}},
    {"sample run --temperature 0 --top-p 0.9", 2, {"temperature", "top-p"}},
    {"sample run --temperature 0 --min-p 0.1", 2, {"temperature", "min-p"}},
    {"sample run --top-k x", 2, {"--top-k", " x", "1000000000"}},
    {"sample run --top-p 1.5", 2, {"--top-p", "1.5"}},
    {"sample run --top-p 0", 2, {"top-p", " 0", "1"}},
    {"sample run --min-p 1", 2, {"min-p", " 1", "0"}},
    {"sample run --repetition-penalty 0", 2, {"repetition-penalty", " 0"}},
    {"sample run --max-new-tokens 99999999999999999999", 2, {"--max-new-tokens", "99999999999999999999", "1000000000"}},
    {"sample run --num-samples 0", 2, {"--num-samples", " 0", "1000000"}},
    {"sample run --seed -1", 2, {"--seed", "-1", "18446744073709551615"}},
    {"sample run --weights q5", 2, {"--weights", "q5", "q4"}},
    {"sample run --cache f16", 2, {"--cache", "f16", "bf16"}},
    {"eval run --cache q8", 2, {"--cache", "q8", "bf16"}},
    {"sample run --stop ''", 2, {"--stop"}},
    {"sample run --logprobs", 2, {"--logprobs", "--json", "--prompts"}},
    {"sample run -i --num-samples 2", 2, {"--interactive", "--num-samples"}},
    {"sample run -i --prompt x", 2, {"--interactive", "--prompt"}},
    {"sample run -i --prompt-file short.txt", 2, {"--interactive", "--prompt-file"}},
    {"sample run -i --json", 2, {"--interactive", "--json"}},
    {"sample run -i --prompts p.jsonl", 2, {"--interactive", "--prompts"}},
    {"sample run --prompts p.jsonl --prompt x", 2, {"--prompts"}},
    {"sample run --prompts p.jsonl --prompt-file short.txt", 2, {"--prompts", "--prompt-file"}},
    {"sample run --prompts p.jsonl --json", 2, {"--prompts", "--json"}},
    {"sample run --prompts p.jsonl --temperature 0 --top-k 2", 2, {"temperature", "top-k"}},
    {"sample run --prompts p.jsonl --beam 2", 2, {"--beam", "run/checkpoints/step-000000004.h5"}},
    {"sample run --prompts nowhere", 2, {"nowhere", "No such file"}},
    {"sample run --prompts .", 2, {"Is a directory"}},
    {"sample run --prompts ''", 2, {"--prompts", "dikkat sample --help"}},
    {"sample run --beam 2", 2, {"--beam", "run/checkpoints/step-000000004.h5"}},
    {"sample run --attention", 2, {"--attention", "run/checkpoints/step-000000004.h5"}},
    {"sample pairs", 2, {"--prompt"}},
    {"sample pairs --prompt ''", 2, {"prompt"}},
    {"sample pairs --prompt lamp --temperature 1", 2, {"--temperature", "pairs/checkpoints/step-000000001.h5"}},
    {"sample pairs --prompt lamp --num-samples 2", 2, {"--num-samples", "pairs/checkpoints/step-000000001.h5"}},
    {"serve run --best --newest", 2, {"--best", "--newest"}},
    {"serve run --port 70000", 2, {"--port", "70000", "65535"}},
    {"serve run --weights f8", 2, {"--weights", "f8", "q8"}},
    {"serve run --template other", 2, {"--template", "other", "llama3"}},
    {"serve run --template chatml", 2, {"chat.template", "<|im_start|>"}},

    {"export run --out new --modelfile", 2, {"--modelfile", "hf", "gguf"}},
    {"export run --out text.gguf --modelfile --format hf", 2, {"--modelfile", "hf"}},

    // tokenizers
    {"tokenizer", 2, {"encode", "dikkat tokenizer --help"}},
    {"tokenizer frobnicate", 2, {"frobnicate", "encode", "dikkat tokenizer --help"}},
    {"tokenizer encode bytes.json --text a --corpus text.txt", 2, {"--text", "--corpus"}},
    {"tokenizer encode bytes.json --special", 2, {"--special", "--text"}},
    {"tokenizer decode bytes.json 12 lamp", 2, {"\"lamp\"", "255"}},
    {"tokenizer decode bytes.json 256", 2, {"\"256\"", "255"}},
    {"tokenizer render run --messages nowhere.json", 2, {"nowhere.json"}},
    {"tokenizer render run --messages text.txt", 2, {"text.txt", "messages"}},
    {"tokenizer render run", 2, {"--messages"}},
    {"train --corpus text.txt --out new --set chat.template=nowhere.jinja", 2, {"chat.template", "nowhere.jinja", "llama3"}},
    {"train --corpus text.txt --out new --set chat.date=tomorrow", 2, {"chat.date", "tomorrow", "2026-03-09"}},
    {"train --corpus text.txt --out new --set chat.variables=7", 2, {"chat.variables", "7"}},
    {"tokenizer train --corpus text.txt", 2, {"--out", "dikkat tokenizer train --help"}},
    {"tokenizer train --corpus text.txt --out bytes.json", 2, {"bytes.json", "--out"}},
    {"tokenizer train --corpus text.txt --splitter gpt4 --out new", 2, {"--splitter", "gpt4", "qwen2"}},

    // sweeps
    {sweep_of_rest(""), 2, {"--vary", "--seeds"}},
    {sweep_of_rest("--vary optim.learning_rte=1"), 2, {"optim.learning_rte", "optim.learning_rate"}},
    {sweep_of_rest("--vary optim.learning_rate=1e-3,fast"), 2, {"optim.learning_rate", "\"fast\""}},
    {sweep_of_rest("--vary data.val_fraction=0.1,0.2"), 2, {"data.val_fraction"}},
    {sweep_of_rest("--vary lora.dropout=0,0.1"), 2, {"lora.dropout", "lora.rank"}},
    {sweep_of_rest("--vary train.max_steps=10,20"), 2, {"train.max_steps", "--no-halving"}},
    {sweep_of_rest("--vary model.n_layer=1,2 --corpus nowhere.txt"), 2, {"/nowhere.txt"}},
    {rates("--set optim.learning_rate=1"), 2, {"optim.learning_rate", "--set", "--vary"}},
    {rates("--set data.val_fraction=0"), 2, {"data.val_fraction", "data.validation"}},
    {rates("--corpus -"), 2, {"standard input"}},
    {rates("--seeds 1,1"), 2, {"--seeds", " 1 "}},
    {rates("--eta 1"), 2, {"--eta", " 1", "100"}},
    {rates("--budget soon"), 2, {"--budget", "\"soon\"", "90s"}},
    {rates("--budget 0s"), 2, {"--budget", "\"0s\"", "90s"}},
    {rates("--budget=-3m"), 2, {"--budget", "\"-3m\"", "90s"}},
    {rates("--budget 10"), 2, {"--budget", "\"10\"", "90s"}},
    {rates("--budget nanh"), 2, {"--budget", "\"nanh\"", "90s"}},
    {rates("--budget 1e9h"), 2, {"--budget", "\"1e9h\"", "90s"}},
    {rates("--budget '3 m'"), 2, {"--budget", "\"3 m\"", "90s"}},
    {rates("--out again"), 2, {"--out", "dikkat sweep --help"}},
    {"sweep --config tiny.toml --out pictures --vary model.n_layer=1,2", 2, {"pictures", "--out"}},
    {"sweep --config tiny.toml --out text.txt --vary model.n_layer=1,2", 2, {"text.txt", "--out"}},
    {"sweep --resume pictures", 2, {"pictures", "sweep.json"}},
    {"sweep --resume nowhere", 2, {"nowhere", "sweep.json"}},

    // commands and options
    {"tarin --config tiny.toml", 2, {"tarin", "train", "dikkat --help"}},
    {"paint", 2, {"paint", "finetune", "resume", "dikkat --help"}},
    {"train", 2, {"data.corpus", "--corpus"}},
    {"train --config", 2, {"--config", "dikkat train --help"}},
    {"train --config tiny.toml --config tiny.toml", 2, {"--config", "dikkat train --help"}},
    {train("--copus text.txt"), 2, {"--copus", "--corpus", "dikkat train --help"}},
    {train("--max-steps 40"), 2, {"--max-steps", "dikkat train --help"}},
    {"--set train.max_steps=3 finetune run --data text.txt", 2, {"dikkat finetune ... --set ...", "dikkat finetune --help"}},
    {"--vocab-size 300 tokenizer train", 2, {"dikkat tokenizer train ... --vocab-size ..."}},
    {"--temperature 0.5", 2, {"--temperature", "dikkat --help"}},
    {"--color", 2, {"--color", "dikkat --help"}},
    {"eval --json", 2, {"MODEL", "dikkat eval --help"}},
    {"eval run --max-steps=4", 2, {"--max-steps=4", "dikkat eval --help"}},
    {"eval run --jsn=1", 2, {"--jsn", "--json", "dikkat eval --help"}},
    {"eval run more", 2, {"more", "dikkat eval --help"}},
    {"runs pictures", 2, {"pictures", "diff", "dikkat runs --help"}},
    {"runs dif", 2, {"diff", "dikkat runs --help"}},
    {"completion tcsh", 2, {"tcsh", "zsh", "fish"}},
};

Words words_of(const std::string& command) {
  Words words;
  bool in_word = false, quoted = false;
  for (const char c : command) {
    if (c == ' ' && !quoted) {
      in_word = false;
      continue;
    }
    if (!in_word) {
      words.emplace_back();
      in_word = true;
    }
    if (c == '\'') {
      quoted = !quoted;
    } else {
      words.back() += c;
    }
  }
  return words;
}

std::string name_of(const Case& c) {
  std::string name = c.command;
  std::replace_if(
      name.begin(), name.end(), [](char at) { return (at < '0' || at > '9') && (at < 'A' || at > 'Z') && (at < 'a' || at > 'z'); }, '_');
  return name;
}
void PrintTo(const Case& c, std::ostream* out) { *out << name_of(c); }

constexpr const char* kTinyPairsConfig = R"([model]
kind = "encoder_decoder"
n_layer = 1
n_head = 2
n_embd = 16
[tokenizer]
kind = "word"
[data]
corpus = ["pairs.tsv"]
val_fraction = 0.0
[train]
batch_size = 2
max_steps = 1
)";

class BadInput : public ::testing::TestWithParam<Case> {
 protected:
  static void SetUpTestSuite() {
    here_ = std::make_unique<Workspace>();
    here_->write("empty.txt", "");
    here_->write("binary.txt", std::string("abc\0def", 7));
    here_->write("short.txt", "hello");
    here_->write("other.txt", "the X");
    here_->write("latin.txt", std::string(3060, 'e') + "\xe9" + std::string(1000, 'e'));
    here_->write("pictures/cat.png", "a cat");
    here_->write("cut.gz", "\x1f\x8b\x08");
    here_->write("d.jsonl", "{\"n\":1,\"text\":\"a\"}\n");
    here_->write("bad.jsonl", "{\"text\":\"a\"}\n{\"text\":\n");
    here_->write("nul.jsonl", "{\"text\":\"a\\u0000b\"}\n");
    here_->write("chats.jsonl", "{\"prompt\":\"ships\",\"completion\":\"go by\"}\n");
    here_->write("p.jsonl", "\"x\"\n");
    here_->write("large.bin", std::string("\xff\xff", 2) + std::string(200, '\0'));
    here_->write("meta.json", R"({"itos": ["a", "b"], "stoi": {"a": 0, "b": 1}})");
    here_->write("bytes.json", "{\"kind\":\"byte\"}");
    here_->write("damaged.json", "{\"model\":");
    here_->write("broken.gguf", "GGUF and nothing else");
    here_->write("unknown.toml", "[model]\nblocksize = 32\n");
    here_->write("quoted.toml", "[train]\nmax_steps = \"100\"\n");
    here_->write("mixed.toml", "[[data.sources]]\nname = \"lamps\"\ncorpus = [\"text.txt\"]\n");
    here_->write("gone.toml", "[[data.sources]]\nname = \"gone\"\ncorpus = [\"gone.txt\"]\n");
    here_->write("pairs.tsv", "the lamp\tturns\nships\tgo by\n");
    here_->write("pairs.toml", kTinyPairsConfig);
    ASSERT_EQ(::mkfifo((*here_ / "pipe").c_str(), 0600), 0);
  }
  static void TearDownTestSuite() { here_.reset(); }

  /// Makes the models that a command names.
  static void make(const Words& words) {
    const auto names = [&](const std::string& model) {
      return !std::filesystem::exists(*here_ / model) &&
             std::any_of(words.begin(), words.end(), [&](const std::string& word) { return word.substr(0, word.find('/')) == model; });
    };
    if (names("run")) {
      here_->train("run", {"train.max_steps=4"});
    }
    if (names("chars")) {
      here_->train("chars", {"train.max_steps=4", "tokenizer.kind=char"});
    }
    if (names("pairs")) {
      ASSERT_EQ(here_->run({"train", "--config", "pairs.toml", "--out", "pairs"}).code, 0);
    }
    if (names("llama") || names("hf")) {
      here_->train("llama", {"train.max_steps=1", "tokenizer.kind=bpe", "tokenizer.vocab_size=280", "model.norm=rms_norm",
                             "model.positions=rope", "model.activation=silu", "model.gated=true", "model.bias=false"});
      ASSERT_EQ(here_->run({"export", "llama", "--out", "hf"}).code, 0);
    }
  }

  static inline std::unique_ptr<Workspace> here_;
};

/// Expects one line for people, without the traces of a crash.
void expect_one_line(const std::string& text) {
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
  EXPECT_LT(text.size(), 500U) << text;
  for (const char* trace : {"terminate", "what()", "std::", "exception", "Usage:"}) {
    EXPECT_FALSE(contains(text, trace)) << text;
  }
}

TEST_P(BadInput, IsRefused) {
  const Words words = words_of(GetParam().command);
  make(words);
  expect_one_line(expect_refused(*here_, words, GetParam().fragments, GetParam().code));
}

INSTANTIATE_TEST_SUITE_P(All, BadInput, ::testing::ValuesIn(kCases), [](const auto& c) { return name_of(c.param); });

TEST(BadInputFiles, AnUnreadableCorpusIsRefused) {
  if (::geteuid() == 0) {
    GTEST_SKIP() << "root reads everything";
  }
  const Workspace here;
  std::filesystem::permissions(here / "text.txt", std::filesystem::perms::none);
  const Outcome outcome = here.run({"train", "--config", "tiny.toml", "--out", "new"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_TRUE(contains(outcome.err, "text.txt")) << outcome.err;
  EXPECT_FALSE(std::filesystem::exists(here / "new"));
}

TEST(BadInputFiles, ACorpusThatChangedIsFound) {
  const Workspace here;
  here.train("run", {"train.max_steps=4"});
  std::string text = tiny_text();
  text.back() = '!';
  here.write("text.txt", text);
  expect_refused(here, {"resume", "run", "--set", "train.max_steps=8"}, {"/text.txt", "sha256", "dikkat train"});
  expect_refused(here, {"resume", "run"}, {"/text.txt", "sha256"});
  expect_refused(here, {"eval", "run"}, {"/text.txt", "sha256", "dikkat eval --corpus"});
  std::filesystem::remove(here / "text.txt");
  expect_refused(here, {"resume", "run", "--set", "train.max_steps=8"}, {"/text.txt", "dikkat resume run --set data.corpus="});
  expect_refused(here, {"eval", "run"}, {"/text.txt", "dikkat eval run --corpus "});
  EXPECT_EQ(here.run({"sample", "run", "--max-new-tokens", "2"}).code, 0) << "sampling needs only the checkpoint";
  here.write("moved.txt", tiny_text());
  EXPECT_EQ(here.run({"resume", "run", "--set", "data.corpus=moved.txt", "train.max_steps=8"}).code, 0);
  EXPECT_EQ(here.run({"eval", "run", "--corpus", "moved.txt"}).code, 0);
}

TEST(BadInputFiles, NaNIsNeverApplied) {
  const Workspace here;
  const Outcome outcome =
      here.run({"train", "--config", "tiny.toml", "--out", "new", "--set", "optim.learning_rate=1", "optim.weight_decay=10",
                "optim.warmup_steps=0", "optim.schedule=constant", "optim.grad_clip=0", "train.max_steps=100"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.out, "");
  const std::string message = outcome.err.substr(outcome.err.rfind("dikkat: "));
  expect_one_line(message);
  expect_named(message, {"h.", "new/checkpoints/step-", "optim.learning_rate"});
  const Outcome verified = here.run({"verify", "new"});
  EXPECT_EQ(verified.code, 0) << verified.err;
}

}  // namespace
}  // namespace dikkat::testing
