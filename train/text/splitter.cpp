#include "train/text/splitter.h"

#include <iterator>

namespace dikkat {
namespace {

// The patterns for PCRE2 mean the same as the regexes, in linear time. Repetitions that only the next character can end are possessive, so
// that nothing is tried again. White space is spelled out, because PCRE2's \s includes U+180E, which is not White_Space any more.
#define DIKKAT_SPACE R"(\x09-\x0D\x85\p{Z})"
#define DIKKAT_SPACE_IN_LINE R"(\x09\x0B\x0C\x85\p{Z})"  // no \r, no \n

// \s+(?!\S)|\s+: all white space at the end of the text. Before other text, the last character is left for the next piece. It is a piece of
// its own if that piece does not take it.
#define DIKKAT_SPACES "[" DIKKAT_SPACE "]+(?![^" DIKKAT_SPACE "])|[" DIKKAT_SPACE "]"

constexpr std::string_view kGpt2Regex = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
constexpr std::string_view kGpt2Pattern = R"('(?:[sdmt]|re|ve|ll)| ?\p{L}++| ?\p{N}++| ?[^)" DIKKAT_SPACE R"(\p{L}\p{N}]++|)" DIKKAT_SPACES;

// A number ends the text that the rule splits, so white space before a number keeps its last character.
constexpr std::string_view kSmolLmPattern = R"('(?:[sdmt]|re|ve|ll)| ?\p{L}++|\p{N}| ?[^)" DIKKAT_SPACE R"(\p{L}\p{N}]++|[)" DIKKAT_SPACE
                                            R"(]+(?![^)" DIKKAT_SPACE R"(\p{N}])|[)" DIKKAT_SPACE "]";

// Llama 3 and Qwen 2 differ in their numbers. \s*[\r\n]+ is white space up to its last line break.
#define DIKKAT_LLAMA_REGEX(numbers) \
  R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N})" numbers R"(| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"
#define DIKKAT_LLAMA_PATTERN(numbers)                                                      \
  R"('(?i:[sdmt]|re|ve|ll)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N})" numbers "| ?[^" DIKKAT_SPACE \
  R"(\p{L}\p{N}]++[\r\n]*+|(?:[)" DIKKAT_SPACE_IN_LINE R"(]*+[\r\n]++)++|)" DIKKAT_SPACES

constexpr SplitterFacts kFacts[] = {
    {.regex = kGpt2Regex, .splits_digits = false, .pattern = kGpt2Pattern, .gguf = "gpt-2", .nfc = false, .ignore_merges = false},
    {.regex = kGpt2Regex, .splits_digits = true, .pattern = kSmolLmPattern, .gguf = "smollm", .nfc = false, .ignore_merges = false},
    {.regex = DIKKAT_LLAMA_REGEX("{1,3}"),
     .splits_digits = false,
     .pattern = DIKKAT_LLAMA_PATTERN("{1,3}+"),
     .gguf = "llama-bpe",
     .nfc = false,
     .ignore_merges = true},
    {.regex = DIKKAT_LLAMA_REGEX(""),
     .splits_digits = false,
     .pattern = DIKKAT_LLAMA_PATTERN(""),
     .gguf = "qwen2",
     .nfc = true,
     .ignore_merges = false},
};
static_assert(std::size(kFacts) == std::size(Names<Splitter>::of), "a splitter without facts");

}  // namespace

const SplitterFacts& facts_of(Splitter splitter) { return kFacts[static_cast<std::size_t>(splitter)]; }

}  // namespace dikkat
