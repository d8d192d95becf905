#include "train/sample/questions.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include <nlohmann/json.hpp>

#include "autograd/base/error.h"
#include "train/sample/draw.h"
#include "train/sample/lm_eval_sample.h"
#include "train/system/json.h"
#include "train/text/json_line.h"
#include "train/text/utf8.h"

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

/// A text whose log probability is asked for: the tokens of a choice after those of its context.
struct Continuation {
  std::vector<Token> context{}, text{};
};

/// Returns the context without the white space at its end, as Python's rstrip() does.
std::string without_end(const std::string& context) {
  index end = 0;
  for (index at = 0; at < std::ssize(context);) {
    const utf8::Character one = utf8::decode(context, at);
    at += one.bytes;
    end = utf8::is_white_space(one.code_point) || (0x1C <= one.code_point && one.code_point <= 0x1F) ? end : at;
  }
  return context.substr(0, static_cast<std::size_t>(end));
}

/// Encodes a sample as lm_eval does (TemplateLM.loglikelihood): the tokens of the choice are those that the whole has after the context's
/// own, whose last white space belongs to the choice.
Continuation encode_sample(const Tokenizer& tokenizer, const std::string& context, const std::string& choice, bool adds_begin) {
  const TextTokens around = tokenizer.text_tokens();
  require_input(!adds_begin || around.bos, "--add-bos: the model's tokenizer has no token that begins a text: leave it out");
  Continuation result{.context = tokenizer.encode_with_special(without_end(context))};
  const std::vector<Token> whole = tokenizer.encode_with_special(context + choice);
  require_input(whole.size() > result.context.size(), "the continuation \"", choice, "\" has no tokens of its own after its context");
  result.text.assign(whole.begin() + std::ssize(result.context), whole.end());
  if (adds_begin) {
    result.context.insert(result.context.begin(), *around.bos);
  } else if (result.context.empty()) {
    const auto before = around.bos ? around.bos : around.eos ? around.eos : tokenizer.separator();
    require_input(before.has_value(), "the context is empty, and no token of the tokenizer begins or ends a text: leave the question out");
    result.context = {*before};
  }
  return result;
}

/// A question as tokens.
struct EncodedQuestion {
  std::vector<Continuation> choices{};
  std::vector<Token> prompt{}, answer{};  // without choices
};

EncodedQuestion encode_question(const Gpt& model, const Tokenizer& tokenizer, const Question& question, const AskOptions& options) {
  EncodedQuestion result;
  if (!question.is_sample()) {
    result.prompt = options.encode(question.prompt);
  }
  for (std::size_t i = 0; i < question.choices.size(); ++i) {
    const std::string& choice = question.choices[i];
    result.choices.push_back(question.is_sample() ? encode_sample(tokenizer, question.contexts[i], choice, options.adds_begin)
                                                  : Continuation{.context = result.prompt, .text = tokenizer.encode(choice)});
    require_room(model, result.choices.back().context.size(), result.choices.back().text.size());
  }
  if (question.choices.empty()) {
    result.answer = tokenizer.encode(question.answer);
    require_room(model, result.prompt.size(), std::max<std::size_t>(result.answer.size(), 1));
  }
  return result;
}

/// Returns the log probability of a choice, and whether each of its tokens is the likeliest.
std::pair<double, bool> likelihood_of(const Gpt& model, const Continuation& choice) {
  std::vector<Token> text = choice.context;
  text.insert(text.end(), choice.text.begin(), choice.text.end() - 1);
  const auto time = static_cast<index>(text.size());
  Tape tape{Recording::off};
  Pass pass{.tape = tape};
  const Tensor logits = model(pass, tape.input<Token>({1, time}, text));
  const auto vocabulary = static_cast<std::size_t>(logits.shape()[2]);
  double sum = 0;
  bool is_likeliest = true;
  for (std::size_t i = 0; i < choice.text.size(); ++i) {
    const std::span row(logits.data<float>() + (choice.context.size() - 1 + i) * vocabulary, vocabulary);
    sum += log_probability(row, choice.text[i]);
    is_likeliest = is_likeliest && row[static_cast<std::size_t>(choice.text[i])] == *std::ranges::max_element(row);
  }
  require(!std::isnan(sum), "the log probability of a choice is not a number: the model's finite weights give infinite logits");
  return {sum, is_likeliest};
}

void add(Answers& answers, std::string_view name, bool is_right) {
  auto measure = std::ranges::find(answers, name, &Measure::name);
  if (measure == answers.end()) {
    measure = answers.insert(measure, Measure{.name = std::string(name)});
  }
  measure->right.push_back(is_right);
}

void choose(const Gpt& model, const Question& question, const std::vector<Continuation>& choices, Answers& answers) {
  std::vector<double> sums;
  bool is_likeliest = true;
  for (const Continuation& choice : choices) {
    std::tie(sums.emplace_back(), is_likeliest) = likelihood_of(model, choice);
  }
  const auto is_right = [&](index choice) { return std::ranges::find(question.right, choice) != question.right.end(); };
  add(answers, question.is_sample() ? "acc" : "choices", choices.size() == 1 ? is_likeliest : is_right(likeliest(sums)));
  if (!question.lengths.empty()) {
    add(answers, question.is_sample() ? "acc_norm" : "choices_per_byte", is_right(likeliest(sums, question.lengths)));
  }
}

/// Returns the model's greedy continuation of the prompt, or nullopt if `stop` interrupted it.
std::optional<std::string> written_by(const Gpt& model, const Tokenizer& tokenizer, const Vocabulary& vocabulary, const Question& question,
                                      const EncodedQuestion& encoded, const AskOptions& options) {
  constexpr index kMore = 8, kRefusal = 128;  // tokens after those of the answer, to see whether it ends; tokens that may have a refusal
  const index most = std::max(std::ssize(encoded.answer) + kMore, options.refusals.empty() ? 0 : kRefusal);
  const bool ends_with_line = !question.answer.empty() && trimmed(question.answer).find('\n') == std::string::npos;
  std::string text;
  const auto is_complete = [&] {
    return ends_with_line && !trimmed(text).empty() && text.find('\n', text.find_first_not_of(kWhiteSpace)) != std::string::npos;
  };
  Generation generation(model, vocabulary, {encoded.prompt}, {.max_new_tokens = most, .temperature = 0, .interrupted = options.stop});
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
  return trimmed(text);
}

}  // namespace

Question read_question(std::string_view json) {
  const nlohmann::json object = parse_json_line(json);
  require_input(object.is_object(), "is a JSON ", object.type_name(), ", expected an object on each line");
  if (auto sample = read_lm_eval_sample(object)) {
    return std::move(*sample);
  }
  Question question{.prompt = text_field(object, "prompt")};
  const auto choices = object.find("choices");
  const auto answer = object.find("answer");
  if (const auto refuse = object.find("refuse"); refuse != object.end()) {
    require_input(refuse->is_boolean(), "has a JSON ", refuse->type_name(), " as \"refuse\", expected true or false");
    require_input(choices == object.end(),
                  "has \"refuse\" and \"choices\": only a question that the model answers in its own words can be refused");
    question.refuse = refuse->get<bool>();
  }
  if (choices == object.end()) {
    require_input(answer == object.end() || !answer->is_number(),
                  "has a number as \"answer\" and no \"choices\", expected a text as \"answer\", or \"choices\": [\"...\", \"...\"]");
    if (answer != object.end() || !question.refuse) {
      question.answer = text_field(object, "answer");
      require_input(!trimmed(question.answer).empty(), "has an empty \"answer\"");
    }
    return question;
  }
  require_input(choices->is_array() && choices->size() >= 2, "has \"choices\" that are not a list of two or more texts");
  for (const nlohmann::json& choice : *choices) {
    require_input(choice.is_string() && !choice.get<std::string>().empty(), "has a choice that is empty or not a text");
    require_input(std::ranges::find(question.choices, choice.get<std::string>()) == question.choices.end(),
                  "has two equal choices, expected different ones");
    question.choices.push_back(choice.get<std::string>());
    question.lengths.push_back(static_cast<double>(question.choices.back().size()));
  }
  require_input(answer != object.end() && answer->is_number_unsigned() && answer->get<std::uint64_t>() < choices->size(),
                answer == object.end() ? "has no \"answer\"" : "has the \"answer\" " + short_text(*answer),
                ", expected the number of the right choice, from 0 to ", choices->size() - 1);
  question.right = {answer->get<index>()};
  return question;
}

double Share::value() const {
  return all == 0 ? std::numeric_limits<double>::quiet_NaN() : static_cast<double>(right) / static_cast<double>(all);
}

double Share::standard_error() const {
  return all < 2 ? std::numeric_limits<double>::quiet_NaN() : std::sqrt(value() * (1 - value()) / static_cast<double>(all - 1));
}

std::pair<double, double> Share::interval() const {
  constexpr double kZ = 1.959963984540054;  // 95 % of a normal distribution is within this many standard deviations
  const auto n = static_cast<double>(all);
  const double center = (value() + kZ * kZ / (2 * n)) / (1 + kZ * kZ / n);
  const double half = kZ / (1 + kZ * kZ / n) * std::sqrt(value() * (1 - value()) / n + kZ * kZ / (4 * n * n));
  return {std::max(0.0, center - half), std::min(1.0, center + half)};
}

PairedDifference::PairedDifference(const std::vector<bool>& right, const std::vector<bool>& other) : all(std::ssize(right)) {
  require(right.size() == other.size(), "PairedDifference: ", right.size(), " and ", other.size(), " answers, expected as many");
  for (std::size_t i = 0; i < right.size(); ++i) {
    to_right += right[i] && !other[i] ? 1 : 0;
    to_wrong += !right[i] && other[i] ? 1 : 0;
  }
}

double PairedDifference::value() const { return static_cast<double>(to_right - to_wrong) / static_cast<double>(all); }

double PairedDifference::standard_error() const {
  const auto n = static_cast<double>(all);
  const double squares = static_cast<double>(to_right + to_wrong) / n;
  return all < 2 ? std::numeric_limits<double>::quiet_NaN() : std::sqrt((squares - value() * value()) / (n - 1));
}

Share Measure::share() const { return {.right = std::ranges::count(right, true), .all = std::ssize(right)}; }

index likeliest(const std::vector<double>& log_probabilities, const std::vector<double>& lengths) {
  std::vector<double> scores = log_probabilities;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    scores[i] /= lengths[i];
  }
  return std::ranges::max_element(scores) - scores.begin();
}

std::optional<Answers> ask(const Gpt& model, const Tokenizer& tokenizer, const Vocabulary& vocabulary,
                           const std::vector<Question>& questions, const AskOptions& options) {
  // Encode all questions, so that one that is too long is refused before the others take time.
  std::vector<EncodedQuestion> encoded;
  for (const Question& question : questions) {
    try {
      encoded.push_back(encode_question(model, tokenizer, question, options));
    } catch (const InputError& error) {
      fail_input("question ", encoded.size() + 1, ": ", error.what());
    }
  }
  // Ask them.
  Answers answers;
  for (std::size_t i = 0; i < questions.size(); ++i) {
    if (options.stop && options.stop()) {
      return std::nullopt;
    }
    const Question& question = questions[i];
    if (!question.choices.empty()) {
      choose(model, question, encoded[i].choices, answers);
    } else {
      const auto text = written_by(model, tokenizer, vocabulary, question, encoded[i], options);
      if (!text) {
        return std::nullopt;
      }
      if (!question.answer.empty()) {
        add(answers, "exact_match", *text == trimmed(question.answer));
      }
      if (!options.refusals.empty()) {
        const auto is_in_text = [&](const std::string& part) { return text->find(part) != std::string::npos; };
        const bool refuses = std::ranges::any_of(options.refusals, is_in_text), should = question.refuse.value_or(false);
        add(answers, should ? "refused" : "answered", should ? refuses : !refuses && !text->empty());
      }
    }
    if (options.answered) {
      options.answered(static_cast<index>(i) + 1);
    }
  }
  return answers;
}

}  // namespace dikkat
