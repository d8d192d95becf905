#pragma once

#include <cstdint>
#include <string>
#include <vector>

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
  bool profile = false;
};
int train_command(const TrainArguments& arguments);

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

}  // namespace dikkat
