#include "train/cli/sample_gpt.h"

#include <deque>
#include <optional>

#include "train/cli/json_output.h"
#include "train/cli/line_reader.h"
#include "train/cli/signals.h"
#include "train/cli/streams.h"
#include "train/io/digits.h"
#include "train/sample/text_stream.h"

namespace dikkat {
namespace {

/// The prompt as the tokenizer's owner encodes it: after the token that begins every text, if there is one.
std::vector<Token> encode_prompt(const Tokenizer& tokenizer, const std::string& prompt, bool with_special) {
  try {
    std::vector<Token> tokens = with_special ? tokenizer.encode_with_special(prompt) : tokenizer.encode(prompt);
    const std::optional<Token> before = tokenizer.text_tokens().before;
    if (before && (tokens.empty() || tokens.front() != *before)) {
      tokens.insert(tokens.begin(), *before);
    }
    return tokens;
  } catch (const EncodeError& e) {
    fail_input("prompt: ", e.what());
  }
}

/// Without a prompt, text begins with the token that begins every text, or after a line break. A vocabulary without one begins with its
/// separator of documents, or with its first token.
std::vector<Token> default_prompt(const Tokenizer& tokenizer) {
  if (const std::optional<Token> before = tokenizer.text_tokens().before) {
    return {*before};
  }
  try {
    std::vector<Token> line_break = tokenizer.encode("\n");
    if (tokenizer.decode(line_break) == "\n") {
      return line_break;
    }
  } catch (const EncodeError&) {
  }
  return {tokenizer.separator().value_or(0)};
}

const char* name_of(Ending ending) {
  switch (ending) {
    case Ending::length: return "length";
    case Ending::end_token: return "end";
    case Ending::stopped: return "stop";
    case Ending::interrupted: return "interrupted";
  }
  return "";
}

/// Samples and their texts.
struct Written {
  std::vector<Sample> samples;
  std::vector<std::string> texts;
};

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

/// Generates samples. Prints them as they come, unless they are for JSON.
class Writer {
 public:
  Writer(const SampleArguments& arguments, const TrainedModel& trained)
      : arguments_(arguments), model_(trained.model->gpt()), tokenizer_(*trained.tokenizer) {
    vocabulary_ = {.size = tokenizer_.vocab_size(), .suppressed = tokenizer_.suppressed_tokens()};
    if (!arguments.ignore_end) {
      vocabulary_.ends = tokenizer_.text_tokens().ends;
      if (const auto separator = tokenizer_.separator(); separator && vocabulary_.ends.empty()) {
        vocabulary_.ends.push_back(*separator);
      }
    }
  }

  /// `shown` is written before each text.
  Written write(const std::vector<Token>& prompt, const std::string& shown, const SampleOptions& options) {
    const index context = model_.config().block_size;
    const auto given = static_cast<index>(prompt.size());
    if (given > context) {
      tell(concat("the prompt has ", grouped_digits(given), " tokens, more than the model's context of ", grouped_digits(context),
                  ": the first ", grouped_digits(given - context), " are left out"));
    }
    std::deque<TextStream> streams;
    for (index i = 0; i < options.num_samples; ++i) {
      streams.emplace_back(tokenizer_, arguments_.stop, prompt.empty() ? Token{0} : prompt.back());
    }
    std::optional<Queue> queue;
    if (!arguments_.json) {
      queue.emplace(options.num_samples, shown);
    }
    bool slides = false;
    const GenerationEvents events{.stop = [] { return stop_requested(); },
                                  .token =
                                      [&](index sample, Token token) {
                                        TextStream& stream = streams[static_cast<std::size_t>(sample)];
                                        const std::string text = stream.add(token);
                                        if (queue) {
                                          queue->add(sample, text);
                                        }
                                        return !stream.stopped();
                                      },
                                  .ended =
                                      [&](index sample) {
                                        const std::string text = streams[static_cast<std::size_t>(sample)].finish();
                                        if (queue) {
                                          queue->add(sample, text);
                                          queue->complete(sample);
                                        }
                                      },
                                  .slide = [&] { slides = true; }};
    Written written{.samples = generate(model_, vocabulary_, prompt, options, events), .texts = {}};
    for (const TextStream& stream : streams) {
      written.texts.push_back(stream.text());
    }
    if (slides && !has_told_) {  // after the text, which may stand on the same terminal
      tell(concat("the text outgrew the model's context of ", grouped_digits(context),
                  " tokens: its oldest quarter was dropped whenever the context was full"));
      has_told_ = true;
    }
    return written;
  }

  const Tokenizer& tokenizer() const { return tokenizer_; }

 private:
  const SampleArguments& arguments_;
  const Gpt& model_;
  const Tokenizer& tokenizer_;
  Vocabulary vocabulary_;
  bool has_told_ = false;
};

}  // namespace

void continue_text(const SampleArguments& arguments, const TrainedModel& trained, const std::string& prompt) {
  const auto tokens =
      arguments.has_prompt() ? encode_prompt(*trained.tokenizer, prompt, arguments.special) : default_prompt(*trained.tokenizer);
  require_input(!tokens.empty(), "the prompt is empty, expected one token or more to go on from");
  stop_in_order();
  const Written written = Writer(arguments, trained).write(tokens, prompt, arguments.options);
  if (!arguments.json) {
    return;
  }
  nlohmann::ordered_json object{{"prompt", prompt}, {"seed", arguments.options.seed}, {"samples", nlohmann::ordered_json::array()}};
  for (std::size_t i = 0; i < written.samples.size(); ++i) {
    const Sample& sample = written.samples[i];
    object["samples"].push_back({{"text", written.texts[i]}, {"tokens", sample.tokens}, {"ended", name_of(sample.ending)}});
    if (arguments.options.log_probabilities) {
      object["samples"].back()["log_probabilities"] = sample.log_probabilities;
    }
  }
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
        text = encode_prompt(writer.tokenizer(), *line, arguments.special);
      } catch (const InputError& e) {
        warn(e.what());
        all_answered = false;
        continue;
      }
    }
    if (text.empty()) {
      continue;
    }
    const Written written = writer.write(text, "", options);
    const auto& tokens = written.samples.front().tokens;
    text.insert(text.end(), tokens.begin(), tokens.end());
    ++options.first_sample;
    forget_interrupt();
    if (stop_requested()) {
      break;
    }
  }
  return all_answered;
}

}  // namespace dikkat
