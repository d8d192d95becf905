#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "train/sample/sample_request.h"

namespace dikkat {

/// A sample that is being generated: its text, and how its next token is drawn.
class RunningSample {
 public:
  /// The request must be valid, see check(). Its text begins with the prompt. The model reads only the end of a prompt that is longer than
  /// a context.
  RunningSample(index number, SampleRequest request);

  index number() const { return number_; }
  const Gpt& model() const { return *request_.model; }
  index usable_ids() const { return request_.vocabulary.size; }
  /// Returns SampleRequest::prompt_alternatives.
  std::optional<index> prompt_alternatives() const { return request_.prompt_alternatives; }
  /// Returns whether it draws tokens. If not, it ends with its prompt.
  bool draws() const { return request_.options.max_new_tokens > 0; }
  /// Returns the tokens that the model reads. Their positions count from the first.
  std::span<const Token> context() const { return std::span(text_).subspan(static_cast<std::size_t>(begin_)); }
  /// Drops the oldest quarter of a context that is longer than the model's. Returns the number of tokens that it dropped.
  index drop_oldest();
  /// Returns whether the keys and values of the remaining context are then kept.
  bool keeps_rest() const { return !request_.options.rereads && model().has_relative_positions(); }

  struct Drawn {
    std::optional<Token> token{};      // absent if the sample ends without another token of its text
    std::optional<Ending> ending{};    // absent if the sample continues
    std::optional<Token> end_token{};  // one of Vocabulary::ends, if it ends the sample; it is not part of the text
  };
  /// Draws the next token from the model's logits, (V), and adds it to the text. Different samples may draw on different threads.
  Drawn draw(std::span<const float> of_model);

 private:
  index new_tokens() const { return std::ssize(text_) - prompt_size_; }
  void add(Token token);
  /// Changes the logits by the penalties and biases of the options.
  void change_logits();

  index number_;
  SampleRequest request_;
  index prompt_size_;
  index begin_ = 0;          // where the context begins in the text
  std::vector<Token> text_;  // prompt first
  std::unique_ptr<TokenConstraint> constraint_;
  IdCounts in_text_;           // the tokens of the text, if there is a repetition penalty
  IdCounts in_answer_;         // the tokens after the prompt, if there is one of the other penalties
  std::vector<float> logits_;  // the vocabulary's logits, after penalties and masks
  Draw draw_;
};

}  // namespace dikkat
