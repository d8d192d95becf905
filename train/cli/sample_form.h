#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "train/model/trained_model.h"
#include "train/sample/token_constraint.h"
#include "train/web/serve/structured_request.h"

namespace dikkat {

/// The values of --regex, --choice and --schema: the form that samples must have.
struct FormArguments {
  std::string regex{}, schema{};       // a pattern; a file
  std::vector<std::string> choices{};  // lists that commas separate
};

/// Returns the form that the options ask for. Throws InputError for several forms, for a file that is not a schema, and for choices that
/// are empty or equal.
serve::StructuredRequest form_of(const FormArguments& arguments);
/// Returns SampleOptions::constraint for texts of this form. Throws InputError, which names the option, if there are none.
std::function<std::unique_ptr<TokenConstraint>()> constraint_of(const serve::StructuredRequest& form, const TrainedModel& trained);

}  // namespace dikkat
