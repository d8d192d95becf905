#include "train/sample/lm_eval_sample.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "autograd/base/error.h"
#include "train/system/json.h"

namespace dikkat {
namespace {

using Json = nlohmann::json;

constexpr const char* kUseServer = ": only lm_eval can compute the task's own score; run it through dikkat serve";

/// Returns the entry `i` of a list, or of an object with the keys "NAME0", "NAME1" and so on; nullptr if there is none.
const Json* entry(const Json* list, const char* name, std::size_t i) {
  if (list != nullptr && list->is_object()) {
    return find_value(*list, concat(name, i));
  }
  return list != nullptr && list->is_array() && i < list->size() ? &(*list)[i] : nullptr;
}

/// Adds the context and the continuation of a request.
void add_request(const Json& arguments, std::size_t i, Question& question) {
  const Json* const request = entry(&arguments, "gen_args_", i);
  require_input(request != nullptr && request->type() == arguments.type(), "has another form of \"arguments\" in entry ", i, ", expected ",
                R"([["CONTEXT", "CONTINUATION"], ...] or {"gen_args_0": {"arg_0": "CONTEXT", "arg_1": "CONTINUATION"}, ...})");
  const Json* const context = entry(request, "arg_", 0);
  const Json* const text = entry(request, "arg_", 1);
  require_input(text == nullptr || !text->is_object(),
                "is from a task in which the model writes the answer (generate_until), which lm_eval scores by its own filters: run it "
                "through dikkat serve, or write the questions as {\"prompt\": ..., \"answer\": ...}");
  require_input(context != nullptr && text != nullptr, "has an entry ", i, " of \"arguments\" without a continuation, as in a task of ",
                "perplexity (loglikelihood_rolling): measure the loss of its texts with --corpus");
  require_input(context->is_string(), "has a context that is a JSON ", json_type(*context), ", expected a text: log samples with a chat ",
                "template with tokenizer_backend=huggingface, which writes it into the context");
  require_input(text->is_string() && !is_nothing(*text) && request->size() == 2, "has ", request->size(), " values in entry ", i,
                " of \"arguments\", expected a context and a continuation that is not empty");
  question.contexts.push_back(context->get<std::string>());
  question.choices.push_back(text->get<std::string>());
}

/// Returns the number of characters at the start of the choices that are not theirs: if all begin with the same white space, this is
/// lm_eval's target_delimiter.
std::size_t delimiter_of(const std::vector<std::string>& choices) {
  const auto begin_with = [&](char c) { return std::ranges::all_of(choices, [c](const std::string& one) { return one.front() == c; }); };
  return begin_with(' ') || begin_with('\n') ? 1 : 0;
}

/// Returns the numbers of characters of the choices, without the delimiter.
std::vector<double> lengths_of(const std::vector<std::string>& choices) {
  std::vector<double> lengths;
  for (const std::string& choice : choices) {
    const auto characters = std::ranges::count_if(choice, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; });
    lengths.push_back(static_cast<double>(characters) - static_cast<double>(delimiter_of(choices)));
  }
  return lengths;
}

/// Returns the choices that "target" names by their indices, or else the first one with its text; none if there are no such choices.
std::vector<index> right_choices(const Json& target, const std::vector<std::string>& choices) {
  std::vector<index> right;
  if (!target.is_string()) {
    for (const Json& one : target.is_array() ? target : Json::array({target})) {
      if (!one.is_number_integer() || one.get<index>() < 0 || one.get<index>() >= std::ssize(choices)) {
        return {};
      }
      right.push_back(one.get<index>());
    }
    return right;
  }
  const std::string& text = target.get_ref<const std::string&>();
  if (const auto value = try_json(text); value && !value->is_string()) {  // newer versions write every target as a string
    right = right_choices(*value, choices);
  }
  for (std::size_t i = 0; i < choices.size() && right.empty(); ++i) {
    if (choices[i] == text || choices[i].substr(delimiter_of(choices)) == text) {
      right.push_back(static_cast<index>(i));
    }
  }
  return right;
}

/// Returns a number, which newer versions write as a string.
std::optional<double> number_of(const Json* value) {
  const auto number = value != nullptr && value->is_string() ? try_json(value->get_ref<const std::string&>()) : std::nullopt;
  const Json* const found = number ? &*number : value;
  return found != nullptr && found->is_number() ? std::optional(found->get<double>()) : std::nullopt;
}

/// Returns the log probabilities of the choices for the model that lm_eval asked; empty if they are not known.
std::vector<double> logged_scores(const Json& object, std::size_t choices) {
  std::vector<double> scores;
  for (std::size_t i = 0; i < choices; ++i) {
    if (const auto score = number_of(entry(entry(find_value(object, "filtered_resps"), "", i), "", 0))) {
      scores.push_back(*score);
    }
  }
  return scores.size() == choices ? scores : std::vector<double>();
}

/// Returns a metric of the line, if the scores that it should follow from are known. Throws InputError unless it is 0 or 1.
std::optional<bool> logged_metric(const Json& object, const char* name, const std::vector<double>& scores) {
  const auto value = number_of(find_value(object, name));
  require_input(!value || *value == 0 || *value == 1, "has the \"", name, "\" ", value.value_or(0), ", expected 0 or 1", kUseServer);
  return value && !scores.empty() ? std::optional(*value == 1) : std::nullopt;
}

}  // namespace

std::optional<Question> read_lm_eval_sample(const Json& object) {
  if (object.contains("prompt") || !(object.contains("arguments") || object.contains("doc_id") || object.contains("resps"))) {
    return std::nullopt;
  }
  // Read the requests.
  const Json* const arguments = find_value(object, "arguments");
  require_input(arguments != nullptr && arguments->is_structured() && !arguments->empty(),
                "is a sample of lm_eval without \"arguments\", expected the contexts and continuations that --log_samples writes");
  require_input(!object.contains("acc_mutual_info"), "has \"acc_mutual_info\", whose requests are not all choices", kUseServer);
  Question question;
  for (std::size_t i = 0; i < arguments->size(); ++i) {
    add_request(*arguments, i, question);
  }
  const std::vector<std::string>& choices = question.choices;
  const std::vector<double> scores = logged_scores(object, choices.size());
  const auto acc = logged_metric(object, "acc", scores);
  if (choices.size() == 1) {  // lm_eval's loglikelihood
    return question;
  }
  // Find the right choices. If the contexts are the choices, the target is the text that follows each of them.
  const Json target = object.value("target", Json());
  const bool is_shared = std::ranges::count(choices, choices.front()) == std::ssize(choices);
  if (is_shared && target.is_string()) {
    require_input(acc && choices.size() == 2, "has the same continuation after ", choices.size(),
                  " contexts: the right context can only be ", "told from \"acc\" and \"filtered_resps\" of two contexts");
    question.right = {*acc ? likeliest(scores) : 1 - likeliest(scores)};
    return question;
  }
  question.right = right_choices(target, choices);
  require_input(!question.right.empty(), target.is_null() ? "has no \"target\"" : "has the \"target\" " + short_text(target),
                ", expected the index of the right choice, from 0 to ", choices.size() - 1, ", or its text");
  const auto is_right = [&](index choice) { return std::ranges::find(question.right, choice) != question.right.end(); };
  require_input(!acc || is_right(likeliest(scores)) == *acc, "has an \"acc\" that does not follow from \"target\" and \"filtered_resps\"",
                kUseServer);
  if (is_shared) {
    return question;
  }
  // Find the lengths.
  question.lengths = lengths_of(choices);
  const auto acc_norm = logged_metric(object, "acc_norm", scores);
  require_input(!acc_norm || is_right(likeliest(scores, question.lengths)) == *acc_norm,
                "has an \"acc_norm\" that does not follow from \"filtered_resps\" and the characters of the choices", kUseServer,
                ", or remove \"acc_norm\" from the lines to divide by characters");
  return question;
}

}  // namespace dikkat
