#pragma once

#include <optional>
#include <string>
#include <vector>

#include "train/cli/shared_options.h"
#include "train/sample/generate.h"
#include "train/sample/translate.h"

namespace dikkat {

struct SampleArguments {
  ModelArguments model;
  std::string weights = "f32";
  std::optional<std::string> prompt;  // "-": standard input
  std::string prompt_file;
  std::string prompts;  // a JSONL file of prompts; "-": standard input
  bool interactive = false;
  bool special = false;           // names of special tokens in the prompt are these tokens
  std::vector<std::string> stop;  // strings that end a text before them
  bool ignore_end = false;
  std::vector<std::string> length_options;           // --max-new-tokens, where it was given
  std::vector<std::string> gpt_options;              // those given that only a GPT takes
  std::vector<std::string> encoder_decoder_options;  // those given that only an encoder-decoder takes
  SampleOptions options;
  TranslateOptions search;
  bool attention = false;
  std::string html;  // a page to write
  bool json = false;

  bool has_prompt() const { return prompt || !prompt_file.empty(); }
};

}  // namespace dikkat
