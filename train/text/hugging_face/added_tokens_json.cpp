#include "train/text/hugging_face/added_tokens_json.h"

#include "autograd/base/error.h"
#include "train/text/hugging_face/hugging_face_fields.h"

namespace dikkat {

using namespace hugging_face;
using nlohmann::ordered_json;

ordered_json flags_of(const AddedToken& token) {
  return {{"content", token.name},  {"single_word", token.single_word}, {"lstrip", token.lstrip},
          {"rstrip", token.rstrip}, {"normalized", token.normalized},   {"special", token.special}};
}

ordered_json added_tokens_of(const AddedTokens& tokens) {
  ordered_json added = ordered_json::array();
  for (const auto& [id, token] : tokens) {
    ordered_json one{{"id", id}};
    one.update(flags_of(token));
    added.push_back(std::move(one));
  }
  return added;
}

AddedTokens added_tokens_from(const json& list) {
  AddedTokens tokens;
  if (!list.is_null() && !list.is_array()) {
    refuse("added_tokens", list, "an array");
  }
  for (const json& token : list) {
    const std::string where = "added_tokens";
    require_input(token.is_object() && field(token, "id").is_number_integer() && token["id"] >= 0 && token["id"] < (1 << 30) &&
                      field(token, "content").is_string(),
                  "tokenizer: an added token is ", shown(token), ", expected an object with id and content");
    require_known(token, where, {"id", "content", "single_word", "lstrip", "rstrip", "normalized", "special"});
    const bool special = flag(token, where, "special", false);
    const bool is_new = tokens
                            .emplace(token["id"].get<Token>(), AddedToken{.name = token["content"].get<std::string>(),
                                                                          .special = special,
                                                                          .normalized = flag(token, where, "normalized", !special),
                                                                          .lstrip = flag(token, where, "lstrip", false),
                                                                          .rstrip = flag(token, where, "rstrip", false),
                                                                          .single_word = flag(token, where, "single_word", false)})
                            .second;
    require_input(is_new, "tokenizer: two added tokens have the id ", token["id"].get<Token>());
  }
  return tokens;
}

}  // namespace dikkat
