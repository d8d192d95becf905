#include "train/web/serve/classify_endpoint.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "train/web/serve/request_body.h"

namespace dikkat::serve {

using nlohmann::ordered_json;

TextInputs read_classify_request(std::string_view body, const std::vector<ServedModel>& models) {
  nlohmann::json object = parse_body(body);
  const PartsFreer object_freer(object);
  require_names(object, {"model", "input"});
  return read_text_inputs(object, models);
}

std::string classify_json(const ServedLabels& labels, const TextInputs& request, std::span<const float> logits) {
  const std::size_t classes = labels.names.size();
  ordered_json data = ordered_json::array();
  for (std::size_t i = 0; i < request.texts.size(); ++i) {
    const std::vector<double> probabilities = labels.probabilities(logits.subspan(i * classes, classes));
    ordered_json label = ordered_json::array();
    for (std::size_t k = 0; k < classes; ++k) {
      if (labels.several && probabilities[k] >= 0.5) {
        label.push_back(labels.names[k]);
      }
    }
    if (!labels.several) {
      label = labels.names[static_cast<std::size_t>(std::ranges::max_element(probabilities) - probabilities.begin())];
    }
    data.push_back({{"index", i}, {"label", std::move(label)}, {"probs", probabilities}, {"num_classes", classes}});
  }
  const index tokens = request.tokens();
  return json_text(ordered_json{{"object", "list"},
                                {"data", std::move(data)},
                                {"model", request.model},
                                {"usage", {{"prompt_tokens", tokens}, {"total_tokens", tokens}}}});
}

}  // namespace dikkat::serve
