#include "train/web/serve/text_inputs.h"

#include <nlohmann/json.hpp>

#include "train/text/around_text.h"
#include "train/web/serve/request_body.h"
#include "train/web/serve/request_fields.h"

namespace dikkat::serve {
namespace {

using nlohmann::json;

constexpr std::size_t kMostInputs = 2048;  // as in OpenAI's API
constexpr const char* kInputs = "expected a text, a list of texts, a list of ids, or a list of lists of ids";

/// `name` is the input's name in errors.
std::vector<Token> tokens_of_input(const ServedModel& model, const json& input, const std::string& name) {
  std::vector<Token> tokens;
  if (input.is_string()) {
    try {
      tokens = encode_whole(model.tokenizer, input.get_ref<const std::string&>());
    } catch (const InputError& error) {
      refuse("input", name, ": ", error.what());
    }
  } else {
    const index size = model.tokenizer.vocab_size();
    for (const json& one : input) {
      if (!one.is_number_integer() || one < 0 || one >= size) {
        refuse("input", name, '[', tokens.size(), "] ", found_value(one), ", expected the id of a token, 0 to ", size - 1);
      }
      tokens.push_back(one.get<Token>());
    }
  }
  if (tokens.empty()) {
    refuse("input", name, " is empty, expected one token or more");
  }
  if (std::ssize(tokens) > model.context()) {
    throw ApiError(400,
                   concat(name, " has ", tokens.size(), " tokens, expected at most the ",
                          model.labels ? "classifier's window (data.window) of " : "model's context of ", model.context()),
                   "input", "context_length_exceeded");
  }
  return tokens;
}

}  // namespace

index TextInputs::tokens() const {
  index tokens = 0;
  for (const std::vector<Token>& text : texts) {
    tokens += std::ssize(text);
  }
  return tokens;
}

TextInputs read_text_inputs(const json& request, const std::vector<ServedModel>& models) {
  const JsonFields fields = fields_of(request);
  TextInputs inputs{.model = read_model(fields, names_of(models))};
  const ServedModel& model = model_named(models, inputs.model);
  const json* const input = fields.find("input");
  if (input == nullptr || !(input->is_string() || input->is_array()) || (input->is_array() && input->empty())) {
    refuse("input", input == nullptr ? "there is no input" : concat("input ", found_value(*input)), ", ", kInputs);
  }
  const bool is_list = input->is_array() && !input->front().is_number();
  if (!is_list) {
    inputs.texts.push_back(tokens_of_input(model, *input, "input"));
    return inputs;
  }
  if (input->size() > kMostInputs) {
    refuse("input", "input has ", input->size(), " texts, expected at most ", kMostInputs, ": send them in several requests");
  }
  for (const json& one : *input) {
    const std::string name = concat("input[", inputs.texts.size(), ']');
    if (one.is_string() != input->front().is_string() || !(one.is_string() || one.is_array())) {
      refuse("input", name, ' ', found_value(one), ", ", kInputs);
    }
    inputs.texts.push_back(tokens_of_input(model, one, name));
  }
  return inputs;
}

}  // namespace dikkat::serve
