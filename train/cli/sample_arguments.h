#pragma once

#include <optional>
#include <string>
#include <vector>

#include "train/cli/chosen_template.h"
#include "train/cli/sample_form.h"
#include "train/cli/shared_options.h"
#include "train/sample/generate.h"
#include "train/sample/translate.h"

namespace dikkat {

struct SampleArguments {
  ModelArguments model;
  std::string weights = "f32";
  std::string cache = "f32";
  std::optional<std::string> prompt;  // "-" reads standard input
  std::string prompt_file;
  std::string prompts;     // a JSONL file of prompts; "-" reads standard input
  std::string messages;    // a JSONL file of conversations and prompts; "-" reads standard input
  TemplateArguments chat;  // the template of conversations
  std::string out;         // the file of answers to `messages`
  int parallel = 0;        // samples that are generated together; 0: not given
  FormArguments form;
  serve::StructuredRequest structure;  // what `form` asks for
  bool interactive = false;
  bool no_special = false;        // names of special tokens in the prompt are ordinary text
  std::vector<std::string> stop;  // a text ends before one of these strings
  bool ignore_end = false;
  std::vector<std::string> length_options;           // --max-new-tokens, if it was given
  std::vector<std::string> gpt_options;              // the given options that are only for a GPT
  std::vector<std::string> encoder_decoder_options;  // the given options that are only for an encoder-decoder
  SampleOptions options;
  TranslateOptions search;
  bool attention = false;
  std::string html;  // the page to write
  bool json = false;

  /// Returns the file with something to answer on each line; empty if there is none.
  const std::string& list() const { return messages.empty() ? prompts : messages; }
  bool has_prompt() const { return prompt || !prompt_file.empty(); }
};

}  // namespace dikkat
