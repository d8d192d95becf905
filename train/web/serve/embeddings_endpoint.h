#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "train/web/serve/text_inputs.h"

// POST /v1/embeddings: {"model", "input": TEXT | [TEXT] | [ids] | [[ids]], "encoding_format": "float" | "base64", "dimensions"}.
namespace dikkat::serve {

/// A request for vectors. All values are in range.
struct EmbeddingsRequest : TextInputs {
  bool is_base64 = false;
  index dimensions = 0;  // of a vector in the response
};

/// Reads the body of a request. Throws ApiError for a body that is not a valid request, and for a text that the model cannot read.
EmbeddingsRequest read_embeddings_request(std::string_view body, const std::vector<ServedModel>& models);

/// Returns the response. `vectors` is (texts, C). Those that are cut to fewer dimensions get the length 1 again.
std::string embeddings_json(const EmbeddingsRequest& request, std::vector<float> vectors);

}  // namespace dikkat::serve
