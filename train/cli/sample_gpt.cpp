#include "train/cli/sample_gpt.h"

#include <deque>

#include "train/cli/line_reader.h"
#include "train/cli/signals.h"
#include "train/cli/streams.h"
#include "train/sample/text_stream.h"

namespace dikkat {
namespace {

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
    case Ending::told: return "stop";
    case Ending::interrupted: return "interrupted";
  }
  return "";
}

/// Samples and their texts.
struct Written {
  std::vector<Sample> samples;
  std::vector<std::string> texts;
};

/// Writes samples; a single one is put as it is made, unless it is for JSON.
class Writer {
 public:
  Writer(const SampleArguments& arguments, const TrainedModel& trained)
      : arguments_(arguments), model_(trained.model->gpt()), tokenizer_(*trained.tokenizer) {
    vocabulary_ = {.size = tokenizer_.vocab_size(), .unwritten = tokenizer_.unwritten()};
    if (!arguments.ignore_end) {
      vocabulary_.end = tokenizer_.separator();
    }
  }

  Written write(const std::vector<Token>& prompt, const SampleOptions& options) {
    const index context = model_.config().block_size;
    const auto given = static_cast<index>(prompt.size());
    if (given > context) {
      tell(concat("the prompt has ", given, " tokens: the model's context takes the last ", context, ", so the first ", given - context,
                  " are left out"));
    }
    const bool at_once = options.num_samples == 1 && !arguments_.json;
    std::deque<TextStream> streams;
    for (index i = 0; i < options.num_samples; ++i) {
      streams.emplace_back(tokenizer_, arguments_.stop, prompt.empty() ? Token{0} : prompt.back());
    }
    const auto show = [&](const std::string& text) {
      if (at_once && !text.empty()) {
        put(text);
        flush_results();
      }
    };
    bool slides = false;
    const GenerationEvents events{.stop = [] { return stop_requested(); },
                                  .token =
                                      [&](index sample, Token token) {
                                        TextStream& stream = streams[static_cast<std::size_t>(sample)];
                                        show(stream.add(token));
                                        return !stream.stopped();
                                      },
                                  .slide = [&] { slides = true; }};
    Written written{.samples = generate(model_, vocabulary_, prompt, options, events), .texts = {}};
    for (TextStream& stream : streams) {
      show(stream.finish());
      written.texts.push_back(stream.text());
    }
    if (slides && !has_told_) {
      // After the text, which may stand on the same terminal.
      notice_ = concat("the text outgrew the model's context of ", context,
                       " tokens: its oldest quarter was dropped whenever the context was full");
    }
    return written;
  }

  /// What is to be said when the text has ended, once.
  void tell_notice() {
    if (!notice_.empty()) {
      tell(notice_);
      notice_.clear();
      has_told_ = true;
    }
  }

  const Tokenizer& tokenizer() const { return tokenizer_; }

 private:
  const SampleArguments& arguments_;
  const Gpt& model_;
  const Tokenizer& tokenizer_;
  Vocabulary vocabulary_;
  std::string notice_;
  bool has_told_ = false;
};

const char* line_end_after(std::string_view text) { return text.ends_with('\n') ? "" : "\n"; }

}  // namespace

void put_json(const nlohmann::ordered_json& object) {
  put(object.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + '\n');
}

void continue_text(const SampleArguments& arguments, const TrainedModel& trained, const std::string& prompt) {
  const auto tokens = arguments.has_prompt() ? encode_prompt(*trained.tokenizer, prompt) : default_prompt(*trained.tokenizer);
  require_input(!tokens.empty(), "the prompt is empty, expected one token or more to go on from");
  stop_in_order();
  Writer writer(arguments, trained);
  const bool at_once = arguments.options.num_samples == 1 && !arguments.json;
  if (at_once) {
    put(prompt);
    flush_results();
  }
  const Written written = writer.write(tokens, arguments.options);
  if (at_once) {
    put(line_end_after(prompt + written.texts.front()));
  } else if (arguments.json) {
    nlohmann::ordered_json object{{"prompt", prompt}, {"seed", arguments.options.seed}, {"samples", nlohmann::ordered_json::array()}};
    for (std::size_t i = 0; i < written.samples.size(); ++i) {
      const Sample& sample = written.samples[i];
      object["samples"].push_back({{"text", written.texts[i]}, {"tokens", sample.tokens}, {"ended", name_of(sample.ending)}});
      if (arguments.options.log_probabilities) {
        object["samples"].back()["log_probabilities"] = sample.log_probabilities;
      }
    }
    put_json(object);
  } else {
    for (std::size_t i = 0; i < written.texts.size(); ++i) {
      const std::string text = prompt + written.texts[i];
      put(concat(i > 0 ? "---------------\n" : "", text, line_end_after(text)));
    }
  }
  flush_results();
  writer.tell_notice();
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
        text = encode_prompt(writer.tokenizer(), *line);
      } catch (const InputError& e) {
        tell(e.what());
        all_answered = false;
        continue;
      }
    }
    if (text.empty()) {
      continue;
    }
    const Written written = writer.write(text, options);
    put(line_end_after(written.texts.front()));
    flush_results();
    writer.tell_notice();
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
