#include "train/cli/command_line.h"

#include <charconv>
#include <functional>
#include <sstream>

#include <CLI/CLI.hpp>

#include "autograd/base/error.h"
#include "autograd/base/parallel.h"
#include "train/cli/commands.h"
#include "train/cli/streams.h"
#include "train/config/advice.h"
#include "train/config/parse.h"
#include "train/loop/build_info.h"

namespace dikkat {
namespace {

constexpr const char* kFooter = R"(Examples:
  dikkat plan --config configs/quickstart.toml --corpus my-text.txt
  dikkat train --config configs/quickstart.toml --corpus my-text.txt --out runs/mine
  dikkat resume runs/mine --set train.max_steps=4000
  dikkat eval runs/mine --json
  dikkat sample runs/mine --prompt "Once" --temperature 0.7 --num-samples 3
  dikkat inspect runs/mine
  dikkat verify runs/mine
  dikkat corpus inspect my-text.txt
  dikkat tokenizer train --corpus my-text.txt --vocab-size 4096 --out my-tokenizer

`dikkat COMMAND --help` tells about one of them, `dikkat --help-config` about every key of a configuration.
Exit codes: 0, 1 for a failure, 2 for bad input, 130, 143 and 129 after SIGINT, SIGTERM and SIGHUP (the run is saved).)";

/// Ends parsing: somebody asked for the keys of a configuration, whatever else is missing.
struct HelpForKeysWanted {};

/// Arguments come before options in our usage lines, since an option that takes several values would swallow them.
class Help : public CLI::Formatter {
 public:
  std::string make_usage(const CLI::App* app, std::string name) const override {
    std::string usage = "Usage: " + name + (app->get_subcommands({}).empty() ? "" : " COMMAND");
    for (const CLI::Option* option : app->get_options()) {
      if (option->get_positional()) {
        usage += ' ' + option->get_name();
      } else if (option->get_required()) {
        usage += ' ' + option->get_name() + ' ' + option->get_type_name();
      }
    }
    return usage + " [OPTIONS]\n";
  }
};

const char* kind_of(double) { return "a number"; }
template <std::integral N>
const char* kind_of(N) {
  return "an integer";
}

/// CLI11's own conversion lets -1 be a large unsigned number, and a number that is too large the largest one.
template <class N>
N read_number(const std::string& option, const std::string& text, N low, N high) {
  N value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  require_input(whole && value >= low && value <= high, option, " is ", text.empty() ? "empty" : text, ", expected ", kind_of(low),
                " from ", low, " to ", high);
  return value;
}

/// An option that takes one number from `low` to `high`.
template <class N>
CLI::Option* add_number(CLI::App& app, const std::string& name, N& value, N low, N high, const std::string& help) {
  const auto read = [=, &value](const std::string& text) { value = read_number(name, text, low, high); };
  return app.add_option_function<std::string>(name, read, help)->type_name(std::integral<N> ? "N" : "X");
}

/// The commands with their arguments; `chosen` is the one that was named.
struct CommandLine {
  CLI::App app{"dikkat trains GPT models, and encoder-decoders, on CPUs: from a text, to checkpoints, to samples.", "dikkat"};
  int threads = 0;
  std::function<int()> chosen;

  PlanArguments plan;
  TrainArguments train;
  ResumeArguments resume;
  EvalArguments eval;
  SampleArguments sample;
  InspectArguments inspect;
  std::string verify;
  TokenizerTrainArguments tokenizer_train;
  TokenizerEncodeArguments tokenizer_encode;
  TokenizerDecodeArguments tokenizer_decode;
  TokenizerInspectArguments tokenizer_inspect;
  CorpusInspectArguments corpus_inspect;

  CommandLine() {
    app.formatter(std::make_shared<Help>());
    app.set_version_flag("--version", "dikkat " + build_info().version);
    add_number(app, "--threads", threads, 1, 4096, "Threads of kernels; by default OMP_NUM_THREADS, or the cores that the process may use");
    app.add_flag_function(
           "--help-config", [](std::int64_t) { throw HelpForKeysWanted(); }, "Every key of a configuration")
        ->trigger_on_parse();
    app.require_subcommand(0, 1);
    app.fallthrough();  // --threads may stand after the command too
    add_train();
    add_resume();
    add_eval();
    add_sample();
    add_inspect();
    add_verify();
    add_plan();
    add_tokenizer();
    add_corpus();
    app.footer(kFooter);
  }

 private:
  CLI::App& command(const char* name, const char* what, const char* examples, std::function<int()> call, CLI::App* parent = nullptr) {
    CLI::App* sub = (parent == nullptr ? &app : parent)->add_subcommand(name, what);
    sub->group("Commands");
    sub->footer(concat("Examples:\n", examples));
    sub->callback([this, call = std::move(call)] { chosen = call; });
    return *sub;
  }

  /// Paths and texts: an empty one is a mistake, such as a variable of the shell that is not set.
  template <class Text>
  static CLI::Option* add_text(CLI::App& sub, const char* name, Text& value, const char* type, const char* help) {
    const auto check = [](const std::string& text) { return std::string(text.empty() ? "the value is empty" : ""); };
    return sub.add_option(name, value, help)->type_name(type)->check(check, "");
  }

  static void add_source(CLI::App& sub, std::string& source, bool& best) {
    add_text(sub, "RUN_DIR|FILE.h5", source, "", "The newest checkpoint of a run directory, or a checkpoint")->required();
    sub.add_flag("--best", best, "Of a run directory the checkpoint with the lowest validation loss");
  }

  static void add_profile(CLI::App& sub, bool& profile) {
    sub.add_flag("--profile", profile, "At the end: where the time of the steps went, by op");
  }

  void add_plan() {
    constexpr const char* kExamples = R"(  dikkat plan --config configs/quickstart.toml
  dikkat plan --config configs/gpt2-124m.toml --corpus texts/ --set train.batch_size=1 train.recompute=block
  dikkat plan --config configs/quickstart.toml --corpus my-text.txt --out /data/runs/mine --json
The corpus is read and tokenized as for training. Three steps are made to see how long they take; nothing is written
but the tokens of a large text, which training then finds (data.cache).)";
    CLI::App& sub = command("plan", "What training would take: memory, disk, time", kExamples, [this] { return plan_command(plan); });
    add_text(sub, "--config", plan.config, "FILE", "Configuration, TOML")->required();
    add_text(sub, "--corpus", plan.corpus, "PATH", "Text files and folders, or pairs; in place of data.corpus");
    add_text(sub, "--out", plan.out, "DIR", "Where the run is to be, to look at the disk there; by default runs/");
    add_text(sub, "--set", plan.set, "KEY=VALUE", "section.key=value, in place of the file's");
    sub.add_flag("--json", plan.json, "One object: memory (bytes by part), machine, disk, trial");
  }

  void add_train() {
    constexpr const char* kExamples = R"(  dikkat train --config configs/quickstart.toml
  dikkat train --config configs/quickstart.toml --corpus my-text.txt notes/ --out runs/mine --set train.max_steps=500 model.n_layer=6
  dikkat train --config configs/quickstart.toml --corpus letters/*.txt --init-from runs/mine --set optim.learning_rate=1e-4
  dikkat train --config configs/quickstart.toml --verify-resume
  zcat dump.jsonl.gz | grep -v spam | dikkat train --config configs/quickstart.toml --corpus -
`dikkat --help-config` tells about every key of a configuration.)";
    CLI::App& sub = command("train", "Train a model on a corpus", kExamples, [this] { return train_command(train); });
    add_text(sub, "--config", train.config, "FILE", "Configuration, TOML")->required();
    add_text(sub, "--corpus", train.corpus, "PATH",
             "Text files and folders, for an encoder-decoder of pairs (.tsv); in place of data.corpus");
    add_text(sub, "--out", train.out, "DIR", "Run directory to be made; by default runs/NAME after the configuration, or runs/NAME-2 ...");
    add_text(sub, "--set", train.set, "KEY=VALUE", "section.key=value, in place of the file's");
    add_text(sub, "--init-from", train.init_from, "RUN_DIR|FILE.h5",
             "Fine-tuning: begin with the weights of another run, and its tokenizer. [model] and tokenizer.kind must be the same");
    add_profile(sub, train.profile);
    sub.add_flag("--verify-resume", train.verify_resume,
                 "Instead of a run: prove that one of this configuration can be resumed to the same bits. Trains six steps in one go, and "
                 "with a stop in the middle and another number of threads after it, and compares the bytes; leaves nothing");
  }

  void add_resume() {
    constexpr const char* kExamples = R"(  dikkat resume runs/mine
  dikkat resume runs/mine --set train.max_steps=4000)";
    CLI::App& sub = command("resume", "Go on with a run from its newest checkpoint, to the same bits as without the stop", kExamples,
                            [this] { return resume_command(resume); });
    add_text(sub, "RUN_DIR", resume.run_directory, "", "The directory of a run")->required();
    add_text(sub, "--set", resume.set, "KEY=VALUE", "section.key=value that a run can take, such as train.max_steps=4000; it is recorded");
    sub.add_flag("--latest-good", resume.latest_good, "Where the newest checkpoint is damaged: go on from the newest good one");
    add_profile(sub, resume.profile);
  }

  void add_eval() {
    constexpr const char* kExamples = R"(  dikkat eval runs/mine
  dikkat eval runs/mine --best --corpus another-text.txt --json
  dikkat eval runs/mine --corpus book.txt --stride 16
  dikkat eval runs/pairs --corpus unseen-pairs.tsv --exact-match)";
    CLI::App& sub =
        command("eval", "Loss over the whole validation part, or over a text", kExamples, [this] { return eval_command(eval); });
    add_source(sub, eval.source, eval.best);
    add_text(sub, "--corpus", eval.corpus, "PATH", "Evaluate all of these texts");
    add_number(sub, "--stride", eval.stride, index{1}, index{1'000'000},
               "Predict N tokens in each window, the others being context: slower, and usually a lower loss; by default all of the window");
    sub.add_flag("--exact-match", eval.exact_match,
                 "Of an encoder-decoder: also the share of sources that it answers with the very target");
    sub.add_flag("--json", eval.json, "One object: loss (nats), standard_error, perplexity, bits_per_byte, tokens");
  }

  void add_sample() {
    constexpr const char* kExamples = R"(  dikkat sample runs/mine --prompt "Once upon" --max-new-tokens 200
  dikkat sample runs/mine --temperature 0.7 --top-p 0.9 --num-samples 3 --seed 7
  dikkat sample runs/mine --prompt "Q: why?" --stop "Q:" --temperature 0
  dikkat sample runs/mine --interactive --min-p 0.05 --repetition-penalty 1.2
  echo -n "Once upon" | dikkat sample runs/mine --prompt - --json --logprobs
An encoder-decoder answers the prompt, or each line of it:
  dikkat sample runs/pairs --prompt "When you play game of thrones" --attention
  dikkat sample runs/pairs --beam 4 --prompt - < sources.txt
One sample is shown as it is made. Ctrl-C ends it with what there is; with --interactive only that answer, Ctrl-D the session, and an empty
line goes on with the last text. A text ends by itself where the model ends a document, if its tokenizer has a mark for that. A text that
outgrows the model's context goes on: whenever the context is full its oldest quarter is dropped, and standard error says so.)";
    constexpr index kMost = 1'000'000'000;
    constexpr index kMostSamples = 1'000'000;
    constexpr index kMostBeam = 1'000;
    CLI::App& sub = command("sample", "Generate text", kExamples, [this] { return sample_command(sample); });
    const auto only = [](std::vector<std::string>& given, CLI::Option* option) {
      option->each([&given, name = option->get_name()](const std::string&) { given.push_back(name); });
    };
    add_source(sub, sample.source, sample.best);
    const auto take_prompt = [this](const std::string& text) {
      sample.prompt = text;
      sample.has_prompt = true;
    };
    sub.add_option_function<std::string>("--prompt", take_prompt,
                                         "Text to go on from; - reads it from standard input; by default a new line")
        ->type_name("TEXT");
    add_text(sub, "--prompt-file", sample.prompt_file, "FILE", "The same from a file, all of it");
    SampleOptions& o = sample.options;
    add_number(sub, "--max-new-tokens", o.max_new_tokens, index{0}, kMost, "Tokens to generate; an encoder-decoder stops by itself")
        ->default_str(concat(o.max_new_tokens))
        ->each([this](const std::string&) { sample.has_max_new_tokens = true; });
    auto& gpt = sample.gpt_options;
    only(gpt,
         add_number(sub, "--num-samples", o.num_samples, index{1}, kMostSamples, "How many texts")->default_str(concat(o.num_samples)));
    only(gpt, add_number(sub, "--temperature", o.temperature, 0.0, 1000.0, "0: always the likeliest token; 1: as the model says")
                  ->default_str(concat(o.temperature)));
    only(gpt, add_number(sub, "--top-k", o.top_k, index{0}, kMost, "Draw among the K likeliest tokens; 0: among all")
                  ->default_str(concat(o.top_k)));
    only(gpt, add_number(sub, "--top-p", o.top_p, 0.0, 1.0,
                         "Draw among the fewest likeliest tokens that have this share of the probability; 1: among all")
                  ->default_str(concat(o.top_p)));
    only(gpt, add_number(sub, "--min-p", o.min_p, 0.0, 1.0,
                         "Draw among tokens that are at least this share as likely as the likeliest; 0: among all")
                  ->default_str(concat(o.min_p)));
    only(gpt, add_number(sub, "--repetition-penalty", o.repetition_penalty, 0.0, 1000.0,
                         "Above 1: tokens that the prompt or the text has become less likely")
                  ->default_str(concat(o.repetition_penalty)));
    only(gpt, sub.add_option("--stop", sample.stop, "A text ends before this string; may be given several times")
                  ->type_name("TEXT")
                  ->expected(1)
                  ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll));
    only(gpt, add_number(sub, "--seed", o.seed, std::uint64_t{0}, std::numeric_limits<std::uint64_t>::max(),
                         "The same seed gives the same text, on any number of threads")
                  ->default_str(concat(o.seed)));
    auto& encoder_decoder = sample.encoder_decoder_options;
    TranslateOptions& search = sample.search;
    only(encoder_decoder, add_number(sub, "--beam", search.beam, index{1}, kMostBeam,
                                     "Of an encoder-decoder: follow the N likeliest texts; 1: always the likeliest token")
                              ->default_str(concat(search.beam)));
    only(encoder_decoder,
         add_number(sub, "--length-penalty", search.length_penalty, 0.0, 100.0, "Of a beam: the higher, the longer the texts that win")
             ->default_str(concat(search.length_penalty)));
    sub.add_flag_callback(
        "--attention",
        [this] {
          sample.attention = true;
          sample.encoder_decoder_options.emplace_back("--attention");
        },
        "Of an encoder-decoder: what each word of the answer looked at in the source; with --json the weights of all layers");
    const auto gpt_flag = [&](const char* names, const char* name, bool& value, const char* help) {
      const auto take = [&gpt, &value, name] {
        value = true;
        gpt.emplace_back(name);
      };
      sub.add_flag_callback(names, take, help);
    };
    gpt_flag("--ignore-end", "--ignore-end", sample.ignore_end, "Go on past the end of a document");
    gpt_flag("-i,--interactive", "--interactive", sample.interactive,
             "Ask for prompts, with a history; where standard input is no terminal, each line of it is one");
    sub.add_flag("--json", sample.json, "One object: prompt, seed, samples");
    gpt_flag("--logprobs", "--logprobs", o.log_probabilities, "With --json: the logarithm of each token's probability, as the model says");
  }

  void add_inspect() {
    constexpr const char* kExamples = R"(  dikkat inspect runs/mine
  dikkat inspect runs/mine/checkpoints/step-000000700.h5 --json)";
    CLI::App& sub = command("inspect", "What is in a checkpoint: step, parameters, tensors, configuration, tokenizer", kExamples,
                            [this] { return inspect_command(inspect); });
    add_source(sub, inspect.source, inspect.best);
    sub.add_flag("--json", inspect.json, "One object");
  }

  /// A command that is a word for its own commands.
  CLI::App& group(const char* name, const char* what) {
    CLI::App* sub = app.add_subcommand(name, what);
    sub->group("Commands");
    sub->require_subcommand(1);
    return *sub;
  }

  static void add_reading(CLI::App& sub, CorpusOptions& reading) {
    add_text(sub, "--text-field", reading.text_field, "NAME", "The field of a line of JSONL that has the text; by default text");
    sub.add_flag("--replace-invalid", reading.replace_invalid, "What is not UTF-8 becomes U+FFFD, instead of being refused");
  }

  static constexpr const char* kCorpusHelp = "Text files, folders, patterns, .jsonl, .gz, .zst; - is standard input";
  static constexpr const char* kTokenizerHelp =
      "A tokenizer.json, GPT-2's vocab.bpe beside its encoder.json, a folder with one of these, a run or a checkpoint";

  void add_tokenizer() {
    constexpr index kMostTokens = index{1} << 24;
    CLI::App& tokenizer = group("tokenizer", "Make tokenizers, and turn text into ids and back");
    {
      constexpr const char* kExamples = R"(  dikkat tokenizer train --corpus texts/ --vocab-size 16000 --out my-tokenizer
  dikkat train --config configs/quickstart.toml --corpus texts/ --set tokenizer.kind=bpe tokenizer.path=my-tokenizer)";
      TokenizerTrainArguments& a = tokenizer_train;
      CLI::App& sub = command(
          "train", "Learn a tokenizer from a corpus", kExamples, [this] { return tokenizer_train_command(tokenizer_train); }, &tokenizer);
      add_text(sub, "--corpus", a.corpus, "PATH", kCorpusHelp)->required();
      add_text(sub, "--out", a.out, "PATH", "FILE.json, or a folder for tokenizer.json, vocab.bpe and encoder.json")->required();
      add_text(sub, "--kind", a.options.kind, "KIND", "bpe, char, word or byte")->default_str(a.options.kind);
      add_number(sub, "--vocab-size", a.options.vocab_size, index{257}, kMostTokens, "Of bpe: tokens to end with")
          ->default_str(concat(a.options.vocab_size));
      add_number(sub, "--min-count", a.options.min_count, index{1}, index{1'000'000'000}, "Of word: rarer words are <unk>")
          ->default_str(concat(a.options.min_count));
      add_reading(sub, a.reading);
    }
    {
      constexpr const char* kExamples = R"(  dikkat tokenizer encode my-tokenizer --text "Once upon a time"
  dikkat tokenizer encode runs/mine < my-text.txt
  dikkat tokenizer encode gpt2/ --corpus texts/ --json > ids.json)";
      TokenizerEncodeArguments& a = tokenizer_encode;
      CLI::App& sub = command(
          "encode", "Text to ids", kExamples, [this] { return tokenizer_encode_command(tokenizer_encode); }, &tokenizer);
      add_text(sub, "TOKENIZER", a.tokenizer, "", kTokenizerHelp)->required();
      sub.add_option("--text", a.text, "A text; by default what --corpus names, or standard input")->type_name("TEXT");
      add_text(sub, "--corpus", a.corpus, "PATH", kCorpusHelp);
      add_reading(sub, a.reading);
      sub.add_flag("--json", a.json, "An array");
    }
    {
      constexpr const char* kExamples = R"(  dikkat tokenizer decode my-tokenizer 15496 995
  dikkat tokenizer decode runs/mine < ids.json)";
      TokenizerDecodeArguments& a = tokenizer_decode;
      CLI::App& sub = command(
          "decode", "Ids to text", kExamples, [this] { return tokenizer_decode_command(tokenizer_decode); }, &tokenizer);
      add_text(sub, "TOKENIZER", a.tokenizer, "", kTokenizerHelp)->required();
      add_text(sub, "ID", a.ids, "", "Ids; by default from standard input, with spaces, commas or brackets between");
    }
    {
      constexpr const char* kExamples = R"(  dikkat tokenizer inspect my-tokenizer
  dikkat tokenizer inspect runs/mine --text "How is this cut?")";
      TokenizerInspectArguments& a = tokenizer_inspect;
      CLI::App& sub = command(
          "inspect", "What a tokenizer is, and how it cuts a text", kExamples,
          [this] { return tokenizer_inspect_command(tokenizer_inspect); }, &tokenizer);
      add_text(sub, "TOKENIZER", a.tokenizer, "", kTokenizerHelp)->required();
      sub.add_option("--text", a.text, "Show the tokens of this text")->type_name("TEXT");
      sub.add_flag("--json", a.json, "One object");
    }
  }

  void add_corpus() {
    constexpr const char* kExamples = R"(  dikkat corpus inspect my-text.txt
  dikkat corpus inspect dump.jsonl.zst --text-field body --tokenizer gpt2/ --json)";
    CorpusInspectArguments& a = corpus_inspect;
    CLI::App& corpus = group("corpus", "Look at texts before training on them");
    CLI::App& sub = command(
        "inspect", "Documents, bytes, characters, tokens, the split, and a sample", kExamples,
        [this] { return corpus_inspect_command(corpus_inspect); }, &corpus);
    add_text(sub, "PATH", a.corpus, "", kCorpusHelp)->required();
    add_text(sub, "--tokenizer", a.tokenizer, "PATH", "Count its tokens; by default one is made of the kind");
    add_text(sub, "--kind", a.options.kind, "KIND", "bpe, char, word or byte")->default_str(a.options.kind);
    add_number(sub, "--vocab-size", a.options.vocab_size, index{257}, index{1} << 24, "Of bpe")->default_str(concat(a.options.vocab_size));
    add_number(sub, "--val-fraction", a.val_fraction, 0.0, 0.999999, "Share of the text that is for validation")
        ->default_str(concat(a.val_fraction));
    add_reading(sub, a.reading);
    sub.add_flag("--json", a.json, "One object");
  }

  void add_verify() {
    constexpr const char* kExamples = R"(  dikkat verify runs/mine
  dikkat verify runs/mine/checkpoints/step-000000700.h5)";
    CLI::App& sub = command("verify", "Read and check every byte of a checkpoint, or of all in a run directory", kExamples,
                            [this] { return verify_command(verify); });
    add_text(sub, "RUN_DIR|FILE.h5", verify, "", "A run directory or a checkpoint")->required();
  }
};

/// "; did you mean WORD?" where one of the words is near, else `otherwise`.
std::string guess(const std::vector<std::string>& words, const std::string& word, const std::string& otherwise) {
  const std::vector<std::string_view> views(words.begin(), words.end());
  const std::string_view nearest = schema::nearest_word(views, word);
  return nearest.empty() ? otherwise : concat("; did you mean ", nearest, "?");
}

/// About the first argument that no command and no option has taken.
std::string describe_stray(const CLI::App& app, const CLI::App& command, const std::string& stray) {
  if (stray.starts_with('-')) {
    std::vector<std::string> options;
    for (const CLI::App* part : {&command, &app}) {
      for (const CLI::Option* option : part->get_options([](const CLI::Option* o) { return o->nonpositional(); })) {
        options.push_back(option->get_name());
      }
    }
    return concat("unknown option ", stray, guess(options, stray.substr(0, stray.find('=')), ""));
  }
  const auto subcommands = command.get_subcommands([](const CLI::App*) { return true; });
  if (subcommands.empty()) {
    return concat(command.get_name(), " takes no argument ", stray);
  }
  std::vector<std::string> commands;
  std::string list;
  for (const CLI::App* sub : subcommands) {
    commands.push_back(sub->get_name());
    list += concat(list.empty() ? "" : ", ", sub->get_name());
  }
  return concat("unknown command ", stray, guess(commands, stray, concat("; the commands are ", list)));
}

[[noreturn]] void refuse(const CLI::App& app, const CLI::ParseError& error, std::span<char*> arguments) {
  const CLI::App* named = &app;
  std::string path;  // of the command that was named: "tokenizer train "
  while (!named->get_subcommands().empty()) {
    named = named->get_subcommands().front();
    path += named->get_name() + ' ';
  }
  const CLI::App& command = *named;
  const std::string advice = concat(" (see dikkat ", path, "--help)");

  const auto strays = app.remaining(true);
  for (const char* argument : arguments) {
    if (std::find(strays.begin(), strays.end(), argument) != strays.end()) {
      fail_input(describe_stray(app, command, argument), advice);
    }
  }
  const std::string what = error.what();
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) {
    const std::string name = what.substr(0, what.find(':'));
    const CLI::Option* option = command.get_option_no_throw(name);
    const bool several = option != nullptr && option->get_items_expected_max() > 1;
    fail_input(name, several ? " takes one value or more" : " takes one value, once", advice);
  }
  fail_input(what, advice);
}

}  // namespace

int run_command_line(int argc, char** argv) {
  CommandLine line;
  try {
    line.app.parse(argc, argv);
  } catch (const HelpForKeysWanted&) {
    put(help_for_keys());
    flush_results();
    return 0;
  } catch (const CLI::Success& e) {  // --help, --version
    std::ostringstream text;
    line.app.exit(e, text, text);
    put(text.str());
    flush_results();
    return 0;
  } catch (const CLI::ParseError& e) {
    refuse(line.app, e, std::span(argv, static_cast<std::size_t>(argc)).subspan(1));
  }
  if (!line.chosen) {
    tell(line.app.help());
    constexpr int kUsage = 2;
    return kUsage;
  }
  if (line.threads > 0) {
    set_thread_count(line.threads);
  }
  return line.chosen();
}

}  // namespace dikkat
