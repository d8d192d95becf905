// How fast is text encoded, on one core and on all, and how long does learning a vocabulary take?
#include <nlohmann/json.hpp>

#include "bench/measure.h"
#include "bench/program.h"
#include "train/data/corpus/corpus_reader.h"
#include "train/data/tokens/tokenize.h"
#include "train/text/tokenizer_file.h"

namespace dikkat::bench {
namespace {

struct Arguments {
  std::vector<std::string> corpus;
  std::string tokenizer;
  index vocab_size = 32000;
  int runs = 5;
  bool json = false;
};

/// Counts tokens without keeping them.
class Counter : public TokenSink {
 public:
  void begin_document(Part) override {}
  void append(Part, std::span<const Token> some) override { tokens += static_cast<index>(some.size()); }
  index tokens = 0;
};

std::string text_of(const Corpus& corpus) {
  std::string text;
  CorpusReader reader(corpus, [](std::string_view some) { return static_cast<index>(some.size()); });
  for (auto chunks = reader.next(); !chunks.empty(); chunks = reader.next()) {
    for (const Chunk& chunk : chunks) {
      text += chunk.text;
    }
  }
  return text;
}

void run(const Arguments& a) {
  const Corpus corpus = open_corpus(a.corpus);
  const std::string text = text_of(corpus);
  const double megabytes = static_cast<double>(text.size()) / 1e6;
  nlohmann::ordered_json report{{"bytes", text.size()}};
  const auto tell = [&](const char* what, double ms, const std::string& more) {
    const double seconds = ms * 1e-3;
    report[what] = {{"seconds", seconds}, {"mb_per_s", megabytes / seconds}};
    if (!a.json) {
      fmt::print("{:<26}{:>8.3f} s{:>9.1f} MB/s  {}\n", what, seconds, megabytes / seconds, more);
    }
  };
  // Read the tokenizer, or learn one.
  std::unique_ptr<Tokenizer> tokenizer;
  if (!a.tokenizer.empty()) {
    tokenizer = read_tokenizer_file(a.tokenizer);
  } else {
    const auto maker = make_tokenizer_maker({.kind = "bpe", .vocab_size = a.vocab_size});
    tell("counting pieces", measure(0, 1, [&] { survey(corpus, maker.get()); }).median, "all threads");
    const Times learning = measure(0, 1, [&] { tokenizer = maker->make(); });
    tell("learning merges", learning.median, fmt::format("{} tokens", tokenizer->vocab_size()));
  }
  // Encode on one core, then on all.
  std::size_t tokens = 0;
  const Times alone = measure(1, a.runs, [&] { tokens = tokenizer->encode(text).size(); });
  tell("encoding, one thread", alone.median,
       fmt::format("{:.2f} bytes a token", static_cast<double>(text.size()) / static_cast<double>(tokens)));
  const Times together = measure(1, a.runs, [&] {
    Counter counter;
    tokenize(corpus, *tokenizer, {}, counter);
  });
  tell("reading and encoding", together.median, "all threads");
  if (a.json) {
    fmt::print("{}\n", report.dump());
  }
}

}  // namespace
}  // namespace dikkat::bench

int main(int argc, char** argv) {
  dikkat::bench::Arguments a;
  CLI::App app{"Times tokenizers."};
  app.add_option("corpus", a.corpus, "Text files")->required();
  app.add_option("--tokenizer", a.tokenizer, "Tokenizer file; by default a BPE tokenizer is learned from the texts");
  app.add_option("--vocab-size", a.vocab_size, "Vocabulary size of the learned tokenizer")->capture_default_str();
  app.add_option("--runs", a.runs, "Timed runs")->capture_default_str()->check(CLI::PositiveNumber);
  app.add_flag("--json", a.json, "Print one JSON object");
  return dikkat::bench::run_program(app, argc, argv, [&] { dikkat::bench::run(a); });
}
