#include "train/cli/sample_gpt.h"

#include <functional>
#include <map>
#include <span>

#include "train/cli/json_output.h"
#include "train/cli/line_reader.h"
#include "train/cli/signals.h"
#include "train/cli/streams.h"
#include "train/cli/text_page.h"
#include "train/sample/prompt.h"
#include "train/sample/text_stream.h"
#include "train/system/format_numbers.h"

namespace dikkat {
namespace {

const char* name_of(Ending ending) {
  switch (ending) {
    case Ending::length: return "length";
    case Ending::end_token: return "end";
    case Ending::stopped: return "stop";
    case Ending::interrupted: return "interrupted";
  }
  return "";
}

const char* line_end_after(std::string_view text) { return text.ends_with('\n') ? "" : "\n"; }

/// Prints the texts of samples that are generated together, one after another: the first that is not complete is printed token by token,
/// and the others wait.
class Queue {
 public:
  /// `prompt` goes before each text.
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
    const auto count = static_cast<index>(texts_.size());
    while (first_ < count && complete_[static_cast<std::size_t>(first_)]) {
      const std::string& text = texts_[static_cast<std::size_t>(first_)];
      show(line_end_after(text.empty() ? prompt_ : text));
      ++first_;
      if (first_ < count) {
        show("---------------\n" + prompt_ + texts_[static_cast<std::size_t>(first_)]);
      }
    }
  }

 private:
  static void show(const std::string& text) {
    if (!text.empty()) {
      put_text(text);
      flush_results();
    }
  }

  std::string prompt_;
  std::vector<std::string> texts_;
  std::vector<bool> complete_;
  index first_ = 0;  // that is not complete
};

/// What is told of the texts of samples while they are generated.
struct TextEvents {
  std::function<void(index number, const std::string& text)> token;                 // for each token: what has become certain
  std::function<void(index number, const Sample& sample, TextStream& text)> ended;  // text.finish() gives what is held back
};

/// Generates samples and their texts.
class Writer {
 public:
  Writer(const SampleArguments& arguments, const TrainedModel& trained)
      : arguments_(arguments),
        model_(trained.model->gpt()),
        tokenizer_(*trained.tokenizer),
        vocabulary_(vocabulary_of(tokenizer_, !arguments.ignore_end)) {}

  std::vector<Sample> write(std::span<const std::vector<Token>> prompts, const SampleOptions& options, const TextEvents& texts) {
    std::map<index, TextStream> streams;  // of samples that have begun
    const auto stream_of = [&](index number) -> TextStream& {
      const std::vector<Token>& prompt = prompts[static_cast<std::size_t>(number / options.num_samples)];
      return streams.try_emplace(number, tokenizer_, arguments_.stop, prompt.back()).first->second;
    };
    bool slides = false;
    const GenerationEvents events{.stop = [] { return stop_requested(); },
                                  .token =
                                      [&](index number, Token token) {
                                        TextStream& stream = stream_of(number);
                                        texts.token(number, stream.add(token));
                                        return !stream.stopped();
                                      },
                                  .ended =
                                      [&](index number, const Sample& sample) {
                                        texts.ended(number, sample, stream_of(number));
                                        streams.erase(number);
                                      },
                                  .slide = [&] { slides = true; }};
    std::vector<Sample> samples = generate(model_, vocabulary_, prompts, options, events);
    if (slides && !has_told_) {  // after the text, which may stand on the same terminal
      tell(concat(samples.size() == 1 ? "the text" : "a text", " outgrew the model's context of ",
                  grouped_digits(model_.config().block_size), " tokens: its oldest quarter was dropped whenever the context was full"));
      has_told_ = true;
    }
    return samples;
  }

 private:
  const SampleArguments& arguments_;
  const Gpt& model_;
  const Tokenizer& tokenizer_;
  Vocabulary vocabulary_;
  bool has_told_ = false;
};

void tell_of_a_long_prompt(const std::vector<Token>& prompt, const TrainedModel& trained) {
  const auto given = std::ssize(prompt);
  const index context = trained.model->block_size();
  if (given > context) {
    tell(concat("the prompt has ", grouped_digits(given), " tokens, more than the model's context of ", grouped_digits(context),
                ": the first ", grouped_digits(given - context), " are left out"));
  }
}

/// Prints the samples of a prompt as they come, `shown` before each.
std::vector<Sample> print(Writer& writer, const std::vector<Token>& prompt, const std::string& shown, const SampleOptions& options) {
  Queue queue(options.num_samples, shown);
  return writer.write(std::span(&prompt, 1), options,
                      {.token = [&](index number, const std::string& text) { queue.add(number, text); },
                       .ended =
                           [&](index number, const Sample&, TextStream& text) {
                             queue.add(number, text.finish());
                             queue.complete(number);
                           }});
}

nlohmann::ordered_json json_of(const Sample& sample, const std::string& text, bool with_log_probabilities) {
  nlohmann::ordered_json object{{"text", text}, {"tokens", sample.tokens}, {"ended", name_of(sample.ending)}};
  if (with_log_probabilities) {
    object["log_probabilities"] = sample.log_probabilities;
  }
  return object;
}

}  // namespace

std::vector<Token> encode_prompt(const SampleArguments& arguments, const TrainedModel& trained, const std::string& prompt) {
  return encode_prompt(*trained.tokenizer, prompt, arguments.special);
}

void continue_all(const SampleArguments& arguments, const TrainedModel& trained, const std::vector<std::vector<Token>>& prompts,
                  const AnswerEvents& events) {
  struct Answer {
    nlohmann::ordered_json samples;
    index missing;
    bool complete = true;
  };
  const index each = arguments.options.num_samples;
  std::map<index, Answer> answers;  // of prompts that some samples are missing of
  const auto token = [&](index, const std::string&) {
    if (events.generated) {
      events.generated(1);
    }
  };
  const auto ended = [&](index number, const Sample& sample, const TextStream& text) {
    const index prompt = number / each;
    Answer& answer =
        answers.try_emplace(prompt, Answer{nlohmann::ordered_json::array_t(static_cast<std::size_t>(each)), each}).first->second;
    answer.samples[static_cast<std::size_t>(number % each)] = json_of(sample, text.text(), arguments.options.log_probabilities);
    answer.complete &= sample.ending != Ending::interrupted;
    if (--answer.missing == 0) {
      events.answered(prompt, std::move(answer.samples), answer.complete);
      answers.erase(prompt);
    }
  };
  Writer(arguments, trained).write(prompts, arguments.options, {.token = token, .ended = ended});
}

void continue_text(const SampleArguments& arguments, const TrainedModel& trained, const std::string& prompt) {
  const std::vector<Token> tokens = arguments.has_prompt() ? encode_prompt(arguments, trained, prompt) : default_prompt(*trained.tokenizer);
  tell_of_a_long_prompt(tokens, trained);
  stop_in_order();
  if (!arguments.json) {
    Writer writer(arguments, trained);
    const std::vector<Sample> samples = print(writer, tokens, prompt, arguments.options);
    if (!arguments.html.empty()) {
      std::vector<std::vector<Token>> texts;
      for (const Sample& sample : samples) {
        texts.push_back(tokens);
        texts.back().insert(texts.back().end(), sample.tokens.begin(), sample.tokens.end());
      }
      write_sample_page(arguments.html, trained, texts, std::ssize(tokens));
    }
    return;
  }
  nlohmann::ordered_json object{{"prompt", prompt}, {"seed", arguments.options.seed}};
  continue_all(arguments, trained, {tokens},
               {.answered = [&](index, nlohmann::ordered_json samples, bool) { object["samples"] = std::move(samples); }});
  put_json(object);
  flush_results();
}

bool answer_lines(const SampleArguments& arguments, const TrainedModel& trained) {
  stop_in_order();
  Writer writer(arguments, trained);
  LineReader lines;
  SampleOptions options = arguments.options;  // answer number i draws as sample number i
  std::vector<Token> text;                    // of the last prompt, with its answer
  bool all_answered = true;
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
    tell_of_a_long_prompt(text, trained);
    const std::vector<Token> answer = print(writer, text, "", options).front().tokens;
    text.insert(text.end(), answer.begin(), answer.end());
    ++options.first_sample;
    forget_interrupt();
    if (stop_requested()) {
      break;
    }
  }
  return all_answered;
}

}  // namespace dikkat
