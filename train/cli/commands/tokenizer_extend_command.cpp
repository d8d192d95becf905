#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "autograd/base/parallel.h"
#include "train/checkpoint/run_directory.h"
#include "train/cli/chosen_checkpoint.h"
#include "train/cli/commands/tokenizer_commands.h"
#include "train/cli/save_run.h"
#include "train/cli/shared_options.h"
#include "train/cli/terminal/json_output.h"
#include "train/cli/terminal/progress.h"
#include "train/cli/terminal/streams.h"
#include "train/cli/terminal/text.h"
#include "train/data/tokens/text_size.h"
#include "train/model/extended_model.h"

namespace dikkat {
namespace {

using nlohmann::ordered_json;

struct ExtendArguments {
  ModelArguments model;
  std::vector<std::string> corpus, old_text;
  CorpusOptions reading;
  index add = 0;
  std::string out;
  bool json = false;
};

Corpus open_texts(const std::vector<std::string>& paths, const CorpusOptions& reading) {
  announce_corpus(paths);
  Corpus corpus = open_corpus(paths, reading);
  if (const std::string note = describe(corpus.skipped); !note.empty()) {
    print_message(note);
  }
  return corpus;
}

TokenizerExtension learn(const Corpus& corpus, const Tokenizer& old, index add) {
  TokenizerExtender extender(old, add);
  LoadingLine line;
  const CorpusFacts facts = survey(corpus, &extender, [&](index bytes) { line({.stage = LoadingReport::Stage::reading, .bytes = bytes}); });
  TokenizerExtension extension = extender.extend([&](double share) { line({.stage = LoadingReport::Stage::learning, .share = share}); });
  if (const index added = std::ssize(extension.pieces); added < add) {
    print_message(fmt::format("{} new tokens, fewer than the {} that were asked for: no other pair of tokens occurs twice in the text",
                              grouped_digits(added), grouped_digits(add)));
  }
  for (const std::string& note : facts.notes) {
    print_message(for_terminal(note));
  }
  return extension;
}

/// The sizes of a text with the old tokens and with the new ones too.
struct Change {
  std::string name;
  TextSize before, after;

  /// Returns how many of the old tokens a new one replaces.
  index replaced() const { return before.tokens - (after.tokens - after.new_tokens); }
  double replaced_share() const { return static_cast<double>(replaced()) / static_cast<double>(before.tokens); }
};

Change change_of(std::string name, const Corpus& corpus, const Tokenizer& old, const TokenizerExtension& extension) {
  LoadingLine line;
  const auto progress = [&](index bytes) { line({.stage = LoadingReport::Stage::tokenizing, .bytes = bytes}); };
  return {.name = std::move(name),
          .before = size_of_text(corpus, old, extension.first, progress),
          .after = size_of_text(corpus, *extension.tokenizer, extension.first, progress)};
}

ordered_json json_of(const Change& change) {
  return {{"bytes", change.before.bytes},
          {"words", change.before.words},
          {"tokens_before", change.before.tokens},
          {"tokens_after", change.after.tokens},
          {"tokens_per_word_before", change.before.tokens_per_word()},
          {"tokens_per_word_after", change.after.tokens_per_word()},
          {"replaced_tokens", change.replaced()},
          {"new_tokens", change.after.new_tokens}};
}

int extend_command(const ExtendArguments& arguments) {
  start_threads();
  RunDirectory::require_free(arguments.out);
  // Open the model, and learn tokens from the corpus.
  TrainedModel old = load_trained_model(arguments.model.source, arguments.model.options());
  report_chosen_checkpoint(arguments.model, old.origin);
  const Corpus corpus = open_texts(arguments.corpus, arguments.reading);
  TokenizerExtension extension = learn(corpus, *old.tokenizer, arguments.add);
  std::vector<Change> changes = {change_of("corpus", corpus, *old.tokenizer, extension)};
  if (!arguments.old_text.empty()) {
    changes.push_back(change_of("old text", open_texts(arguments.old_text, arguments.reading), *old.tokenizer, extension));
  }
  // Make the model, and save it.
  const Token first = extension.first;
  const index rows_before = old.model->vocab_size();
  TrainedModel model = extended(std::move(old), std::move(extension));
  const index size = model.tokenizer->vocab_size(), rows = model.model->vocab_size();
  model.config.train.init_from.clear();
  const std::string saved = save_run(model, arguments.out, first);
  // Print the result.
  if (arguments.json) {
    ordered_json object{{"checkpoint", saved}, {"tokens", size}, {"first_new_token", first}, {"rows_before", rows_before}, {"rows", rows}};
    object["corpus"] = json_of(changes[0]);
    object["old_text"] = changes.size() > 1 ? json_of(changes[1]) : ordered_json();
    print_json(object);
  } else {
    print_message(fmt::format("{} tokens, of which {} are new ({} to {}); the model had {} rows for tokens, and has {}",
                              grouped_digits(size), grouped_digits(size - first), first, size - 1, grouped_digits(rows_before),
                              grouped_digits(rows)));
    for (const Change& change : changes) {
      print_result(fmt::format("{:<9} {:.3f} tokens per word, before {:.3f}; {} of {} old tokens ({:.2f} %) are replaced\n", change.name,
                               change.after.tokens_per_word(), change.before.tokens_per_word(), grouped_digits(change.replaced()),
                               grouped_digits(change.before.tokens), 100 * change.replaced_share()));
    }
    print_result(saved + '\n');
  }
  flush_results();
  return 0;
}

}  // namespace

void add_tokenizer_extend(Commands& tokenizer) {
  constexpr const char* kExamples = R"(  dikkat tokenizer extend runs/english --corpus turkish/ --add 4000 --out runs/turkish
  dikkat tokenizer extend Qwen3-0.6B --corpus turkish.jsonl --add 8000 --old-text english.txt --out runs/turkish
  dikkat finetune runs/turkish --data turkish/ --replay english/ --full
The old tokens keep their ids. The new ones come after them, and are found only where the old merges
leave several tokens. In the embedding and the head, the rows of a new token are the means of its
pieces' rows; optim.new_rows_lr_scale sets their rate in training.)";
  const auto a = std::make_shared<ExtendArguments>();
  Command command = tokenizer.add("extend", "Add tokens for other texts, such as another language, to a model with byte-level BPE",
                                  kExamples, [a] { return extend_command(*a); });
  add_model(command, a->model);
  command.texts("--corpus", a->corpus, "PATH", std::string("Texts to learn the new tokens from. ") + kCorpusHelp).required();
  command.number("--add", a->add, index{1}, index{1} << 24, "Number of tokens to add, or fewer if the text does not have more").required();
  command.text("--out", a->out, "RUN_DIR", "The run directory to create").required();
  command.texts("--old-text", a->old_text, "PATH",
                "Texts like those that the model was trained on, only to count how many of their tokens change");
  add_reading(command, a->reading);
  command.flag("--json", a->json, "Print one JSON object");
}

}  // namespace dikkat
