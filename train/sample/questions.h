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
  std::vector<std::string> choices{};  // of which the model takes the likeliest; empty: it writes the answer itself
  index right = 0;                     // the number of the right choice
  std::string answer{};                // what it must write
};

/// Reads a line of JSONL: {"prompt", "choices": [...], "answer": NUMBER of the right one, from 0}, or {"prompt", "answer": "TEXT"}. Throws
/// BadJson (train/text/json_line.h), whose text continues "FILE: line 7, ", for what is not JSON, and InputError, whose text continues
/// "FILE: line 7 ", for anything else.
Question read_question(std::string_view json);

/// How often something was right.
struct Share {
  index right = 0, all = 0;

  double value() const;
  /// The 95 % confidence interval (Wilson 1927, "Probable inference, the law of succession, and statistical inference").
  std::pair<double, double> interval() const;
};

struct Answers {
  Share choices{};           // the choice with the highest probability is the right one
  Share choices_per_byte{};  // the same, with log probabilities divided by the bytes of the choice, so that long ones have a chance
  Share texts{};             // what the model writes, greedily, is the answer, but for white space around it
};

/// How a prompt is given to the model: its tokens.
using EncodePrompt = std::function<std::vector<Token>(const std::string& prompt)>;

/// Asks all questions. `vocabulary.ends` ends what the model writes; it also ends at a line break unless the answer has one. A choice is
/// encoded by itself, after the prompt. `answered` is called after each question; `stop` between them: if it returns true, there is no
/// result. Throws InputError for a prompt with a choice that is longer than the model's context.
std::optional<Answers> ask(const Gpt& model, const Tokenizer& tokenizer, const Vocabulary& vocabulary,
                           const std::vector<Question>& questions, const EncodePrompt& encode,
                           const std::function<void(index done)>& answered = {}, const std::function<bool()>& stop = {});

}  // namespace dikkat
