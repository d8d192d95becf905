#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "train/web/serve/text_inputs.h"

// POST /classify: {"model", "input": TEXT | [TEXT] | [ids] | [[ids]]}, as vLLM and SGLang write it.
namespace dikkat::serve {

/// Reads the body of a request to a classifier. Throws ApiError for a body that is not a valid request, and for a text that the model
/// cannot read.
TextInputs read_classify_request(std::string_view body, const std::vector<ServedModel>& models);

/// Returns {"object": "list", "data": [{"index", "label", "probs", "num_classes"}], "model", "usage"}. `logits` is (texts, labels). With
/// several labels, "label" is a list of those with a probability of 1/2 or more.
std::string classify_json(const ServedLabels& labels, const TextInputs& request, std::span<const float> logits);

}  // namespace dikkat::serve
