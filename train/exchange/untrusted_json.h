#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace dikkat {

/// Parses a JSON object that may come from anybody: not too long, and not nested deeper than a parser's stack likes. Throws InputError, which begins with
/// `name`, for another text; `expected` says what it should be: "a config.json of Hugging Face".
nlohmann::json parse_untrusted_object(std::string_view text, const std::string& name, const char* expected);

/// A value for messages, cut where it is long.
std::string short_text(const nlohmann::json& value);

}  // namespace dikkat
