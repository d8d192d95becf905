#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "autograd/base/index.h"

namespace dikkat {

/// A writing system by its name in Unicode ("Latin", "Han"), and how many characters belong to it.
using ScriptCount = std::pair<std::string, index>;

/// The script of spaces, digits, punctuation and signs, which all scripts use.
inline constexpr const char* kCommonScript = "Common";

/// Counts characters by their script (Unicode's property Script, UAX #24), the most frequent script first. `characters` are code points
/// with their counts. Marks that combine with letters of any script count as common; scripts that are rare today are "other".
std::vector<ScriptCount> count_scripts(std::span<const std::pair<char32_t, index>> characters);

}  // namespace dikkat
