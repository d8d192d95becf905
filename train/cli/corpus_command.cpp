#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "train/cli/commands.h"
#include "train/cli/json_output.h"
#include "train/cli/progress.h"
#include "train/cli/shared_options.h"
#include "train/cli/streams.h"
#include "train/cli/text.h"
#include "train/data/split.h"
#include "train/data/tokenize.h"
#include "train/model/open_tokenizer.h"
#include "train/text/tokenizer_kinds.h"
#include "train/text/utf8.h"

namespace dikkat {
namespace {

struct CorpusInspectArguments {
  std::vector<std::string> corpus;
  std::string tokenizer;  // a file, or empty: made of the kind
  TokenizerOptions options{.kind = "char", .vocab_size = 8192};
  CorpusOptions reading;
  double val_fraction = 0.1;
  bool json = false;
};

/// Counts tokens and documents.
class Counter : public TokenSink {
 public:
  void begin_document(Part part) override { ++documents[static_cast<std::size_t>(part)]; }
  void append(Part part, std::span<const Token> some) override {
    tokens[static_cast<std::size_t>(part)] += static_cast<index>(some.size());
  }

  std::array<index, kParts> documents{}, tokens{};
};

/// The first characters of the first document.
std::string sample_of(const Corpus& corpus) {
  constexpr index kBytes = 200;
  CorpusReader reader(corpus, [](std::string_view text) { return static_cast<index>(text.size()); });
  const auto chunks = reader.next();
  const std::string_view text = chunks.empty() ? std::string_view() : std::string_view(chunks.front().text);
  std::string sample;  // of any bytes, fit for a terminal
  utf8::append_valid(sample,
                     text.substr(0, static_cast<std::size_t>(utf8::snap(text, std::min<index>(kBytes, static_cast<index>(text.size()))))));
  return sample;
}

int corpus_inspect_command(const CorpusInspectArguments& arguments) {
  announce_corpus(arguments.corpus);
  std::unique_ptr<Tokenizer> tokenizer;
  if (!arguments.tokenizer.empty()) {
    tokenizer = open_tokenizer(arguments.tokenizer);
  }
  CorpusOptions options = arguments.reading;
  options.any_bytes = tokenizer_kind(tokenizer != nullptr ? tokenizer->kind() : arguments.options.kind, "--kind").any_bytes;
  const Corpus corpus = open_corpus(arguments.corpus, options);
  LoadingLine line;
  const auto reading = [&](index bytes) { line({.stage = LoadingReport::Stage::reading, .bytes = bytes}); };
  const auto characters = make_tokenizer_maker({.kind = "char"});
  CorpusFacts facts;
  std::string not_utf8;  // where, and why
  try {
    facts = survey(corpus, characters.get(), reading);
  } catch (const InputError& error) {
    facts = survey(corpus, nullptr, reading);  // if it was not the characters, this says what it was
    not_utf8 = error.what();
  }
  const auto characters_found = not_utf8.empty() ? characters->make() : nullptr;

  if (tokenizer == nullptr) {
    const auto maker = make_tokenizer_maker(not_utf8.empty() ? arguments.options : TokenizerOptions{.kind = "byte"});
    survey(corpus, maker.get(), reading);
    tokenizer = maker->make([&](double share) { line({.stage = LoadingReport::Stage::learning, .share = share}); });
  }
  Counter counter;
  const auto tokenizing = [&](index done) {
    line({.stage = LoadingReport::Stage::tokenizing, .bytes = done, .share = static_cast<double>(done) / static_cast<double>(facts.bytes)});
  };
  const auto bytes =
      tokenize(corpus, *tokenizer, training_share(facts.bytes, arguments.val_fraction), counter, tokenizing, facts.fingerprint);
  const index tokens = counter.tokens[0] + counter.tokens[1];
  const double bytes_per_token = static_cast<double>(facts.bytes) / static_cast<double>(tokens);
  const std::string sample = sample_of(corpus);

  if (arguments.json) {
    nlohmann::ordered_json object{{"files", corpus.files.size()}, {"documents", facts.documents}, {"bytes", facts.bytes}};
    object["skipped"] = nlohmann::ordered_json::array();
    for (const SkippedFiles& kind : corpus.skipped) {
      object["skipped"].push_back({{"files", kind.files}, {"what", kind.what}, {"example", kind.example}});
    }
    object["characters"] = characters_found != nullptr ? nlohmann::ordered_json(characters_found->vocab_size()) : nlohmann::ordered_json();
    object["tokenizer"] = {{"kind", tokenizer->kind()}, {"vocab_size", tokenizer->vocab_size()}};
    object["tokens"] = tokens;
    object["bytes_per_token"] = bytes_per_token;
    for (const auto& [name, part] : {std::pair("train", 0), std::pair("validation", 1)}) {
      const auto at = static_cast<std::size_t>(part);
      object[name] = {{"bytes", bytes[at]}, {"documents", counter.documents[at]}, {"tokens", counter.tokens[at]}};
    }
    object["sha256"] = facts.fingerprint;
    object["sample"] = sample;
    put_json(object);
    flush_results();
    return 0;
  }
  const auto show = [](const char* name, const std::string& text) { put(fmt::format("{:<12}{}\n", name, text)); };
  show("files", grouped_digits(static_cast<index>(corpus.files.size())));
  if (!corpus.skipped.empty()) {
    show("", describe(corpus.skipped));
  }
  show("documents", grouped_digits(facts.documents));
  show("bytes", grouped_digits(facts.bytes));
  show("characters", characters_found != nullptr
                         ? grouped_digits(characters_found->vocab_size()) + " different ones"
                         : (options.any_bytes ? "not counted: " : "training refuses this text as it is: ") + not_utf8);
  show("tokens", fmt::format("{} ({} tokenizer, vocabulary {}): {:.2f} bytes a token", grouped_digits(tokens), tokenizer->kind(),
                             grouped_digits(tokenizer->vocab_size()), bytes_per_token));
  for (const auto& [name, part] : {std::pair("train", 0), std::pair("validation", 1)}) {
    const auto at = static_cast<std::size_t>(part);
    show(name, fmt::format("{} bytes, {} tokens", grouped_digits(bytes[at]), grouped_digits(counter.tokens[at])));
  }
  show("sha256", facts.fingerprint);
  put("\n" + for_terminal(sample) + (sample.ends_with('\n') ? "" : "\n"));
  flush_results();
  return 0;
}

}  // namespace

void add_corpus(Commands& program) {
  constexpr const char* kExamples = R"(  dikkat corpus inspect my-text.txt
  dikkat corpus inspect dump.jsonl.zst --text-field body --tokenizer gpt2/ --json)";
  Commands corpus = program.group("corpus", "Look at texts before training on them");
  const auto a = std::make_shared<CorpusInspectArguments>();
  Command command =
      corpus.add("inspect", "Count documents, bytes, characters and tokens, and show the train/validation split and the beginning",
                 kExamples, [a] { return corpus_inspect_command(*a); });
  command.texts("PATH", a->corpus, "", kCorpusHelp).required();
  command.text("--tokenizer", a->tokenizer, "PATH",
               "A tokenizer to count tokens with (files, RUN_DIR or FILE.h5); by default one of --kind is made from the text");
  command.text("--kind", a->options.kind, "KIND", tokenizer_names_in_words());
  command.number("--vocab-size", a->options.vocab_size, index{257}, index{1} << 24, "Of bpe");
  command.number("--val-fraction", a->val_fraction, 0.0, 0.999999, "Share of the text for validation");
  add_reading(command, a->reading);
  command.flag("--json", a->json, "One object");
}

}  // namespace dikkat
