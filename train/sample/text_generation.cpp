#include "train/sample/text_generation.h"

#include <utility>

namespace dikkat {
namespace {

std::vector<Token> last_tokens(const std::vector<std::vector<Token>>& prompts) {
  std::vector<Token> last;
  for (const std::vector<Token>& prompt : prompts) {
    last.push_back(prompt.empty() ? 0 : prompt.back());  // Generation refuses an empty one
  }
  return last;
}

}  // namespace

TextGeneration::TextGeneration(const Gpt& model, const Tokenizer& tokenizer, Vocabulary vocabulary, std::vector<std::vector<Token>> prompts,
                               const SampleOptions& options, std::vector<std::string> stops)
    : tokenizer_(&tokenizer),
      before_(last_tokens(prompts)),
      stops_(std::move(stops)),
      num_samples_(options.num_samples),
      with_log_probabilities_(options.log_probabilities),
      generation_(model, std::move(vocabulary), std::move(prompts), options) {
  const TextStream first(tokenizer, 0, stops_);  // throws for a stop string that cannot be used
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
  Event last{.number = number, .text = running.text.finish(), .ended = Ended{std::move(running.sample), running.text.text()}};
  running_.erase(number);
  return last;
}

}  // namespace dikkat
