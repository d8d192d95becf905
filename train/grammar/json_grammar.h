#pragma once

#include <nlohmann/json_fwd.hpp>

#include "train/grammar/grammar.h"

namespace dikkat {

// JSON texts, as models are allowed to write them. Between two parts of an object or list stands nothing, one space, or one line break with
// up to 16 spaces; before a colon nothing, and after it one space at most. So a model cannot write blanks without end. Numbers have
// at most 39 digits before the point, 16 after it, and 2 in the exponent. Escapes of strings always stand for whole characters.

/// Any JSON value, without white space around it.
Grammar json_value();
/// Any JSON object.
Grammar json_object();
/// Any JSON list.
Grammar json_list();
/// Any JSON string of `least` to `most` characters, each of which may be escaped.
Grammar json_string(index least = 0, std::optional<index> most = std::nullopt);
/// The number of a JSON value; an integer has no point and no exponent.
Grammar json_number();
Grammar json_integer();
/// This value. Its strings are written without needless escapes, and its objects' fields in their order.
Grammar json_constant(const nlohmann::ordered_json& value);

/// What may stand between two parts of a list or object, and after a colon.
Grammar json_space();
Grammar json_colon();
Grammar json_comma();
/// One character of a JSON string out of these ranges, escaped only where it must be. A spelling for spelled().
Grammar json_character(const std::vector<utf8::Range>& ranges);

}  // namespace dikkat
