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
  std::string prompt{};
  std::vector<std::string> choices{};   // the model takes the likeliest one; empty: it writes the answer itself
  std::vector<index> right{};           // indices of the right choices
  std::vector<double> lengths{};        // of the choices, by which log probabilities are divided; empty: they are not compared by length
  std::vector<std::string> contexts{};  // of a sample of lm_eval (lm_eval_sample.h): the text before each choice, which replaces the prompt
  std::string answer{};                 // without choices: the text that the model must write; empty: there is no such text
  std::optional<bool> refuse{};         // without choices: whether the model should refuse to answer

  bool is_sample() const { return !contexts.empty(); }
};

/// Reads a line of JSONL: {"prompt", "choices": [...], "answer": NUMBER of the right one, from 0}, {"prompt", "answer": "TEXT"}, {"prompt",
/// "refuse": true or false}, where "answer" may be added, or a sample of lm_eval (lm_eval_sample.h). Throws BadJson
/// (train/text/json_line.h), whose message continues "FILE: line 7, ", for invalid JSON, and InputError, whose message continues "FILE:
/// line 7 ", for any other wrong line.
Question read_question(std::string_view json);

/// Counts how often something was right.
struct Share {
  index right = 0, all = 0;

  double value() const;
  /// Returns the standard error of the share as a mean, sqrt(p (1 - p) / (n - 1)), as lm_eval does; NaN for a single question.
  double standard_error() const;
  /// Returns the 95 % confidence interval (Wilson 1927, "Probable inference, the law of succession, and statistical inference").
  std::pair<double, double> interval() const;
};

/// Compares two models' answers to the same questions.
struct PairedDifference {
  index all = 0, to_right = 0, to_wrong = 0;  // the latter two count questions that only one of the models answers correctly

  /// Compares answers with those of another model to as many questions. Those that only the other one has right are in `to_wrong`.
  PairedDifference(const std::vector<bool>& right, const std::vector<bool>& other);

  /// Returns the difference of the shares: above 0 if the other model has fewer right answers.
  double value() const;
  /// Returns the standard error of the mean of the questions' differences, which are -1, 0 or 1; NaN for a single question.
  double standard_error() const;
};

/// The answers to those questions to which a measure applies, in their order.
struct Measure {
  std::string name;
  std::vector<bool> right{};

  Share share() const;
};

/// The measures that apply to some question. "choices": the likeliest choice is right. "choices_per_byte": its log probability is divided
/// by its bytes, which does not favor short choices. "acc" and "acc_norm": the same for a sample of lm_eval, but by characters; "acc" of a
/// single choice is whether each of its tokens is the likeliest. "exact_match": the text that the model writes, greedily, is the answer,
/// apart from white space around it. "refused", if there are texts of refusals: the model refuses what it should. "answered": it writes
/// something else, for other questions without choices.
using Answers = std::vector<Measure>;

/// Returns the index of the first largest log probability, each divided by a length if there are `lengths`.
index likeliest(const std::vector<double>& log_probabilities, const std::vector<double>& lengths = {});

struct AskOptions {
  /// Returns the tokens of a prompt for the model. It does not apply to samples of lm_eval.
  std::function<std::vector<Token>(const std::string& prompt)> encode{};
  bool adds_begin = false;                     // puts the tokenizer's token that begins a text before each context of a sample
  std::vector<std::string> refusals{};         // an answer with one of these in its first 128 tokens is a refusal
  std::function<void(index done)> answered{};  // called after each question
  std::function<bool()> stop{};                // called between questions and tokens; if it returns true, there is no result
};

/// Asks all questions. The text that the model writes ends at one of `vocabulary.ends`, and at a line break if the expected answer has
/// none. A choice is encoded separately from its prompt, but a sample's context and choice together, as lm_eval does: without a template,
/// with names of special tokens, and after the token that begins a text if the context is empty. Throws InputError, which begins with the
/// question's number, if a prompt and an answer together exceed the model's context, before any question is asked.
std::optional<Answers> ask(const Gpt& model, const Tokenizer& tokenizer, const Vocabulary& vocabulary,
                           const std::vector<Question>& questions, const AskOptions& options);

}  // namespace dikkat
