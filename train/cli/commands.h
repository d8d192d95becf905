#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "train/data/corpus.h"
#include "train/sample/generate.h"
#include "train/sample/translate.h"

// What the command line can do. Each returns the exit code, and throws InputError (exit code 2) or Error (1).
// Words for people go to stderr, results to stdout.
namespace dikkat {

struct TrainArguments {
  std::string config;
  std::vector<std::string> corpus;
  std::string out;  // empty: runs/<name of the configuration>, with a number where that is taken
  std::vector<std::string> set;
  std::string init_from;
  bool profile = false;
  bool verify_resume = false;
};
int train_command(const TrainArguments& arguments);

struct PlanArguments {
  std::string config;
  std::vector<std::string> corpus;
  std::string out;
  std::vector<std::string> set;
  bool json = false;
};
int plan_command(const PlanArguments& arguments);

struct ResumeArguments {
  std::string run_directory;
  std::vector<std::string> set;
  bool latest_good = false;
  bool profile = false;
};
int resume_command(const ResumeArguments& arguments);

struct EvalArguments {
  std::string source;  // RUN_DIR or FILE.h5
  bool best = false;
  std::vector<std::string> corpus;
  index stride = 0;
  bool exact_match = false;
  bool json = false;
};
int eval_command(const EvalArguments& arguments);

struct SampleArguments {
  std::string source;
  bool best = false;
  std::string prompt;  // "-": standard input
  bool has_prompt = false;
  std::string prompt_file;
  bool interactive = false;
  std::vector<std::string> stop;  // strings that end a text before them
  bool ignore_end = false;
  bool has_max_new_tokens = false;
  std::vector<std::string> gpt_options;              // those given that only a GPT takes
  std::vector<std::string> encoder_decoder_options;  // those given that only an encoder-decoder takes
  SampleOptions options;
  TranslateOptions search;
  bool attention = false;
  bool json = false;
};
int sample_command(const SampleArguments& arguments);

struct InspectArguments {
  std::string source;
  bool best = false;
  bool json = false;
};
int inspect_command(const InspectArguments& arguments);

int verify_command(const std::string& source);

struct TokenizerTrainArguments {
  std::vector<std::string> corpus;
  TokenizerOptions options{.kind = "bpe", .vocab_size = 8192};
  CorpusOptions reading;
  std::string out;  // FILE.json, or a folder
};
int tokenizer_train_command(const TokenizerTrainArguments& arguments);

struct TokenizerEncodeArguments {
  std::string tokenizer;  // a tokenizer's file or folder, RUN_DIR or FILE.h5
  std::optional<std::string> text{};
  std::vector<std::string> corpus;  // in place of a text; none: standard input
  CorpusOptions reading;
  bool json = false;
};
int tokenizer_encode_command(const TokenizerEncodeArguments& arguments);

struct TokenizerDecodeArguments {
  std::string tokenizer;
  std::vector<std::string> ids;  // none: from standard input
};
int tokenizer_decode_command(const TokenizerDecodeArguments& arguments);

struct TokenizerInspectArguments {
  std::string tokenizer;
  std::optional<std::string> text{};
  bool json = false;
};
int tokenizer_inspect_command(const TokenizerInspectArguments& arguments);

struct CorpusInspectArguments {
  std::vector<std::string> corpus;
  std::string tokenizer;  // a file, or empty: made of the kind
  TokenizerOptions options{.kind = "char", .vocab_size = 8192};
  CorpusOptions reading;
  double val_fraction = 0.1;
  bool json = false;
};
int corpus_inspect_command(const CorpusInspectArguments& arguments);

}  // namespace dikkat
