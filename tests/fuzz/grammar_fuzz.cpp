// Fuzzes the forms of answers: a regular expression or a JSON Schema that is not trusted is compiled, and texts are written under it.

#include <memory>

#include <nlohmann/json.hpp>

#include "tests/fuzz/fuzz.h"
#include "train/grammar/json_schema.h"
#include "train/grammar/regex.h"
#include "train/grammar/token_grammar.h"
#include "train/system/json.h"
#include "train/text/byte_tokenizer.h"

namespace dikkat {
namespace {

std::shared_ptr<const TokenTrie> bytes() {
  static const auto trie = std::make_shared<const TokenTrie>(ByteTokenizer());
  return trie;
}

/// Writes a text of up to `most` bytes, which are chosen by `random`. Returns whether it is complete.
bool write(const TokenGrammar& grammar, std::uint64_t random, int most, std::string& text) {
  const auto constraint = grammar.constraint();
  std::vector<float> logits(256);
  for (int i = 0; i < most && !constraint->is_complete(); ++i) {
    std::fill(logits.begin(), logits.end(), 0.0F);
    constraint->mask(logits);
    random = random * 6364136223846793005U + 1442695040888963407U;
    // Often a byte that comes near the end.
    int token = -1;
    for (const char c : {'"', '}', ']'}) {
      if (token < 0 && (random >> 40) % 4 != 0 && logits[static_cast<unsigned char>(c)] == 0) {
        token = static_cast<unsigned char>(c);
      }
    }
    for (int tried = 0; token < 0; ++tried) {
      fuzz::hold(tried < 256, "some byte can follow a text that is not complete");
      const int byte = (static_cast<int>(random >> 50) + tried) % 256;
      token = logits[static_cast<std::size_t>(byte)] == 0 ? byte : -1;
    }
    constraint->accept(token);
    text += static_cast<char>(token);
  }
  return constraint->is_complete();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view input = fuzz::text_of(data, size);
  const bool is_schema = fuzz::choice(input, 2) == 0;
  std::shared_ptr<const TokenGrammar> grammar;
  const bool is_accepted = fuzz::accepts([&] {
    const Grammar texts = is_schema ? json_schema(parse_json<nlohmann::ordered_json>(input, {.levels = 64, .values = 4096}))
                                    : regex(input, {.whole = input.size() % 2 == 0});
    grammar = std::make_shared<const TokenGrammar>(texts, bytes(), std::vector<Token>{});
  });
  if (!is_accepted) {
    return 0;
  }
  for (std::uint64_t seed = 1; seed <= 2; ++seed) {
    std::string text;
    const bool is_complete = write(*grammar, seed + size, 200, text);
    fuzz::hold(grammar->can_continue(text), "what the masks allow is a beginning of a text");
    fuzz::hold(!is_complete || grammar->matches(text), "a complete text matches");
    fuzz::hold(!is_complete || !is_schema || nlohmann::json::accept(text), "a complete text under a schema is JSON");
  }
  return 0;
}

}  // namespace dikkat
