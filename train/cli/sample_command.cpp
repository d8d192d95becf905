#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <memory>
#include <set>
#include <sstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "autograd/base/parallel.h"
#include "train/cli/better_checkpoint.h"
#include "train/cli/commands.h"
#include "train/cli/json_output.h"
#include "train/cli/sample_gpt.h"
#include "train/cli/shared_options.h"
#include "train/cli/signals.h"
#include "train/cli/streams.h"
#include "train/cli/text.h"
#include "train/data/corpus_files.h"
#include "train/io/file.h"
#include "train/text/word_tokenizer.h"

namespace dikkat {
namespace {

std::string read_standard_input() {
  announce_standard_input("the prompt");
  std::string text;
  char block[4096];
  for (std::size_t count = 0; (count = std::fread(block, 1, sizeof block, stdin)) > 0;) {
    text.append(block, count);
  }
  require(std::ferror(stdin) == 0, "the prompt cannot be read from standard input");
  return text;
}

void require_no(const std::vector<std::string>& options, const TrainedModel& trained, const char* is, const char* wanted) {
  if (!options.empty()) {
    fail_input(options.front(), " is for ", wanted, ", but ", trained.source.path().string(), " holds ", is);
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

/// The last layer's cross-attention, averaged over heads, in percent: a row per word of the answer, a column per word of the source.
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

/// The words of a text that are not in the tokenizer's vocabulary, each once.
std::string unknown_words(const Tokenizer& tokenizer, const std::string& text) {
  std::string list;
  std::set<std::string> told;
  std::istringstream words(text);
  if (tokenizer.kind() != WordTokenizer::kKind) {
    return list;
  }
  for (std::string word; words >> word;) {
    const std::vector<Token> tokens = tokenizer.encode(word);
    if (std::find(tokens.begin(), tokens.end(), WordTokenizer::kUnknown) != tokens.end() && told.insert(word).second) {
      list += (list.empty() ? "" : " ") + word;
    }
  }
  return list;
}

/// Encodes the lines of a prompt. If there are several, a line that cannot be encoded gives a warning and no tokens.
std::vector<std::vector<Token>> sources_of(const std::vector<std::string>& lines, const TrainedModel& trained) {
  std::vector<std::vector<Token>> sources;
  for (const std::string& line : lines) {
    const std::string place = lines.size() > 1 ? concat("line ", sources.size() + 1, ": ") : "";
    try {
      sources.push_back(encode_source(*trained.tokenizer, line, trained.model->block_size()));
      if (const std::string unknown = unknown_words(*trained.tokenizer, line); !unknown.empty()) {
        warn(for_terminal(concat("prompt: ", place, "the model does not know these words and reads each as <unk>: ", unknown)));
      }
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

/// Answers every line of the prompt. False if a line could not be answered; its answer is an empty line.
bool answer(const SampleArguments& arguments, const TrainedModel& trained, const std::string& prompt) {
  require_input(arguments.has_prompt(),
                "an encoder-decoder answers a source; give one with --prompt TEXT, or one per line with --prompt -");
  const EncoderDecoder& model = trained.model->encoder_decoder();
  const Tokenizer& tokenizer = *trained.tokenizer;
  const std::vector<std::string> lines = lines_of(prompt);
  require_input(!lines.empty(), "the prompt is empty, expected one source per line");
  const std::vector<std::vector<Token>> sources = sources_of(lines, trained);
  std::vector<std::vector<Token>> usable;
  std::copy_if(sources.begin(), sources.end(), std::back_inserter(usable), [](const auto& source) { return !source.empty(); });
  TranslateOptions options = arguments.search;
  options.max_new_tokens = arguments.length_options.empty() ? 0 : arguments.options.max_new_tokens;
  stop_in_order();
  const auto answers =
      usable.empty() ? std::vector<Translation>() : translate(model, tokenizer, usable, options, [] { return stop_requested(); });
  nlohmann::ordered_json object{{"prompt", prompt}, {"beam", options.beam}, {"samples", nlohmann::ordered_json::array()}};
  auto next = answers.begin();
  for (std::size_t i = 0; i < sources.size(); ++i) {
    if (sources[i].empty()) {
      if (arguments.json) {
        object["samples"].push_back({{"source", lines[i]}, {"text", nullptr}});
      } else {
        put("\n");
      }
      continue;
    }
    if (next == answers.end()) {
      break;  // interrupted
    }
    const Translation& found = *next++;
    const std::string text = tokenizer.decode(found.tokens);
    const auto layers = arguments.attention ? attention_of(model, tokenizer, sources[i], found.tokens) : std::vector<LayerAttention>();
    if (!arguments.json) {
      put_text(text + '\n' + (arguments.attention ? table_of(layers, tokenizer, sources[i], found.tokens) : ""));
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
  return usable.size() == sources.size();
}

/// Throws InputError for options that do not go together, before a model is loaded.
void check(const SampleArguments& a) {
  check(a.options);
  require_input(!a.prompt || a.prompt_file.empty(), "--prompt and --prompt-file both give a prompt, expected one of them");
  require_input(!a.options.log_probabilities || a.json, "--logprobs is for --json, expected both");
  if (a.interactive) {
    const char* name = a.prompt                    ? "--prompt"
                       : !a.prompt_file.empty()    ? "--prompt-file"
                       : a.options.num_samples > 1 ? "--num-samples"
                       : a.json                    ? "--json"
                                                   : nullptr;
    require_input(name == nullptr, "--interactive asks for prompts and answers each, so it cannot be combined with ",
                  name != nullptr ? name : "", "; drop one of the two");
  }
  for (const std::string& stop : a.stop) {
    require_input(!stop.empty(), "--stop is empty, expected one byte or more");
  }
}

int sample_command(const SampleArguments& arguments) {
  start_threads();
  check(arguments);
  std::string given = arguments.prompt_file.empty() ? "" : read_bytes(arguments.prompt_file);
  if (given.starts_with(kByteOrderMark)) {  // as of a corpus
    given.erase(0, kByteOrderMark.size());
  }
  const TrainedModel trained =
      load_trained_model(arguments.model.source, arguments.model.best, arguments.model.import, packing_named(arguments.weights));
  tell_of_a_better_checkpoint(arguments.model.source, arguments.model.best, trained.source);
  const bool is_gpt = trained.model->is_gpt();
  require_no(is_gpt ? arguments.encoder_decoder_options : arguments.gpt_options, trained, is_gpt ? "a GPT" : "an encoder-decoder",
             is_gpt ? "an encoder-decoder" : "a GPT");
  bool all_answered = true;
  if (arguments.interactive) {
    all_answered = answer_lines(arguments, trained);
  } else {
    const std::string prompt = !arguments.prompt_file.empty() ? given
                               : arguments.prompt == "-"      ? read_standard_input()
                                                              : arguments.prompt.value_or("");
    if (is_gpt) {
      continue_text(arguments, trained, prompt);
    } else {
      all_answered = answer(arguments, trained, prompt);
    }
  }
  flush_results();
  constexpr int kBadInput = 2;
  return stop_requested() ? 128 + stop_signal() : all_answered ? 0 : kBadInput;
}

}  // namespace

void add_sample(Commands& program) {
  constexpr const char* kExamples = R"(  dikkat sample runs/mine --prompt "Once upon" --max-new-tokens 200
  dikkat sample runs/mine --temperature 0.7 --top-p 0.9 --num-samples 3 --seed 7
  dikkat sample runs/mine --prompt "Q: why?" --stop "Q:" --temperature 0
  dikkat sample runs/mine --interactive --min-p 0.05 --repetition-penalty 1.2
  dikkat sample models/smollm2 --weights q8 --prompt "The sea is"
  echo -n "Once upon" | dikkat sample runs/mine --prompt - --json --logprobs
An encoder-decoder answers the prompt, or each line of it:
  dikkat sample runs/pairs --prompt "When you play game of thrones" --attention
  dikkat sample runs/pairs --beam 4 --prompt - < sources.txt
A line that cannot be answered (it is blank, or too long) gives a warning, an empty line as its answer, and exit code 2.
Samples are shown while they are generated, one after another. Ctrl-C stops and keeps what is there; with --interactive it stops only this
answer, Ctrl-D ends the session, and an empty line continues the last text. A text ends where the model ends a document, if its tokenizer has
a token for that. A text may become longer than the model's context: whenever the context is full, its oldest quarter is dropped, and a
message says so.)";
  constexpr index kMost = 1'000'000'000;
  constexpr index kMostSamples = 1'000'000;
  constexpr index kMostBeam = 1'000;
  const auto a = std::make_shared<SampleArguments>();
  Command command = program.add("sample", "Generate text", kExamples, [a] { return sample_command(*a); });
  add_model(command, a->model);
  add_weights(command, a->weights);
  command.any_text("--prompt", a->prompt, "TEXT", "Text to continue; - reads it from standard input; by default a line break");
  command.text("--prompt-file", a->prompt_file, "FILE", "File with the text to continue");
  SampleOptions& o = a->options;
  command.number("--max-new-tokens", o.max_new_tokens, index{0}, kMost, "Tokens to generate; an encoder-decoder stops by itself")
      .note_in(a->length_options);

  auto& gpt = a->gpt_options;
  command.number("--num-samples", o.num_samples, index{1}, kMostSamples, "How many texts").note_in(gpt);
  command
      .number("--temperature", o.temperature, 0.0, 1000.0,
              "0: always the likeliest token; 1: the model's own probabilities; higher: more random")
      .note_in(gpt);
  command.number("--top-k", o.top_k, index{0}, kMost, "Draw among the K likeliest tokens; 0: among all").note_in(gpt);
  command
      .number("--top-p", o.top_p, 0.0, 1.0, "Draw among the smallest set of likeliest tokens whose probabilities add up to X; 1: among all")
      .note_in(gpt);
  command.number("--min-p", o.min_p, 0.0, 1.0, "Draw among tokens at least X times as likely as the likeliest; 0: among all").note_in(gpt);
  command
      .number("--repetition-penalty", o.repetition_penalty, 0.0, 1000.0, "Above 1: makes tokens less likely that are in the text already")
      .note_in(gpt);
  command.repeated("--stop", a->stop, "TEXT", "End a text before this string; may be given several times").note_in(gpt);
  command
      .number("--seed", o.seed, std::uint64_t{0}, std::numeric_limits<std::uint64_t>::max(),
              "The same seed gives the same text, on any number of threads")
      .note_in(gpt);
  command
      .flag("--special", a->special,
            "Names of special tokens in the prompt, such as <|im_start|>, stand for these tokens; otherwise they are text")
      .note_in(gpt);
  command.flag("--ignore-end", a->ignore_end, "Continue past the end of a document").note_in(gpt);
  command
      .flag("-i,--interactive", a->interactive,
            "Ask for prompts, with a history; without a terminal, each line of standard input is a prompt")
      .note_in(gpt);

  auto& encoder_decoder = a->encoder_decoder_options;
  TranslateOptions& search = a->search;
  command
      .number("--beam", search.beam, index{1}, kMostBeam, "For an encoder-decoder: beam search that keeps the N likeliest texts; 1: greedy")
      .note_in(encoder_decoder);
  command.number("--length-penalty", search.length_penalty, 0.0, 100.0, "Of beam search: higher values favour longer texts")
      .note_in(encoder_decoder);
  command
      .flag("--attention", a->attention,
            "For an encoder-decoder: show how much each word of the answer attended to each word of the source; with --json all layers")
      .note_in(encoder_decoder);

  command.flag("--json", a->json, "One object: prompt, seed, samples");
  command.flag("--logprobs", o.log_probabilities, "With --json: the log probability of each token, in nats").note_in(gpt);
}

}  // namespace dikkat
