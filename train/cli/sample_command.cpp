#include <cstdio>
#include <sstream>

#include <fmt/format.h>
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

/// Where no prompt is given, text begins after an end of line; a vocabulary without one begins with what stands between documents, or
/// with its first token.
std::vector<Token> default_prompt(const Tokenizer& tokenizer) {
  try {
    const std::vector<Token> line_break = tokenizer.encode("\n");
    if (tokenizer.decode(line_break) == "\n") {
      return line_break;
    }
  } catch (const EncodeError&) {
  }
  return {tokenizer.separator().value_or(0)};
}

/// A continuation as it reads after the prompt: words come with the blank that parts them from it.
std::string text_after(const Tokenizer& tokenizer, std::vector<Token> prompt, const std::vector<Token>& continuation) {
  const std::size_t given = tokenizer.decode(prompt).size();
  prompt.insert(prompt.end(), continuation.begin(), continuation.end());
  return tokenizer.decode(prompt).substr(given);
}

void put_json(const nlohmann::ordered_json& object) {
  put(object.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + '\n');
}

void require_no(const std::vector<std::string>& options, const TrainedModel& trained, const char* is, const char* wanted) {
  if (!options.empty()) {
    fail_input(options.front(), " is for ", wanted, ", but ", trained.checkpoint.path().string(), " holds ", is);
  }
}

void go_on(const SampleArguments& arguments, const TrainedModel& trained, const std::string& prompt) {
  const auto tokens = arguments.has_prompt ? encode_prompt(*trained.tokenizer, prompt) : default_prompt(*trained.tokenizer);
  stop_in_order();
  std::vector<std::vector<Token>> samples;
  for (Sample& sample : generate(trained.model->gpt(), {.size = trained.tokenizer->vocab_size()}, tokens, arguments.options,
                                 {.stop = [] { return stop_requested(); }})) {
    samples.push_back(std::move(sample.tokens));
  }
  if (arguments.json) {
    nlohmann::ordered_json object{{"prompt", prompt}, {"seed", arguments.options.seed}, {"samples", nlohmann::ordered_json::array()}};
    for (const auto& sample : samples) {
      object["samples"].push_back({{"text", text_after(*trained.tokenizer, tokens, sample)}, {"tokens", sample}});
    }
    put_json(object);
    return;
  }
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const std::string text = prompt + text_after(*trained.tokenizer, tokens, samples[i]);
    put(concat(i > 0 ? "---------------\n" : "", text, text.ends_with('\n') ? "" : "\n"));
  }
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    if (line.ends_with('\r')) {
      line.pop_back();
    }
    lines.push_back(line);
  }
  return lines;
}

nlohmann::ordered_json json_of(const LayerAttention& layer) {
  return {{"layer", layer.layer}, {"heads", layer.heads}, {"queries", layer.queries}, {"keys", layer.keys}, {"weights", layer.weights}};
}

/// The last layer's cross-attention, the mean of its heads: a row per word of the answer, a column per word of the source, in percent.
std::string table_of(const std::vector<LayerAttention>& layers, const Tokenizer& tokenizer, const std::vector<Token>& source,
                     const std::vector<Token>& target) {
  const auto word = [&](Token token) { return tokenizer.decode(std::span(&token, 1)); };
  const LayerAttention& last = layers.back();
  std::vector<std::string> columns;
  for (const Token token : source) {
    columns.push_back(word(token));
  }
  std::vector<Token> rows = target;
  rows.push_back(tokenizer.sequence_tokens()->end);

  std::string table = fmt::format("  {:>14}", "");
  for (const std::string& column : columns) {
    table += fmt::format("  {:>5}", column);
  }
  for (index query = 0; query < last.queries; ++query) {
    table += fmt::format("\n  {:>14}", word(rows[static_cast<std::size_t>(query)]));
    for (index key = 0; key < last.keys; ++key) {
      double mean = 0;
      for (index head = 0; head < last.heads; ++head) {
        mean += static_cast<double>(last.weights[static_cast<std::size_t>((head * last.queries + query) * last.keys + key)]);
      }
      const auto width = std::max<std::size_t>(5, columns[static_cast<std::size_t>(key)].size());
      table += fmt::format("  {:>{}.0f}", 100 * mean / static_cast<double>(last.heads), width);
    }
  }
  return table + '\n';
}

void answer(const SampleArguments& arguments, const TrainedModel& trained, const std::string& prompt) {
  require_input(arguments.has_prompt, "an encoder-decoder answers a source; give one with --prompt TEXT, or one a line with --prompt -");
  const EncoderDecoder& model = trained.model->encoder_decoder();
  const Tokenizer& tokenizer = *trained.tokenizer;
  const std::vector<std::string> lines = lines_of(prompt);
  require_input(!lines.empty(), "the prompt is empty, expected a source, or several, one a line");
  std::vector<std::vector<Token>> sources;
  for (const std::string& line : lines) {
    try {
      sources.push_back(encode_source(tokenizer, line, trained.model->block_size()));
    } catch (const InputError& e) {
      fail_input("prompt: ", lines.size() > 1 ? concat("line ", sources.size() + 1, ": ") : "", e.what());
    }
  }
  TranslateOptions options = arguments.search;
  options.max_new_tokens = arguments.has_max_new_tokens ? arguments.options.max_new_tokens : 0;
  stop_in_order();
  const auto answers = translate(model, tokenizer, sources, options, [] { return stop_requested(); });
  nlohmann::ordered_json object{{"prompt", prompt}, {"beam", options.beam}, {"samples", nlohmann::ordered_json::array()}};
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const Translation& found = answers[i];
    const std::string text = tokenizer.decode(found.tokens);
    const auto layers = arguments.attention ? attention_of(model, tokenizer, sources[i], found.tokens) : std::vector<LayerAttention>();
    if (!arguments.json) {
      put(text + '\n' + (arguments.attention ? table_of(layers, tokenizer, sources[i], found.tokens) : ""));
      continue;
    }
    nlohmann::ordered_json sample{
        {"source", lines[i]}, {"text", text}, {"tokens", found.tokens}, {"log_probability", found.log_probability}, {"ended", found.ended}};
    if (arguments.attention) {
      sample["attention"] = nlohmann::ordered_json::array();
      for (const LayerAttention& layer : layers) {
        sample["attention"].push_back(json_of(layer));
      }
    }
    object["samples"].push_back(std::move(sample));
  }
  if (arguments.json) {
    put_json(object);
  }
}

}  // namespace

int sample_command(const SampleArguments& arguments) {
  const TrainedModel trained = load_trained_model(arguments.source, arguments.best);
  const bool is_gpt = trained.model->is_gpt();
  require_no(is_gpt ? arguments.encoder_decoder_options : arguments.gpt_options, trained, is_gpt ? "a GPT" : "an encoder-decoder",
             is_gpt ? "an encoder-decoder" : "a GPT");
  const std::string prompt = arguments.prompt == "-" ? read_standard_input() : arguments.prompt;
  if (is_gpt) {
    go_on(arguments, trained, prompt);
  } else {
    answer(arguments, trained, prompt);
  }
  flush_results();
  return stop_requested() ? 128 + stop_signal() : 0;
}

}  // namespace dikkat
