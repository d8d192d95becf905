#include "train/sample/text_generation.h"

#include <utility>

#include "train/sample/prompt.h"

namespace dikkat {
namespace {

/// Returns the token before the samples of each prompt.
std::vector<std::optional<Token>> tokens_before(const Tokenizer& tokenizer, const std::vector<std::vector<Token>>& prompts, SampleText kind,
                                                bool is_restricted) {
  std::vector<std::optional<Token>> before;
  for (const std::vector<Token>& prompt : prompts) {
    before.push_back(is_restricted                ? token_before_restricted(tokenizer, prompt)
                     : kind == SampleText::answer ? std::nullopt
                                                  : token_before_text(tokenizer, prompt));
  }
  return before;
}

}  // namespace

TextGeneration::TextGeneration(const Gpt& model, const Tokenizer& tokenizer, Vocabulary vocabulary, std::vector<std::vector<Token>> prompts,
                               const SampleOptions& options, std::vector<std::string> stops, SampleText kind)
    : tokenizer_(&tokenizer),
      before_(tokens_before(tokenizer, prompts, kind, options.constraint != nullptr)),
      stops_(std::move(stops)),
      num_samples_(options.num_samples),
      with_log_probabilities_(options.log_probabilities),
      has_form_(options.constraint != nullptr),
      generation_(model, std::move(vocabulary), std::move(prompts), options) {
  const TextStream first(tokenizer, std::nullopt, stops_);  // throws for an invalid stop string
}

std::optional<TextGeneration::Event> TextGeneration::next() {
  const auto event = generation_.next();
  if (!event) {
    return std::nullopt;
  }
  const index number = event->number;
  if (!running_.contains(number)) {
    running_.emplace(number, TextStream(*tokenizer_, before_[static_cast<std::size_t>(number / num_samples_)], stops_));
  }
  Running& running = running_.at(number);
  running.sample.add(*event, with_log_probabilities_);
  if (!event->ending) {
    Event given{.number = number, .text = running.text.push(event->token)};
    if (running.text.stopped()) {
      generation_.end(number);
    }
    return given;
  }
  cut_forms_ += has_form_ && *event->ending == Ending::length ? 1 : 0;
  Event last{.number = number, .text = running.text.finish(), .ended = Ended{std::move(running.sample), running.text.text()}};
  running_.erase(number);
  return last;
}

}  // namespace dikkat
