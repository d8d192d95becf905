#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "autograd/base/index.h"

namespace dikkat {

/// A writing system by its name in Unicode ("Latin", "Han"), and how many characters belong to it.
using ScriptCount = std::pair<std::string, index>;

/// What spaces, digits, punctuation and signs count as: all scripts use them.
inline constexpr const char* kCommonScript = "Common";

/// Sums up characters by their script (Unicode's property Script, UAX #24), the most frequent first. `characters` are code points with
/// their counts. Marks that stand on letters of any script count as common; scripts that hardly any text of today uses are "other".
std::vector<ScriptCount> count_scripts(std::span<const std::pair<char32_t, index>> characters);

}  // namespace dikkat
