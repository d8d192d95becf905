#include <cstdio>

#include <nlohmann/json.hpp>

#include "train/cli/commands.h"
#include "train/cli/signals.h"
#include "train/cli/streams.h"
#include "train/cli/trained_model.h"

namespace dikkat {
namespace {

std::string read_standard_input() {
  std::string text;
  char block[4096];
  for (std::size_t count = 0; (count = std::fread(block, 1, sizeof block, stdin)) > 0;) {
    text.append(block, count);
  }
  require(std::ferror(stdin) == 0, "the prompt cannot be read from standard input");
  return text;
}

std::vector<Token> encode_prompt(const Tokenizer& tokenizer, const std::string& prompt) {
  try {
    return tokenizer.encode(prompt);
  } catch (const EncodeError& e) {
    fail_input("prompt: ", e.what());
  }
}

/// Where no prompt is given, text begins after an end of line; a vocabulary without one begins with its first token.
std::vector<Token> default_prompt(const Tokenizer& tokenizer) {
  try {
    return tokenizer.encode("\n");
  } catch (const EncodeError&) {
    return {0};
  }
}

}  // namespace

int sample_command(const SampleArguments& arguments) {
  const TrainedModel trained = load_trained_model(arguments.source, arguments.best);
  const std::string prompt = arguments.prompt == "-" ? read_standard_input() : arguments.prompt;
  const auto tokens = arguments.has_prompt ? encode_prompt(*trained.tokenizer, prompt) : default_prompt(*trained.tokenizer);
  stop_in_order();
  const auto samples =
      generate(trained.model->gpt(), trained.tokenizer->vocab_size(), tokens, arguments.options, [] { return stop_requested(); });

  if (arguments.json) {
    nlohmann::ordered_json object{{"prompt", prompt}, {"seed", arguments.options.seed}, {"samples", nlohmann::ordered_json::array()}};
    for (const auto& sample : samples) {
      object["samples"].push_back({{"text", trained.tokenizer->decode(sample)}, {"tokens", sample}});
    }
    put(object.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + '\n');
  } else {
    for (std::size_t i = 0; i < samples.size(); ++i) {
      const std::string text = prompt + trained.tokenizer->decode(samples[i]);
      put(concat(i > 0 ? "---------------\n" : "", text, text.ends_with('\n') ? "" : "\n"));
    }
  }
  flush_results();
  return stop_requested() ? 128 + stop_signal() : 0;
}

}  // namespace dikkat
