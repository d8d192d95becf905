#pragma once

#include <string>

#include "autograd/base/index.h"
#include "layers/defaulted.h"
#include "train/choices/chat.h"

namespace dikkat {

/// How answers are drawn by default.
struct AnswerSampling {
  double temperature = 0.7;
  index top_k = 0;
  double top_p = 1.0;
  double min_p = 0.0;
  double repetition_penalty = 1.0;

  bool operator==(const AnswerSampling&) const = default;
};
/// Always takes the likeliest token.
inline AnswerSampling greedy() { return {.temperature = 0}; }

/// The formatting and the loss of conversations.
struct ChatConfig : AnswerSampling {
  std::string template_name = "auto";  // a TemplateName; before the run begins also a file
  std::string system;
  std::string jinja;      // the template that came with the model, as text in the Jinja language
  std::string date;       // what strftime_now() prints in a template
  std::string variables;  // a JSON object of a template's other variables
  ContentParts content_parts = ContentParts::by_template;
  ScoredText loss = ScoredText::answers;
  Defaulted<ScoredText> eval_loss{};  // the tokens that evaluations score; default: loss

  ScoredText evaluated() const { return eval_loss.is_open() ? loss : ScoredText{eval_loss}; }

  bool operator==(const ChatConfig&) const = default;
};

}  // namespace dikkat
