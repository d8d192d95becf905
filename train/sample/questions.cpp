#include "train/sample/questions.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <nlohmann/json.hpp>

#include "autograd/base/error.h"
#include "train/sample/draw.h"
#include "train/text/json_line.h"

namespace dikkat {
namespace {

std::string text_field(const nlohmann::json& object, const char* name) {
  const auto field = object.find(name);
  require_input(field != object.end() && field->is_string(), "has no text \"", name, "\"");
  return field->get<std::string>();
}

constexpr std::string_view kWhiteSpace = " \t\r\n";

std::string trimmed(const std::string& text) {
  const std::size_t first = text.find_first_not_of(kWhiteSpace);
  return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(kWhiteSpace) + 1 - first);
}

/// Throws InputError if a prompt with an answer is longer than the model's context and the token after it.
void require_room(const Gpt& model, std::size_t prompt, std::size_t answer) {
  const auto tokens = static_cast<index>(prompt + answer), most = model.config().block_size + 1;
  require_input(tokens <= most, "the prompt with an answer has ", tokens, " tokens, expected at most ", most, " (model.block_size + 1)");
}

/// Returns the log probability of `choice` after `prompt`.
double log_probability_of(const Gpt& model, const std::vector<Token>& prompt, const std::vector<Token>& choice) {
  require_room(model, prompt.size(), choice.size());
  std::vector<Token> text = prompt;
  text.insert(text.end(), choice.begin(), choice.end() - 1);
  const auto time = static_cast<index>(text.size());
  Tape tape{Recording::off};
  Pass pass{.tape = tape};
  const Tensor logits = model(pass, tape.input<Token>({1, time}, text));
  const auto vocabulary = static_cast<std::size_t>(logits.shape()[2]);
  double sum = 0;
  for (std::size_t i = 0; i < choice.size(); ++i) {
    sum += log_probability({logits.data<float>() + (prompt.size() - 1 + i) * vocabulary, vocabulary}, choice[i]);
  }
  return sum;
}

void choose(const Gpt& model, const Tokenizer& tokenizer, const Question& question, const std::vector<Token>& prompt, Answers& answers) {
  std::vector<double> sums, per_byte;
  for (const std::string& choice : question.choices) {
    const double sum = log_probability_of(model, prompt, tokenizer.encode(choice));
    sums.push_back(sum);
    per_byte.push_back(sum / static_cast<double>(choice.size()));
  }
  const auto is_right = [&](const std::vector<double>& scores) {
    return std::ranges::max_element(scores) - scores.begin() == question.right;
  };
  answers.choices.right += is_right(sums) ? 1 : 0;
  answers.choices_per_byte.right += is_right(per_byte) ? 1 : 0;
  ++answers.choices.all;
  ++answers.choices_per_byte.all;
}

/// Returns whether the model's greedy continuation of the prompt is the answer, or nullopt if `stop` interrupted it.
std::optional<bool> writes(const Gpt& model, const Tokenizer& tokenizer, const Vocabulary& vocabulary, const Question& question,
                           const std::vector<Token>& prompt, const std::function<bool()>& stop) {
  constexpr index kMore = 8;  // tokens beyond those of the answer, to see whether it ends
  const std::string wanted = trimmed(question.answer);
  const bool has_lines = wanted.find('\n') != std::string::npos;
  const std::vector<Token> answer = tokenizer.encode(question.answer);
  require_room(model, prompt.size(), answer.size());
  std::string text;
  const auto is_complete = [&] {
    return !has_lines && !trimmed(text).empty() && text.find('\n', text.find_first_not_of(kWhiteSpace)) != std::string::npos;
  };
  Generation generation(model, vocabulary, {prompt}, {.max_new_tokens = std::ssize(answer) + kMore, .temperature = 0, .interrupted = stop});
  while (!is_complete()) {
    const auto event = generation.next();
    if (event && event->ending == Ending::interrupted) {
      return std::nullopt;
    }
    if (!event || event->ending) {
      break;
    }
    text += tokenizer.decode_inside(std::span(&event->token, 1));
  }
  return trimmed(text) == wanted;
}

}  // namespace

Question read_question(std::string_view json) {
  const nlohmann::json object = parse_json_line(json);
  require_input(object.is_object(), "is a JSON ", object.type_name(), ", expected an object on each line");
  Question question{.prompt = text_field(object, "prompt")};
  const auto choices = object.find("choices");
  const auto answer = object.find("answer");
  if (choices == object.end()) {
    require_input(answer == object.end() || !answer->is_number(),
                  "has a number as \"answer\" and no \"choices\", expected a text as \"answer\", or \"choices\": [\"...\", \"...\"]");
    question.answer = text_field(object, "answer");
    require_input(!trimmed(question.answer).empty(), "has an empty \"answer\"");
    return question;
  }
  require_input(choices->is_array() && choices->size() >= 2, "has \"choices\" that are not a list of two or more texts");
  for (const nlohmann::json& choice : *choices) {
    require_input(choice.is_string() && !choice.get<std::string>().empty(), "has a choice that is empty or not a text");
    require_input(std::ranges::find(question.choices, choice.get<std::string>()) == question.choices.end(),
                  "has two equal choices, expected different ones");
    question.choices.push_back(choice.get<std::string>());
  }
  require_input(answer != object.end() && answer->is_number_unsigned() && answer->get<std::uint64_t>() < choices->size(), "has ",
                answer == object.end() ? "no \"answer\""
                : answer->is_number()  ? "the \"answer\" " + answer->dump()
                                       : concat("a JSON ", answer->type_name(), " as \"answer\""),
                ", expected the number of the right choice, from 0 to ", choices->size() - 1);
  question.right = answer->get<index>();
  return question;
}

double Share::value() const {
  return all == 0 ? std::numeric_limits<double>::quiet_NaN() : static_cast<double>(right) / static_cast<double>(all);
}

std::pair<double, double> Share::interval() const {
  constexpr double kZ = 1.959963984540054;  // 95 % of a normal distribution is within this many standard deviations
  const auto n = static_cast<double>(all);
  const double center = (value() + kZ * kZ / (2 * n)) / (1 + kZ * kZ / n);
  const double half = kZ / (1 + kZ * kZ / n) * std::sqrt(value() * (1 - value()) / n + kZ * kZ / (4 * n * n));
  return {std::max(0.0, center - half), std::min(1.0, center + half)};
}

std::optional<Answers> ask(const Gpt& model, const Tokenizer& tokenizer, const Vocabulary& vocabulary,
                           const std::vector<Question>& questions, const EncodePrompt& encode,
                           const std::function<void(index done)>& answered, const std::function<bool()>& stop) {
  Answers answers;
  index done = 0;
  for (const Question& question : questions) {
    if (stop && stop()) {
      return std::nullopt;
    }
    try {
      const std::vector<Token> prompt = encode(question.prompt);
      if (question.choices.empty()) {
        const std::optional<bool> is_right = writes(model, tokenizer, vocabulary, question, prompt, stop);
        if (!is_right) {
          return std::nullopt;
        }
        answers.texts.right += *is_right ? 1 : 0;
        ++answers.texts.all;
      } else {
        choose(model, tokenizer, question, prompt, answers);
      }
    } catch (const InputError& error) {
      fail_input("question ", done + 1, ": ", error.what());
    }
    ++done;
    if (answered) {
      answered(done);
    }
  }
  return answers;
}

}  // namespace dikkat
