#include "train/cli/sample_gpt.h"

#include "train/cli/terminal/json_output.h"
#include "train/cli/terminal/line_reader.h"
#include "train/cli/terminal/signals.h"
#include "train/cli/terminal/streams.h"
#include "train/cli/text_page.h"
#include "train/cli/unknown_words.h"
#include "train/sample/prompt.h"
#include "train/system/format_numbers.h"

namespace dikkat {
namespace {

/// Prints the texts of samples that are generated together, one after another. The first sample that is not complete is printed token by
/// token, and the others wait.
class Queue {
 public:
  /// Prints `prompt` before each text.
  Queue(index count, std::string prompt)
      : prompt_(std::move(prompt)), texts_(static_cast<std::size_t>(count)), complete_(static_cast<std::size_t>(count)) {
    show(prompt_);
  }

  void add(index sample, const std::string& text) {
    texts_[static_cast<std::size_t>(sample)] += text;
    if (sample == first_) {
      show(text);
    }
  }

  void complete(index sample) {
    complete_[static_cast<std::size_t>(sample)] = true;
    const auto count = std::ssize(texts_);
    while (first_ < count && complete_[static_cast<std::size_t>(first_)]) {
      const std::string& text = texts_[static_cast<std::size_t>(first_)];
      show((text.empty() ? prompt_ : text).ends_with('\n') ? "" : "\n");
      ++first_;
      if (first_ < count) {
        show("---------------\n" + prompt_ + texts_[static_cast<std::size_t>(first_)]);
      }
    }
  }

 private:
  static void show(const std::string& text) {
    if (!text.empty()) {
      print_model_text(text);
      flush_results();
    }
  }

  std::string prompt_;
  std::vector<std::string> texts_;
  std::vector<bool> complete_;
  index first_ = 0;  // the first sample that is not complete
};

/// Prints the samples of a prompt while they are generated, with `shown` before each. Returns their tokens.
std::vector<std::vector<Token>> print(TextGeneration& generation, index num_samples, const std::string& shown) {
  Queue queue(num_samples, shown);
  std::vector<std::vector<Token>> tokens(static_cast<std::size_t>(num_samples));
  while (auto event = generation.next()) {
    queue.add(event->number, event->text);
    if (event->ended) {
      queue.complete(event->number);
      tokens[static_cast<std::size_t>(event->number)] = std::move(event->ended->sample.tokens);
    }
  }
  return tokens;
}

void report_long_prompt(const std::vector<Token>& prompt, const TrainedModel& trained) {
  const auto given = std::ssize(prompt);
  const index context = trained.model->block_size();
  if (given > context) {
    print_message(concat("the prompt has ", grouped_digits(given), " tokens, more than the model's context of ", grouped_digits(context),
                         ": the first ", grouped_digits(given - context), " are left out"));
  }
}

}  // namespace

std::vector<Token> encode_prompt(const SampleArguments& arguments, const TrainedModel& trained, const std::string& prompt) {
  std::vector<Token> tokens = encode_prompt(*trained.tokenizer, prompt, arguments.no_special ? SpecialNames::text : SpecialNames::tokens);
  warn_of_unknown_words("prompt: ", *trained.tokenizer, prompt);
  return tokens;
}

TextGeneration continue_prompts(const SampleArguments& arguments, const TrainedModel& trained, std::vector<std::vector<Token>> prompts) {
  SampleOptions options = arguments.options;
  options.interrupted = stop_requested;
  const Tokenizer& tokenizer = *trained.tokenizer;
  return {trained.model->gpt(), tokenizer, vocabulary_of(tokenizer, !arguments.ignore_end), std::move(prompts), options, arguments.stop};
}

bool report_if_outgrown(const TextGeneration& generation, const TrainedModel& trained, index num_samples) {
  if (generation.outgrew_context()) {
    print_message(concat(num_samples == 1 ? "the text" : "a text", " outgrew the model's context of ",
                         grouped_digits(trained.model->block_size()),
                         " tokens: its oldest quarter was dropped whenever the context was full"));
  }
  return generation.outgrew_context();
}

void report_cut_forms(index count) {
  if (count > 0) {
    print_message(concat(grouped_digits(count), count == 1 ? " text was" : " texts were",
                         " cut before the form was complete, so they may not match it: raise --max-new-tokens"));
  }
}

nlohmann::ordered_json json_of(const TextGeneration::Ended& ended, bool with_log_probabilities) {
  const Sample& sample = ended.sample;
  nlohmann::ordered_json object{{"text", ended.text}, {"tokens", sample.tokens}, {"ended", name_of(sample.ending)}};
  if (with_log_probabilities) {
    object["log_probabilities"] = sample.log_probabilities;
  }
  return object;
}

void continue_text(const SampleArguments& arguments, const TrainedModel& trained, const std::string& prompt) {
  const std::vector<Token> tokens = arguments.has_prompt() ? encode_prompt(arguments, trained, prompt) : default_prompt(*trained.tokenizer);
  report_long_prompt(tokens, trained);
  stop_in_order();
  const SampleOptions& options = arguments.options;
  TextGeneration generation = continue_prompts(arguments, trained, {tokens});
  if (arguments.json) {
    nlohmann::ordered_json samples = nlohmann::ordered_json::array_t(static_cast<std::size_t>(options.num_samples));
    while (const auto event = generation.next()) {
      if (event->ended) {
        samples[static_cast<std::size_t>(event->number)] = json_of(*event->ended, options.log_probabilities);
      }
    }
    report_if_outgrown(generation, trained, options.num_samples);
    report_cut_forms(generation.cut_forms());
    print_json({{"prompt", prompt}, {"seed", options.seed}, {"samples", std::move(samples)}});
    flush_results();
    return;
  }
  const bool needs_space = options.constraint && trained.tokenizer->puts_spaces_between() && !prompt.empty() && prompt.back() > ' ';
  std::vector<std::vector<Token>> texts = print(generation, options.num_samples, prompt + (needs_space ? " " : ""));
  report_if_outgrown(generation, trained, options.num_samples);
  report_cut_forms(generation.cut_forms());
  if (!arguments.html.empty()) {
    for (std::vector<Token>& text : texts) {
      text.insert(text.begin(), tokens.begin(), tokens.end());
    }
    write_sample_page(arguments.html, trained, texts, std::ssize(tokens));
  }
}

bool answer_lines(const SampleArguments& arguments, const TrainedModel& trained) {
  stop_in_order();
  LineReader lines;
  SampleArguments next = arguments;  // answer i has the random numbers of sample i
  std::vector<Token> text;           // the last prompt with its answer
  bool has_reported = false, all_answered = true;
  for (auto line = lines.next(); line; line = lines.next()) {
    if (!line->empty()) {
      try {
        text = encode_prompt(arguments, trained, *line);
      } catch (const InputError& e) {
        warn(e.what());
        all_answered = false;
        continue;
      }
    }
    if (text.empty()) {
      continue;
    }
    report_long_prompt(text, trained);
    TextGeneration generation = continue_prompts(next, trained, {text});
    const std::vector<Token> answer = print(generation, 1, "").front();
    has_reported = has_reported || report_if_outgrown(generation, trained, 1);
    report_cut_forms(generation.cut_forms());
    text.insert(text.end(), answer.begin(), answer.end());
    ++next.options.first_sample;
    forget_interrupt();
    if (stop_requested()) {
      break;
    }
  }
  return all_answered;
}

}  // namespace dikkat
