#include <memory>

#include <nlohmann/json.hpp>

#include "train/cli/commands.h"
#include "train/cli/corpus_summary.h"
#include "train/cli/shared_options.h"
#include "train/cli/show_chat.h"
#include "train/cli/terminal/json_output.h"
#include "train/cli/terminal/progress.h"
#include "train/cli/terminal/streams.h"
#include "train/cli/terminal/text.h"
#include "train/cli/terminal/write_page.h"
#include "train/config/settle_chat.h"
#include "train/data/corpus/corpus_reader.h"
#include "train/data/corpus/split.h"
#include "train/data/examples/conversation_template.h"
#include "train/data/tokens/open_tokenizer.h"
#include "train/data/tokens/tokenize.h"
#include "train/exchange/model_files.h"
#include "train/system/json.h"
#include "train/text/tokenizer_kinds.h"
#include "train/text/utf8.h"
#include "train/web/report/page.h"

namespace dikkat {
namespace {

struct CorpusInspectArguments {
  std::vector<std::string> corpus;
  std::string tokenizer;  // empty: one of options.kind is made from the text
  TokenizerOptions options{.kind = "char", .vocab_size = 8192};
  CorpusOptions reading;
  double val_fraction = 0.1;
  std::string html;  // the page to write, or empty
  bool json = false;
  bool chat = false;
  std::string form = "auto", loss = "answers";  // --template and --loss
  index examples = 3;
};

int inspect_chat(const CorpusInspectArguments& arguments) {
  require_input(!arguments.tokenizer.empty(),
                "--chat shows conversations as a model sees them, so it needs the model's tokenizer: add --tokenizer PATH");
  require_input(arguments.html.empty(), "--chat shows examples as text, so it cannot be combined with --html: leave one of them out");
  const auto scored = value_named<ScoredText>(arguments.loss);
  require_input(scored.has_value(), "--loss is ", arguments.loss, ", expected answers, last_answer or all");
  const auto tokenizer = open_tokenizer(arguments.tokenizer);
  ChatConfig chat;
  chat.template_name = arguments.form;
  if (arguments.form == "auto") {
    chat.jinja = chat_templates_in(arguments.tokenizer).text;
  }
  read_template_file(chat, "--template");
  settle_date(chat);
  const ChatToShow wanted{.paths = arguments.corpus,
                          .names = arguments.reading.names,
                          .form = conversation_template(chat, *tokenizer, arguments.form == "auto" ? arguments.tokenizer : arguments.form,
                                                        " with --template chatml, llama3 or plain"),
                          .scored = *scored,
                          .examples = arguments.examples};
  if (arguments.json) {
    print_json(chat_to_json(wanted, *tokenizer));
  } else {
    print_result(show_chat(wanted, *tokenizer));
  }
  flush_results();
  return 0;
}

/// Counts tokens and documents.
class Counter : public TokenSink {
 public:
  void begin_document(Part part) override { ++documents[static_cast<std::size_t>(part)]; }
  void append(Part part, std::span<const Token> some) override {
    tokens[static_cast<std::size_t>(part)] += static_cast<index>(some.size());
  }

  std::array<index, kParts> documents{}, tokens{};
};

/// Returns the first characters of the first document.
std::string sample_of(const Corpus& corpus) {
  constexpr index kBytes = 200;
  CorpusReader reader(corpus, [](std::string_view text) { return static_cast<index>(text.size()); });
  const auto chunks = reader.next();
  std::string sample;  // valid UTF-8, even if the text is not
  utf8::append_valid(sample, chunks.empty() ? "" : first_bytes(chunks.front().text, kBytes));
  return sample;
}

int corpus_inspect_command(const CorpusInspectArguments& arguments) {
  if (arguments.chat) {
    return inspect_chat(arguments);
  }
  // Open the corpus, and the tokenizer if there is one.
  announce_corpus(arguments.corpus);
  if (!arguments.html.empty()) {
    require_page_name(arguments.html);
  }
  std::unique_ptr<Tokenizer> tokenizer;
  if (!arguments.tokenizer.empty()) {
    tokenizer = open_tokenizer(arguments.tokenizer);
  }
  CorpusOptions options = arguments.reading;
  options.any_bytes = tokenizer_kind(tokenizer != nullptr ? tokenizer->kind() : arguments.options.kind, "--kind").any_bytes;
  CorpusSummary summary{.paths = arguments.corpus, .corpus = open_corpus(arguments.corpus, options)};
  // Read the text once for statistics.
  LoadingLine line;
  const auto reading = [&](index bytes) { line({.stage = LoadingReport::Stage::reading, .bytes = bytes}); };
  summary.statistics = statistics_of(summary.corpus, reading);
  if (summary.statistics.invalid > 0) {  // the character tokenizer reports where, and why
    const auto characters = make_tokenizer_maker({.kind = "char"});
    try {
      survey(summary.corpus, characters.get(), reading);
    } catch (const RefusedText& error) {
      summary.not_utf8 = error.what();
    }
  }
  // Make a tokenizer from the text, unless one was given.
  const auto maker = tokenizer != nullptr
                         ? nullptr
                         : make_tokenizer_maker(summary.not_utf8.empty() ? arguments.options : TokenizerOptions{.kind = "byte"});
  summary.facts = survey(summary.corpus, maker.get(), reading);
  if (maker != nullptr) {
    tokenizer = maker->make([&](double share) { line({.stage = LoadingReport::Stage::learning, .share = share}); });
  }
  // Count the tokens of both parts.
  Counter counter;
  const auto tokenizing = [&](index done) {
    line({.stage = LoadingReport::Stage::tokenizing,
          .bytes = done,
          .share = static_cast<double>(done) / static_cast<double>(summary.facts.bytes)});
  };
  summary.split = spread_split(summary.facts.bytes_of_files, arguments.val_fraction, kLeastTextShare);
  summary.bytes = tokenize(summary.corpus, *tokenizer, summary.split, counter, tokenizing, summary.facts.fingerprint);
  summary.documents = counter.documents;
  summary.tokens = counter.tokens;
  summary.tokenizer_kind = tokenizer->kind();
  summary.vocab_size = tokenizer->vocab_size();
  summary.sample = sample_of(summary.corpus);
  for (const std::string& note : summary.facts.notes) {
    print_message(note);
  }
  // Write the page, and print the result.
  if (!arguments.html.empty()) {
    write_page(arguments.html, page_of(PageKind::corpus, json_text(to_json(summary))));
  }
  if (arguments.json) {
    print_json(to_json(summary));
  } else {
    print_result(to_text(summary));
  }
  flush_results();
  return 0;
}

}  // namespace

void add_corpus(Commands& program) {
  constexpr const char* kExamples = R"(  dikkat corpus inspect my-text.txt
  dikkat corpus inspect texts/ --html corpus.html
  dikkat corpus inspect dump.jsonl.zst --text-field body --tokenizer gpt2/ --json
  dikkat corpus inspect chats.jsonl --chat --tokenizer models/smollm2)";
  Commands corpus = program.group("corpus", "Examine texts before training on them");
  const auto a = std::make_shared<CorpusInspectArguments>();
  Command command = corpus.add(
      "inspect", "Show what is in a corpus: documents, lengths, tokens, scripts, duplicates, longest lines, skipped files, split",
      kExamples, [a] { return corpus_inspect_command(*a); });
  command.texts("PATH", a->corpus, "", kCorpusHelp).required();
  command.text("--tokenizer", a->tokenizer, "PATH",
               "Tokenizer to count tokens with (its files, RUN_DIR or FILE.h5); by default one of --kind is made from the text");
  command.text("--kind", a->options.kind, "KIND", tokenizer_names_in_words());
  command.number("--vocab-size", a->options.vocab_size, index{257}, index{1} << 24, "Size of the vocabulary, for bpe");
  command.number("--val-fraction", a->val_fraction, 0.0, 0.999999, "Share of the text for validation");
  add_reading(command, a->reading);
  command.text("--html", a->html, "FILE.html", "Also write a page with charts, for a browser");
  command.flag("--chat", a->chat, "Show conversations as a model sees them, token by token, and which tokens are scored");
  command.text("--template", a->form, "NAME|FILE",
               "With --chat: the chat template: auto, chatml, llama3, plain, or a file in the Jinja language");
  command.text("--loss", a->loss, "NAME", "With --chat: which tokens are scored: answers, last_answer or all");
  command.number("--examples", a->examples, index{0}, index{1'000'000}, "With --chat: how many conversations to show");
  command.flag("--json", a->json, "Print one JSON object");
}

}  // namespace dikkat
