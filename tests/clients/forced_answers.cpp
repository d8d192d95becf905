// Writes answers that JSON schemas force, for other programs to check: a model that knows nothing draws the tokens.
//
//   forced_answers SEED ANSWERS FORM <schemas.jsonl >answers.jsonl
//
// Each line of the input is a schema. Its line of the output is {"answers": [TEXT, ...]}, or {"refused": PATH, "why": ...}. Answers that
// have not come to an end after 4,000 bytes are left out. FORM is an index of kJsonForms. If it is not 0, the answers are arguments of a
// call, which are read back as JSON.
#include <cstdint>
#include <iostream>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "train/grammar/json_schema.h"
#include "train/grammar/token_grammar.h"
#include "train/system/json.h"
#include "train/text/byte_tokenizer.h"
#include "train/web/serve/call_scan.h"

namespace dikkat {
namespace {

using nlohmann::ordered_json;

constexpr Token kEnd = 256;  // after the bytes
constexpr int kLongest = 4000, kUsual = 300;

class Model {
 public:
  explicit Model(std::uint64_t seed) : state_(seed) {}

  /// Returns a text of the grammar; an empty one if it has become too long. `mark` ends strings.
  std::string answer(const TokenGrammar& grammar, std::string_view mark) {
    const auto constraint = grammar.constraint();
    // Some answers prefer what ends strings and lists, and answers that have become long do.
    const int haste = static_cast<int>(roll(4));
    std::string text;
    std::vector<float> logits(kEnd + 1);
    while (text.size() < kLongest && !constraint->is_complete()) {
      std::ranges::fill(logits, 0.0F);
      constraint->mask(logits);
      const std::string_view next = next_of(mark, text);
      const std::string_view closing = !next.empty() && logits[static_cast<unsigned char>(next.front())] == 0 ? next : "\"}]";
      std::vector<Token> allowed, ends;
      for (Token token = 0; token <= kEnd; ++token) {
        if (logits[static_cast<std::size_t>(token)] == 0) {
          allowed.push_back(token);
          if (token == kEnd || closing.find(static_cast<char>(token)) != std::string_view::npos) {
            ends.push_back(token);
          }
        }
      }
      const bool hurries = !ends.empty() && (roll(4) < haste || text.size() > kUsual);
      const Token token = pick(hurries ? ends : allowed);
      if (token == kEnd) {
        return text;
      }
      constraint->accept(token);
      text += static_cast<char>(token);
    }
    return constraint->is_complete() ? text : "";
  }

 private:
  /// Returns a number from 0 to `count` - 1.
  std::int64_t roll(std::int64_t count) {
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;
    return static_cast<std::int64_t>((state_ >> 33) % static_cast<std::uint64_t>(count));
  }
  /// Returns the byte of a mark that follows those of its bytes at the end of a text.
  static std::string_view next_of(std::string_view mark, std::string_view text) {
    std::size_t begun = std::min(text.size(), mark.empty() ? 0 : mark.size() - 1);
    while (!mark.starts_with(text.substr(text.size() - begun))) {
      --begun;
    }
    return mark.substr(begun, 1);
  }
  Token pick(const std::vector<Token>& some) { return some[static_cast<std::size_t>(roll(std::ssize(some)))]; }

  std::uint64_t state_;
};

/// Returns the JSON of arguments.
std::string read_back(const std::string& text, const JsonForm& form, const ArgumentTypes& types) {
  const serve::ScannedCall call = serve::scan_call(text, {.begin = "<call>", .arguments = form}, {}, &types);
  const bool is_whole = call.progress == serve::ScannedCall::Progress::complete && call.end == text.size();
  return is_whole ? call.arguments : "not read as arguments: " + text;
}

ordered_json answers_of(const std::string& line, Model& model, int count, const JsonForm& form) {
  static const auto trie = std::make_shared<const TokenTrie>(ByteTokenizer());
  ordered_json result;
  try {
    const auto schema = parse_json<ordered_json>(line);
    const Grammar texts = json_schema(schema, {.name = "schema", .form = form});
    const ArgumentTypes types = form.has_tags() ? argument_types(schema, {.form = form}) : ArgumentTypes();
    const auto grammar = std::make_shared<const TokenGrammar>(texts, trie, std::vector<Token>{kEnd});
    result["answers"] = ordered_json::array();
    for (int i = 0; i < count; ++i) {
      if (const std::string answer = model.answer(*grammar, form.has_tags() ? form.end_of_value() : form.quote); !answer.empty()) {
        result["answers"].push_back(form.is_json() ? answer : read_back(answer, form, types));
      }
    }
  } catch (const SchemaError& error) {
    return {{"refused", error.path()}, {"why", error.what()}};
  } catch (const GrammarTooLarge& error) {
    return {{"refused", error.name()}, {"why", error.what()}};
  } catch (const InputError& error) {
    return {{"refused", ""}, {"why", error.what()}};
  }
  return result;
}

}  // namespace
}  // namespace dikkat

int main(int argc, char** argv) {
  if (argc != 4) {
    std::cerr << "usage: forced_answers SEED ANSWERS FORM <schemas.jsonl >answers.jsonl\n";
    return 2;
  }
  dikkat::Model model(std::stoull(argv[1]));
  const int count = std::stoi(argv[2]);
  const dikkat::JsonForm form = std::begin(dikkat::kJsonForms)[std::stoul(argv[3])];
  for (std::string line; std::getline(std::cin, line);) {
    std::cout << dikkat::json_text(dikkat::answers_of(line, model, count, form)) << '\n';
  }
}
