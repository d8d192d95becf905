#pragma once

#include "train/text/hugging_face/hugging_face_fields.h"
#include "train/text/hugging_face/text_pattern.h"

namespace dikkat {

/// Reads the field "pattern" of a step in a tokenizer.json: {"String": TEXT} or {"Regex": EXPRESSION}. This header is private to its
/// folder.
inline TextPattern pattern_in(const nlohmann::json& step, const std::string& where) {
  using namespace hugging_face;
  const json& pattern = field(step, "pattern");
  if (pattern.is_object() && pattern.size() == 1) {
    if (const json& literal = field(pattern, "String"); literal.is_string()) {
      return TextPattern::literal(literal.get<std::string>());
    }
    if (const json& regex = field(pattern, "Regex"); regex.is_string()) {
      return TextPattern::regex(regex.get<std::string>());
    }
  }
  refuse(in(where, "pattern"), pattern, R"({"String": ...} or {"Regex": ...})");
}

}  // namespace dikkat
