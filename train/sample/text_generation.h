#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "train/sample/generate.h"
#include "train/sample/text_stream.h"

namespace dikkat {

/// The relation of a sample's text to its prompt.
enum class SampleText {
  continuation,  // prompt and sample are one text
  answer,        // the sample is a text of its own, as in a conversation
};

/// Continues prompts as Generation does, as text:
///
///   TextGeneration generation(model, tokenizer, vocabulary_of(tokenizer), {prompt}, options);
///   while (const auto event = generation.next()) {
///     print(event->text);
///   }
class TextGeneration {
 public:
  struct Ended {
    Sample sample;
    std::string text;  // all of its text
  };
  /// A part of a sample's text.
  struct Event {
    index number = 0;              // the sample's number
    std::string text{};            // bytes that have become final with one more token, or with the sample's end; may be empty
    std::optional<Ended> ended{};  // set in the sample's last event
  };

  /// Keeps references to model and tokenizer. A sample ends before one of `stops`, with Ending::stop. With SampleOptions::constraint, a
  /// sample's text is the one that the constraint counts (token_before_restricted()). Throws what Generation and TextStream throw.
  TextGeneration(const Gpt& model, const Tokenizer& tokenizer, Vocabulary vocabulary, std::vector<std::vector<Token>> prompts,
                 const SampleOptions& options, std::vector<std::string> stops = {}, SampleText kind = SampleText::continuation);

  /// Returns the next event, or nullopt once every sample has ended: an event for each token of a sample, then one for its end.
  std::optional<Event> next();
  bool outgrew_context() const { return generation_.outgrew_context(); }
  /// Returns how many samples had their last token before SampleOptions::constraint was complete.
  index cut_forms() const { return cut_forms_; }

 private:
  struct Running {
    explicit Running(TextStream stream) : text(std::move(stream)) {}
    Sample sample;
    TextStream text;
  };
  const Tokenizer* tokenizer_;
  std::vector<std::optional<Token>> before_;  // the token before the samples of each prompt
  std::vector<std::string> stops_;
  index num_samples_;
  bool with_log_probabilities_, has_form_;
  index cut_forms_ = 0;
  Generation generation_;
  std::map<index, Running> running_;  // the keys are the samples' numbers
};

}  // namespace dikkat
