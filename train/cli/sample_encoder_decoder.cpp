#include "train/cli/sample_encoder_decoder.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "train/cli/terminal/json_output.h"
#include "train/cli/terminal/signals.h"
#include "train/cli/terminal/text.h"
#include "train/cli/unknown_words.h"

namespace dikkat {
namespace {

nlohmann::ordered_json json_of(const LayerAttention& layer) {
  return {{"layer", layer.layer}, {"heads", layer.heads}, {"queries", layer.queries}, {"keys", layer.keys}, {"weights", layer.weights}};
}

/// Returns a table of the last layer's cross-attention, averaged over heads, in percent: a row per word of the answer, a column per word of
/// the source.
std::string table_of(const std::vector<LayerAttention>& layers, const Tokenizer& tokenizer, const std::vector<Token>& source,
                     const std::vector<Token>& target) {
  const auto word = [&](Token token) { return tokenizer.decode(std::span(&token, 1)); };
  const LayerAttention& last = layers.back();
  std::vector<std::string> columns;
  columns.reserve(source.size());
  for (const Token token : source) {
    columns.push_back(word(token));
  }
  std::vector<Token> rows = target;
  rows.push_back(tokenizer.sequence_tokens()->end);

  std::string table =
      "  attention of each word of the answer (rows) to the words of the source, percent (cross-attention of the last layer, mean of its "
      "heads)\n";
  table += fmt::format("  {:>14}", "");
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

TranslateOptions search_of(const SampleArguments& arguments) {
  TranslateOptions options = arguments.search;
  options.max_new_tokens = arguments.length_options.empty() ? 0 : arguments.options.max_new_tokens;
  return options;
}

nlohmann::ordered_json json_of(const Translation& found, const std::string& text, const std::vector<LayerAttention>& layers) {
  nlohmann::ordered_json sample{
      {"text", text}, {"tokens", found.tokens}, {"log_probability", found.log_probability}, {"ended", found.ended}};
  for (const LayerAttention& layer : layers) {
    sample["attention"].push_back(json_of(layer));
  }
  return sample;
}

/// Returns the attention weights of all layers with --attention, otherwise nothing.
std::vector<LayerAttention> wanted_attention(const SampleArguments& arguments, const TrainedModel& trained,
                                             const std::vector<Token>& source, const std::vector<Token>& target) {
  return arguments.attention ? attention_of(trained.model->encoder_decoder(), *trained.tokenizer, source, target)
                             : std::vector<LayerAttention>();
}

/// Encodes the lines of a prompt. If there are several lines, one that cannot be encoded has no tokens, and a warning is printed.
std::vector<std::vector<Token>> sources_of(const std::vector<std::string>& lines, const TrainedModel& trained) {
  std::vector<std::vector<Token>> sources;
  for (const std::string& line : lines) {
    const std::string place = lines.size() > 1 ? concat("line ", sources.size() + 1, ": ") : "";
    try {
      sources.push_back(encode_source_at("prompt: " + place, trained, line));
    } catch (const InputError& e) {
      const std::string what = concat("prompt: ", place, e.what());
      if (lines.size() == 1) {
        fail_input(what);
      }
      warn(concat("dikkat: ", what));
      sources.emplace_back();
    }
  }
  return sources;
}

}  // namespace

std::vector<Token> encode_source_at(const std::string& place, const TrainedModel& trained, const std::string& text) {
  std::vector<Token> source = encode_source(*trained.tokenizer, text, trained.model->block_size());
  warn_of_unknown_words(place, *trained.tokenizer, text);
  return source;
}

bool answer(const SampleArguments& arguments, const TrainedModel& trained, const std::string& prompt) {
  require_input(arguments.has_prompt(),
                "an encoder-decoder answers a source; give one with --prompt TEXT, or one per line with --prompt -");

  // Answer the sources that can be encoded.
  const Tokenizer& tokenizer = *trained.tokenizer;
  const std::vector<std::string> lines = lines_of(prompt);
  require_input(!lines.empty(), "the prompt is empty, expected one source per line");
  const std::vector<std::vector<Token>> sources = sources_of(lines, trained);
  std::vector<std::vector<Token>> usable;
  std::copy_if(sources.begin(), sources.end(), std::back_inserter(usable), [](const auto& source) { return !source.empty(); });
  const TranslateOptions options = search_of(arguments);
  stop_in_order();
  const auto answers =
      usable.empty() ? std::vector<Translation>() : translate(trained.model->encoder_decoder(), tokenizer, usable, options, stop_requested);

  // Print a line for each source.
  nlohmann::ordered_json object{{"prompt", prompt}, {"beam", options.beam}, {"samples", nlohmann::ordered_json::array()}};
  auto next = answers.begin();
  for (std::size_t i = 0; i < sources.size(); ++i) {
    if (sources[i].empty()) {
      if (arguments.json) {
        object["samples"].push_back({{"source", lines[i]}, {"text", nullptr}});
      } else {
        print_result("\n");
      }
      continue;
    }
    if (next == answers.end()) {
      break;  // interrupted
    }
    const Translation& found = *next++;
    const std::string text = tokenizer.decode(found.tokens);
    const auto layers = wanted_attention(arguments, trained, sources[i], found.tokens);
    if (!arguments.json) {
      print_model_text(text + '\n' + (arguments.attention ? table_of(layers, tokenizer, sources[i], found.tokens) : ""));
      continue;
    }
    nlohmann::ordered_json sample;
    sample["source"] = lines[i];
    sample.update(json_of(found, text, layers));
    object["samples"].push_back(std::move(sample));
  }
  if (arguments.json) {
    print_json(object);
  }
  return usable.size() == sources.size();
}

std::vector<nlohmann::ordered_json> answers_of(const SampleArguments& arguments, const TrainedModel& trained,
                                               std::span<const std::vector<Token>> sources) {
  const auto found = translate(trained.model->encoder_decoder(), *trained.tokenizer, sources, search_of(arguments), stop_requested);
  std::vector<nlohmann::ordered_json> answers;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const auto layers = wanted_attention(arguments, trained, sources[i], found[i].tokens);
    answers.push_back(json_of(found[i], trained.tokenizer->decode(found[i].tokens), layers));
  }
  return answers;
}

}  // namespace dikkat
