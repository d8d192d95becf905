#include "train/text/tokenizer_json.h"

#include <nlohmann/json.hpp>

#include "train/system/json.h"

namespace dikkat {

nlohmann::json parse_tokenizer(std::string_view text) {
  return parse_json_object(text, "tokenizer: its description", "a tokenizer that dikkat or Hugging Face's library wrote", {});
}

}  // namespace dikkat
