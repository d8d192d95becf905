#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "train/web/serve/served_model.h"

namespace dikkat::serve {

/// The texts of a request whose answer has a row of numbers for each. Each has 1 token or more, and at most as many as the model reads.
struct TextInputs {
  std::string model{};  // the name of a served model
  std::vector<std::vector<Token>> texts{};

  /// Returns the number of tokens of all texts.
  index tokens() const;
};

/// Reads the fields "model" and "input": TEXT | [TEXT] | [ids] | [[ids]]. Throws ApiError for other values, and for a text that the model
/// cannot read.
TextInputs read_text_inputs(const nlohmann::json& request, const std::vector<ServedModel>& models);

}  // namespace dikkat::serve
