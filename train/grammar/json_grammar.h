#pragma once

#include <nlohmann/json_fwd.hpp>

#include "train/grammar/grammar.h"
#include "train/system/json_form.h"

namespace dikkat {

// JSON texts, as models are allowed to write them. White space is limited, so that a model cannot write it without end. Parts of an object
// or list are separated by nothing, one space, or one line break with up to 16 spaces. No space comes before a colon, and at most one after
// it. Numbers have at most 39 digits before the point, 16 after it, and 2 in the exponent. Escapes of strings always stand for whole
// characters. In a form of arguments other than JSON, there is no white space, and strings have no escapes.

/// Matches any JSON value, without white space around it.
Grammar json_value(const JsonForm& form = kJsonForms[0]);
/// Matches any JSON object.
Grammar json_object(const JsonForm& form = kJsonForms[0]);
/// Matches any JSON string of `least` to `most` characters, each of which may be escaped.
Grammar json_string(index least = 0, std::optional<index> most = std::nullopt);
/// Matches a JSON number; an integer has no point and no exponent.
Grammar json_number();
Grammar json_integer();
/// Matches this value. Its strings have no needless escapes, and its objects have their fields in order. No text matches a value that the
/// form cannot write.
Grammar json_constant(const nlohmann::ordered_json& value, const JsonForm& form = kJsonForms[0]);
/// Matches true, false or null, and the form's own word for it.
Grammar json_word(std::string_view word, const JsonForm& form);
/// Matches a name, or any name that is written without quotes.
Grammar json_name(const std::string& name, const JsonForm& form = kJsonForms[0]);
Grammar bare_name(const JsonForm& form);
/// Matches the texts that match all parts, and in which `end` does not occur. The parts are those of all_of(). Without parts, any text.
Grammar text_before(std::vector<Grammar> parts, std::string_view end);

/// Matches the white space that may stand between two parts of a list or object, and after a colon.
Grammar json_space(const JsonForm& form = kJsonForms[0]);
Grammar json_colon(const JsonForm& form = kJsonForms[0]);
Grammar json_comma(const JsonForm& form = kJsonForms[0]);
/// Matches one character of a JSON string out of these ranges, escaped only where it must be. A spelling for spelled().
Grammar json_character(const std::vector<utf8::Range>& ranges);

}  // namespace dikkat
