#include <cmath>
#include <limits>
#include <memory>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "autograd/base/parallel.h"
#include "train/checkpoint/checkpoint_list.h"
#include "train/cli/commands/tokenizer_commands.h"
#include "train/cli/shared_options.h"
#include "train/cli/terminal/json_output.h"
#include "train/cli/terminal/progress.h"
#include "train/cli/terminal/streams.h"
#include "train/cli/terminal/text.h"
#include "train/data/tokens/open_tokenizer.h"
#include "train/data/tokens/text_size.h"
#include "train/data/training_data.h"
#include "train/model/trained_model.h"
#include "train/run/evaluate.h"
#include "train/run/objectives/language_scorer.h"
#include "train/system/folder.h"
#include "train/text/tokenizer_kinds.h"

namespace dikkat {
namespace {

using nlohmann::ordered_json;

struct CompareArguments {
  std::string a, b;
  std::vector<std::string> corpus;
  CorpusOptions reading;
  bool json = false;
};

/// A tokenizer's size of the text, and what its model needs for it.
struct Measured {
  index vocab_size = 0;
  TextSize size{};
  double bits_per_byte = std::numeric_limits<double>::quiet_NaN();  // NaN without a model, or if its tokens do not stand for all bytes
  std::string note{};                                               // why there are no bits per byte
};

bool is_model(const std::string& source) {
  return std::filesystem::path(source).extension() == ".h5" || is_folder(checkpoint_directory(source)) || PeftFiles::is_at(source) ||
         ModelFiles::is_at(source);
}

double bits_per_byte_of(const TrainedModel& trained, const CompareArguments& arguments) {
  Config config = trained.config;
  config.preference = {};
  config.data.text_field = arguments.reading.names.text;
  config.data.columns = arguments.reading.names.columns;
  config.data.invalid_utf8 = arguments.reading.replace_invalid ? InvalidUtf8::replace : InvalidUtf8::refuse;
  const LoadedText text = load_evaluation_text(ResolvedConfig(config), *trained.tokenizer, arguments.corpus);
  LanguageScorer scorer(*trained.model);
  Evaluator evaluator(scorer);
  const Samples& samples = *text.data->evaluation();
  evaluator.reserve(samples, samples.count());
  ShareLine line("evaluating " + for_terminal(trained.origin.path().string()));
  return evaluator(samples, {}, {}, std::ref(line))->bits_per_byte(text.data->size().predicted_bytes);
}

Measured measure(const std::string& source, const CompareArguments& arguments) {
  std::optional<TrainedModel> trained;
  if (is_model(source)) {
    trained = load_trained_model(source);
  }
  const auto opened = trained ? nullptr : open_tokenizer(source);
  const Tokenizer& tokenizer = trained ? *trained->tokenizer : *opened;
  CorpusOptions reading = arguments.reading;
  reading.any_bytes = tokenizer_kind(tokenizer.kind(), source).any_bytes;
  Measured measured{.vocab_size = tokenizer.vocab_size()};
  {
    LoadingLine line;
    measured.size = size_of_text(open_corpus(arguments.corpus, reading), tokenizer, std::numeric_limits<Token>::max(),
                                 [&](index bytes) { line({.stage = LoadingReport::Stage::tokenizing, .bytes = bytes}); });
  }
  if (trained && tokenizer.is_lossless()) {
    measured.bits_per_byte = bits_per_byte_of(*trained, arguments);
  } else {
    measured.note = concat("no bits per byte of ", source, trained ? ": its tokenizer drops a part of the text" : ": it is not a model");
    print_message(for_terminal("note: " + measured.note));
  }
  return measured;
}

ordered_json json_of(const std::string& source, const Measured& of) {
  return {{"tokenizer", source},
          {"vocab_size", of.vocab_size},
          {"tokens", of.size.tokens},
          {"tokens_per_word", of.size.tokens_per_word()},
          {"tokens_per_byte", of.size.tokens_per_byte()},
          {"bits_per_byte", of.bits_per_byte},
          {"note", of.note.empty() ? ordered_json() : ordered_json(of.note)}};
}

int compare_command(const CompareArguments& arguments) {
  start_threads();
  announce_corpus(arguments.corpus);
  const Measured a = measure(arguments.a, arguments), b = measure(arguments.b, arguments);
  if (arguments.json) {
    print_json({{"bytes", a.size.bytes}, {"words", a.size.words}, {"a", json_of(arguments.a, a)}, {"b", json_of(arguments.b, b)}});
    flush_results();
    return 0;
  }
  const auto row = [](const char* name, const std::string& first, const std::string& second) {
    print_result(fmt::format("{:<16}{:>14}{:>14}\n", name, first, second));
  };
  const auto number = [](double value) { return std::isfinite(value) ? fmt::format("{:.4f}", value) : "-"; };
  print_message(for_terminal(fmt::format("A is {}, B is {}; the text has {} words in {} bytes", arguments.a, arguments.b,
                                         grouped_digits(a.size.words), grouped_digits(a.size.bytes))));
  row("", "A", "B");
  row("vocabulary", grouped_digits(a.vocab_size), grouped_digits(b.vocab_size));
  row("tokens", grouped_digits(a.size.tokens), grouped_digits(b.size.tokens));
  row("tokens per word", number(a.size.tokens_per_word()), number(b.size.tokens_per_word()));
  row("tokens per byte", number(a.size.tokens_per_byte()), number(b.size.tokens_per_byte()));
  row("bits per byte", number(a.bits_per_byte), number(b.bits_per_byte));
  flush_results();
  return 0;
}

}  // namespace

void add_tokenizer_compare(Commands& tokenizer) {
  constexpr const char* kExamples = R"(  dikkat tokenizer compare gpt2/ my-tokenizer --corpus texts/
  dikkat tokenizer compare runs/english runs/turkish --corpus held-out.txt --json)";
  const auto a = std::make_shared<CompareArguments>();
  Command command = tokenizer.add("compare", "Compare two tokenizers on a text, and the bits per byte of their models", kExamples,
                                  [a] { return compare_command(*a); });
  command.text("A", a->a, "", std::string(kTokenizerHelp) + ". Of a model, bits per byte are measured too").required();
  command.text("B", a->b, "", "The other one").required();
  command.texts("--corpus", a->corpus, "PATH", kCorpusHelp).required();
  add_reading(command, a->reading);
  command.flag("--json", a->json, "Print one JSON object");
}

}  // namespace dikkat
