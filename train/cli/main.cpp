#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <new>

#include "autograd/base/error.h"
#include "autograd/base/parallel.h"
#include "train/cli/commands.h"
#include "train/cli/signals.h"
#include "train/cli/text.h"
#include "train/config/parse.h"
#include "train/loop/build_info.h"

namespace dikkat {
namespace {

constexpr int kFailure = 1;
constexpr int kBadInput = 2;

constexpr const char* kExamples = R"(Examples:
  dikkat train --config configs/quickstart.toml --corpus my-text.txt --out runs/mine
  dikkat resume runs/mine --set train.max_steps=4000
  dikkat eval runs/mine --json
  dikkat sample runs/mine --prompt "Once" --temperature 0.7 --num-samples 3
  dikkat inspect runs/mine
  dikkat verify runs/mine

`dikkat COMMAND --help` tells about one of them, `dikkat --help-config` about every key of a configuration.
Exit codes: 0, 1 for a failure, 2 for bad input, 130 and 143 after SIGINT and SIGTERM (the run is saved).)";

/// The commands with their arguments; CLI11 calls `chosen` for the one that was named.
struct CommandLine {
  CLI::App app{"dikkat trains GPT models on CPUs: from a text, to checkpoints, to samples."};
  int threads = 0;
  bool help_config = false;
  std::function<int()> chosen;

  TrainArguments train;
  ResumeArguments resume;
  EvalArguments eval;
  SampleArguments sample;
  InspectArguments inspect;
  std::string verify;

  CommandLine() {
    app.footer(kExamples);
    app.set_version_flag("--version", "dikkat " + build_info().version);
    app.add_option("--threads", threads, "Threads of kernels; by default OMP_NUM_THREADS, or all cores")->check(CLI::Range(1, 4096));
    app.add_flag("--help-config", help_config, "Every key of a configuration");
    app.require_subcommand(0, 1);
    app.fallthrough();  // --threads may stand after the command too
    add_train();
    add_resume();
    add_eval();
    add_sample();
    add_inspect();
    add_verify();
  }

 private:
  CLI::App* command(const char* name, const char* what, std::function<int()> call) {
    CLI::App* sub = app.add_subcommand(name, what);
    sub->callback([this, call] { chosen = call; });
    return sub;
  }

  static void add_source(CLI::App* sub, std::string& source, bool& best) {
    sub->add_option("SOURCE", source, "RUN_DIR (its newest checkpoint) or FILE.h5")->required();
    sub->add_flag("--best", best, "Of a RUN_DIR the checkpoint with the lowest validation loss");
  }

  void add_train() {
    CLI::App* sub = command("train", "Train a model on a corpus", [this] { return train_command(train); });
    sub->add_option("--config", train.config, "Configuration, TOML")->required();
    sub->add_option("--corpus", train.corpus, "Text files and folders; in place of data.corpus");
    sub->add_option("--out", train.out, "Run directory to be made; by default runs/<name of the configuration>");
    sub->add_option("--set", train.set, "section.key=value, in place of the file's");
  }
  void add_resume() {
    CLI::App* sub = command("resume", "Go on with a run from its newest checkpoint, to the same bits as without the stop", [this] { return resume_command(resume); });
    sub->add_option("RUN_DIR", resume.run_directory, "Run directory")->required();
    sub->add_option("--set", resume.set, "section.key=value that a run can take, such as train.max_steps=4000; it is recorded");
    sub->add_flag("--latest-good", resume.latest_good, "Where the newest checkpoint is damaged: go on from the newest good one");
  }
  void add_eval() {
    CLI::App* sub = command("eval", "Loss over the whole validation part, or over a text", [this] { return eval_command(eval); });
    add_source(sub, eval.source, eval.best);
    sub->add_option("--corpus", eval.corpus, "Evaluate all of these texts");
    sub->add_flag("--json", eval.json, "One object: loss (nats), perplexity, bits_per_byte, tokens");
  }
  void add_sample() {
    CLI::App* sub = command("sample", "Generate text", [this] {
      return sample_command(sample);
    });
    add_source(sub, sample.source, sample.best);
    sub->add_option_function<std::string>(
           "--prompt",
           [this](const std::string& text) {
             sample.prompt = text;
             sample.has_prompt = true;
           },
           "Text to go on from; - reads it from standard input")
        ->type_name("TEXT");
    SampleOptions& o = sample.options;
    sub->add_option("--max-new-tokens", o.max_new_tokens, "Tokens to generate")->capture_default_str();
    sub->add_option("--num-samples", o.num_samples, "How many texts")->capture_default_str();
    sub->add_option("--temperature", o.temperature, "0: always the likeliest token; 1: as the model says")->capture_default_str();
    sub->add_option("--top-k", o.top_k, "Draw among the K likeliest tokens; 0: among all")->capture_default_str();
    sub->add_option("--seed", o.seed, "The same seed gives the same text, on any number of threads")->capture_default_str();
    sub->add_flag("--json", sample.json, "One object: prompt, seed, samples");
  }
  void add_inspect() {
    CLI::App* sub = command("inspect", "What is in a checkpoint: step, parameters, tensors, configuration, tokenizer", [this] { return inspect_command(inspect); });
    add_source(sub, inspect.source, inspect.best);
    sub->add_flag("--json", inspect.json, "One object");
  }
  void add_verify() {
    CLI::App* sub = command("verify", "Read and check every byte of a checkpoint, or of all in a run directory", [this] { return verify_command(verify); });
    sub->add_option("SOURCE", verify, "RUN_DIR or FILE.h5")->required();
  }
};

int run(int argc, char** argv) {
  CommandLine line;
  try {
    line.app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) {  // --help, --version
      return line.app.exit(e);
    }
    fmt::print(stderr, "dikkat: {}; see dikkat --help\n", e.what());
    return kBadInput;
  }
  if (line.help_config) {
    fmt::print("{}", help_for_keys());
    flush_results();
    return 0;
  }
  if (!line.chosen) {
    fmt::print(stderr, "{}", line.app.help());
    return kBadInput;
  }
  if (line.threads > 0) {
    set_thread_count(line.threads);
  }
  return line.chosen();
}

}  // namespace
}  // namespace dikkat

int main(int argc, char** argv) {
  dikkat::wait_briefly(argv);
  dikkat::handle_signals();
  try {
    return dikkat::run(argc, argv);
  } catch (const dikkat::InputError& e) {
    fmt::print(stderr, "dikkat: {}\n", e.what());
    return dikkat::kBadInput;
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "dikkat: out of memory\n");
  } catch (const std::exception& e) {
    fmt::print(stderr, "dikkat: {}\n", e.what());
  }
  return dikkat::kFailure;
}
