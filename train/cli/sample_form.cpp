#include "train/cli/sample_form.h"

#include <algorithm>
#include <sstream>

#include <nlohmann/json.hpp>

#include "train/system/file.h"
#include "train/system/json.h"
#include "train/text/utf8.h"
#include "train/web/serve/answer_constraints.h"
#include "train/web/serve/api_error.h"

namespace dikkat {
namespace {

using serve::StructuredRequest;

constexpr index kLargestSchema = index{1} << 20;  // bytes

/// Returns the choices as a list in JSON.
std::string list_of(const std::vector<std::string>& lists) {
  std::vector<std::string> choices;
  for (const std::string& list : lists) {
    require_input(!utf8::first_invalid(list), "--choice is not UTF-8, expected strings such as spam,ham");
    std::istringstream stream(list + ',');
    for (std::string choice; std::getline(stream, choice, ',');) {
      require_input(!choice.empty(), "--choice is \"", list, "\", which has an empty choice, expected strings such as spam,ham");
      require_input(std::ranges::find(choices, choice) == choices.end(), "--choice has \"", choice, "\" twice, expected different strings");
      choices.push_back(choice);
    }
  }
  return json_text(nlohmann::json(choices));
}

}  // namespace

StructuredRequest form_of(const FormArguments& arguments) {
  using Kind = StructuredRequest::Kind;
  std::vector<StructuredRequest> forms;
  if (!arguments.regex.empty()) {
    forms.push_back({.kind = Kind::regex, .text = arguments.regex, .field = "--regex"});
  }
  if (!arguments.choices.empty()) {
    forms.push_back({.kind = Kind::choice, .text = list_of(arguments.choices), .field = "--choice"});
  }
  if (!arguments.schema.empty()) {
    forms.push_back({.kind = Kind::schema, .text = read_bytes(arguments.schema, kLargestSchema), .field = "--schema"});
  }
  if (forms.empty()) {
    return {};
  }
  require_input(forms.size() == 1, forms.front().field, " and ", forms.back().field,
                " both give a form, and a text can have only one; drop one of the two");
  return forms.front();
}

std::function<std::unique_ptr<TokenConstraint>()> constraint_of(const StructuredRequest& form, const TrainedModel& trained) {
  try {
    const serve::ServedModel model{.gpt = trained.model->gpt(), .tokenizer = *trained.tokenizer, .name = "", .fingerprint = ""};
    return serve::AnswerConstraints(model).of({.structure = form}, {});
  } catch (const serve::ApiError& error) {
    fail_input(error.what());
  } catch (const JsonError& error) {
    fail_input(form.field, ' ', error.what());
  }
}

}  // namespace dikkat
