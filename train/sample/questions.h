#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "layers/models/gpt.h"
#include "train/sample/generate.h"
#include "train/text/tokenizer.h"

namespace dikkat {

/// A question with a known answer.
struct Question {
  std::string prompt;
  std::vector<std::string> choices{};  // the model takes the likeliest one; empty: it writes the answer itself
  index right = 0;                     // index of the right choice
  std::string answer{};                // without choices: the text that the model must write
};

/// Reads a line of JSONL: {"prompt", "choices": [...], "answer": NUMBER of the right one, from 0}, or {"prompt", "answer": "TEXT"}. Throws
/// BadJson (train/text/json_line.h), whose message continues "FILE: line 7, ", for invalid JSON, and InputError, whose message continues
/// "FILE: line 7 ", for any other wrong line.
Question read_question(std::string_view json);

/// Counts how often something was right.
struct Share {
  index right = 0, all = 0;

  double value() const;
  /// Returns the 95 % confidence interval (Wilson 1927, "Probable inference, the law of succession, and statistical inference").
  std::pair<double, double> interval() const;
};

struct Answers {
  Share choices{};           // the choice with the highest probability is the right one
  Share choices_per_byte{};  // the same, but log probabilities are divided by the choice's bytes, which does not favor short choices
  Share texts{};             // the text that the model writes, greedily, is the answer, apart from white space around it
};

/// Returns the tokens of a prompt for the model.
using EncodePrompt = std::function<std::vector<Token>(const std::string& prompt)>;

/// Asks all questions. The text that the model writes ends at one of `vocabulary.ends`, and at a line break unless the answer has one. A
/// choice is encoded separately from its prompt. `answered` is called after each question, and `stop` between questions and tokens; if it
/// returns true, there is no result. Throws InputError, which begins with the question's number, if a prompt and an answer together exceed
/// the model's context.
std::optional<Answers> ask(const Gpt& model, const Tokenizer& tokenizer, const Vocabulary& vocabulary,
                           const std::vector<Question>& questions, const EncodePrompt& encode,
                           const std::function<void(index done)>& answered = {}, const std::function<bool()>& stop = {});

}  // namespace dikkat
