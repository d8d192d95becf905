// What does a restricted answer cost? For several grammars over a vocabulary: compiling, the mask of a state that is new, that of a known
// state, and whole answers, for each token.
#include <limits>

#include <nlohmann/json.hpp>

#include "autograd/simd/philox.h"
#include "bench/measure.h"
#include "bench/program.h"
#include "train/grammar/json_grammar.h"
#include "train/grammar/json_schema.h"
#include "train/grammar/regex.h"
#include "train/grammar/token_grammar.h"
#include "train/text/tokenizer_file.h"

namespace dikkat::bench {
namespace {

struct Arguments {
  std::string tokenizer;
  int answers = 20;
  bool json = false;
};

constexpr const char* kPerson = R"({"type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer", "minimum": 0},
    "email": {"type": "string", "format": "email"}, "tags": {"type": "array", "items": {"type": "string", "maxLength": 20}},
    "address": {"type": "object", "properties": {"street": {"type": "string"}, "city": {"type": "string"}}, "required": ["street"]}},
    "required": ["name", "age", "tags", "address"]})";

/// A token that a model without knowledge would draw.
Token drawn(std::span<const float> logits, const RandomStream& random, index step) {
  Token best = -1;
  double largest = -1;
  for (std::size_t token = 0; token < logits.size(); ++token) {
    if (logits[token] != -std::numeric_limits<float>::infinity()) {
      const double value = random.uniform(static_cast<std::uint64_t>(step) * logits.size() + token);
      if (value > largest) {
        largest = value;
        best = static_cast<Token>(token);
      }
    }
  }
  return best;
}

void run(const Arguments& a) {
  const std::unique_ptr<Tokenizer> tokenizer = read_tokenizer_file(a.tokenizer);
  std::shared_ptr<const TokenTrie> trie;
  nlohmann::ordered_json report;
  const Times tree = measure(0, 5, [&] { trie = std::make_shared<const TokenTrie>(*tokenizer); });
  report["tree_ms"] = tree.median;
  if (!a.json) {
    fmt::print("{} tokens, a tree of {} nodes, made in {:.1f} ms\n\n", trie->vocab_size(), trie->nodes().size(), tree.median);
    fmt::print("{:<16}{:>12}{:>14}{:>14}{:>14}{:>14}{:>14}\n", "", "compile ms", "new mask ms", "(the slowest)", "known ms",
               "answer, 1st ms", "answer, 2nd ms");
  }
  const std::pair<const char*, std::function<Grammar()>> cases[] = {
      {"json_object", [] { return json_object(); }},
      {"schema", [] { return json_schema(nlohmann::ordered_json::parse(kPerson)); }},
      {"regex", [] { return regex("[A-Z][a-z]{2,20}, [0-9]{1,3} years(?: \\([^()]{1,80}\\))?\\."); }},
      {"text", [] { return text_without("<tool_call>"); }},
  };
  for (const auto& [name, make] : cases) {
    const std::vector<Token> ends{0};
    std::shared_ptr<const TokenGrammar> grammar;
    const Times compile = measure(1, 5, [&] { grammar = std::make_shared<const TokenGrammar>(make(), trie, ends); });
    // Answers of random tokens: the first ones meet new states, and the same ones again known states.
    std::vector<double> fresh, known, first, second;
    std::vector<float> logits(static_cast<std::size_t>(trie->vocab_size()));
    for (int answer = 0; answer < a.answers; ++answer) {
      const RandomStream random(7, "grammar", static_cast<std::uint64_t>(answer));
      for (int pass = 0; pass < 2; ++pass) {
        const auto constraint = grammar->constraint();
        double sum = 0;
        index tokens = 0;
        for (; tokens < 100 && !constraint->is_complete(); ++tokens) {
          std::ranges::fill(logits, 0.0F);
          const std::size_t before = grammar->memory();
          const double mask = measure(0, 1, [&] { constraint->mask(logits); }).median;
          (grammar->memory() != before ? fresh : known).push_back(mask);
          const Token token = drawn(logits, random, tokens);
          if (token == ends[0]) {
            break;
          }
          sum += mask + measure(0, 1, [&] { constraint->accept(token); }).median;
        }
        (pass == 0 ? first : second).push_back(sum / static_cast<double>(std::max<index>(tokens, 1)));
      }
    }
    const auto mean = [](const std::vector<double>& all) {
      double sum = 0;
      for (const double one : all) {
        sum += one;
      }
      return sum / static_cast<double>(std::max<std::size_t>(all.size(), 1));
    };
    const double slowest = fresh.empty() ? 0 : *std::ranges::max_element(fresh);
    report[name] = {{"compile_ms", compile.median}, {"new_mask_ms", mean(fresh)},        {"slowest_mask_ms", slowest},
                    {"known_mask_ms", mean(known)}, {"first_ms_per_token", mean(first)}, {"second_ms_per_token", mean(second)}};
    if (!a.json) {
      fmt::print("{:<16}{:>12.2f}{:>14.3f}{:>14.3f}{:>14.4f}{:>14.3f}{:>14.4f}\n", name, compile.median, mean(fresh), slowest, mean(known),
                 mean(first), mean(second));
    }
  }
  if (a.json) {
    fmt::print("{}\n", report.dump());
  }
}

}  // namespace
}  // namespace dikkat::bench

int main(int argc, char** argv) {
  dikkat::bench::Arguments a;
  CLI::App app{"Times answers that are restricted to a grammar."};
  app.add_option("--tokenizer", a.tokenizer, "Tokenizer file, or a folder with one")->required();
  app.add_option("--answers", a.answers, "Answers of each grammar")->capture_default_str()->check(CLI::PositiveNumber);
  app.add_flag("--json", a.json, "Print one JSON object");
  return dikkat::bench::run_program(app, argc, argv, [&] { dikkat::bench::run(a); });
}
