#include "train/text/scripts.h"

#include <algorithm>
#include <memory>
#include <string_view>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "autograd/base/error.h"
#include "train/text/utf8.h"

namespace dikkat {
namespace {

// The scripts, most frequent first. PCRE2 can match the characters of a script, but cannot return a character's script or list the scripts.
constexpr std::string_view kScripts[] = {"Latin",
                                         "Han",
                                         "Cyrillic",
                                         "Arabic",
                                         "Hiragana",
                                         "Katakana",
                                         "Hangul",
                                         "Greek",
                                         "Hebrew",
                                         "Thai",
                                         "Devanagari",
                                         "Bengali",
                                         "Tamil",
                                         "Telugu",
                                         "Kannada",
                                         "Malayalam",
                                         "Gujarati",
                                         "Gurmukhi",
                                         "Oriya",
                                         "Sinhala",
                                         "Armenian",
                                         "Georgian",
                                         "Myanmar",
                                         "Khmer",
                                         "Lao",
                                         "Tibetan",
                                         "Ethiopic",
                                         "Mongolian",
                                         "Syriac",
                                         "Thaana",
                                         "Bopomofo",
                                         "Yi",
                                         "Javanese",
                                         "Cherokee",
                                         "Tifinagh",
                                         "Coptic",
                                         "Canadian_Aboriginal"};

using Code = std::unique_ptr<pcre2_code, void (*)(pcre2_code*)>;
using MatchData = std::unique_ptr<pcre2_match_data, void (*)(pcre2_match_data*)>;

Code compile(const std::string& pattern) {
  int error = 0;
  PCRE2_SIZE at = 0;
  Code code(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(), PCRE2_UTF, &error, &at, nullptr), pcre2_code_free);
  require(code != nullptr, "scripts: PCRE2 refuses ", pattern, " (error ", error, ")");
  return code;
}

}  // namespace

std::vector<ScriptCount> count_scripts(std::span<const std::pair<char32_t, index>> characters) {
  // Put the characters into one text, which PCRE2 can search.
  std::string text;  // each character once
  std::vector<std::size_t> begins;
  index rest = 0;
  for (const auto& [character, count] : characters) {
    begins.push_back(text.size());
    utf8::append(text, character);
    rest += count;
  }
  const MatchData match(pcre2_match_data_create(1, nullptr), pcre2_match_data_free);
  require(match != nullptr, "scripts: no memory for PCRE2");

  // Count the characters that match a script, and take them from the rest.
  std::vector<ScriptCount> counts;
  const auto count_matches = [&](const std::string& name, const std::string& pattern) {
    const Code code = compile(pattern);
    index found = 0;
    for (std::size_t at = 0; pcre2_match(code.get(), reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), at, PCRE2_NO_UTF_CHECK,
                                         match.get(), nullptr) > 0;) {
      const PCRE2_SIZE* const range = pcre2_get_ovector_pointer(match.get());
      const auto first = std::ranges::lower_bound(begins, range[0]), end = std::ranges::lower_bound(begins, range[1]);
      for (auto one = first; one != end; ++one) {
        found += characters[static_cast<std::size_t>(one - begins.begin())].second;
      }
      at = range[1];
    }
    rest -= found;
    if (found > 0) {
      counts.emplace_back(name, found);
    }
  };
  // Count all known scripts; the others remain in the rest.
  count_matches(kCommonScript, R"([\p{sc:Common}\p{sc:Inherited}]+)");
  for (const std::string_view script : kScripts) {
    count_matches(std::string(script), concat(R"(\p{sc:)", script, "}+"));
  }
  if (rest > 0) {
    counts.emplace_back("other", rest);
  }
  std::ranges::stable_sort(counts, std::greater(), &ScriptCount::second);
  return counts;
}

}  // namespace dikkat
