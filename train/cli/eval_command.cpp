#include <cmath>
#include <functional>
#include <limits>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "autograd/base/parallel.h"
#include "train/cli/commands.h"
#include "train/cli/progress.h"
#include "train/cli/shared_options.h"
#include "train/cli/signals.h"
#include "train/cli/streams.h"
#include "train/loop/evaluate.h"
#include "train/loop/exact_match.h"
#include "train/loop/training_data.h"
#include "train/machine/machine_memory.h"
#include "train/model/trained_model.h"

namespace dikkat {
namespace {

struct EvalArguments {
  std::string source;  // RUN_DIR or FILE.h5
  bool best = false;
  std::vector<std::string> corpus;
  index stride = 0;
  bool exact_match = false;
  bool json = false;
};

nlohmann::ordered_json number_or_null(double value) { return std::isnan(value) ? nlohmann::ordered_json() : nlohmann::ordered_json(value); }

/// The text that is named, or the validation part of the run's own corpus, which must be what it was.
EvaluationText text_of(const EvalArguments& arguments, const TrainedModel& trained) {
  announce_corpus(arguments.corpus.empty() ? trained.config.data.corpus : arguments.corpus);
  LoadingLine line;
  if (!arguments.corpus.empty()) {
    EvaluationText text = load_evaluation_text(trained.config, *trained.tokenizer, arguments.corpus, std::ref(line));
    for (const std::string& note : text.notes) {
      tell(note);
    }
    return text;
  }
  const KnownCorpus known{
      .tokenizer = trained.checkpoint.tokenizer(), .fingerprint = trained.checkpoint.state().corpus_fingerprint, .is_ours = false};
  TrainingData data = load_training_data(trained.config, &known, std::ref(line));
  require_input(data.validation.samples != nullptr, "the run has no validation part (data.val_fraction is ",
                trained.config.data.val_fraction, "); name the text to be evaluated with --corpus");
  return std::move(data.validation);
}

int eval_command(const EvalArguments& arguments) {
  start_threads();
  const TrainedModel trained = load_trained_model(arguments.source, arguments.best);
  EvaluationText text = text_of(arguments, trained);
  if (arguments.stride > 0) {
    set_stride(text, trained.config, arguments.stride);
  }
  require_input(!arguments.exact_match || text.pairs != nullptr, "--exact-match is for an encoder-decoder, but ",
                trained.checkpoint.path().string(), " holds a GPT");
  stop_in_order();
  const auto stopped = [] {
    tell("stopped before the end: part of an evaluation is no result");
    return 128 + stop_signal();
  };
  Evaluator evaluator(*trained.model);
  const std::size_t bytes = evaluator.reserve(*text.samples, text.samples->count());
  const std::size_t machine = machine_memory().total;
  require_input(bytes <= machine, "to evaluate ", trained.checkpoint.path().string(), " takes ", bytes >> 20,
                " MiB of memory for activations, and there are ", machine >> 20, " MiB, swap space included");
  const auto result = [&] {
    ShareLine line("evaluating");
    return evaluator(
        *text.samples, {}, [] { return stop_requested(); }, std::ref(line));
  }();
  if (!result) {
    return stopped();
  }
  std::optional<ExactMatch> match;
  if (arguments.exact_match) {
    match = exact_match(*trained.model, *trained.tokenizer, *text.pairs, {}, [] { return stop_requested(); });
    if (!match) {
      return stopped();
    }
  }
  // Of a tokenizer that drops something of the text, the tokens do not stand for its bytes.
  const double bits =
      trained.tokenizer->is_lossless() ? result->bits_per_byte(text.predicted_bytes) : std::numeric_limits<double>::quiet_NaN();
  if (arguments.json) {
    nlohmann::ordered_json object{{"loss", result->loss},
                                  {"standard_error", number_or_null(result->standard_error)},
                                  {"perplexity", result->perplexity()},
                                  {"bits_per_byte", number_or_null(bits)},
                                  {"tokens", result->tokens},
                                  {"step", trained.checkpoint.state().step},
                                  {"checkpoint", trained.checkpoint.path().string()}};
    if (match) {
      object["exact_match"] = match->share();
      object["pairs"] = match->pairs;
    }
    put(object.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + '\n');
  } else {
    tell(trained.checkpoint.path().string() + (arguments.corpus.empty()
                                                   ? ", the whole validation part of " + names_of(trained.config.data.corpus)
                                                   : ", all of " + names_of(arguments.corpus)));
    const std::string error = std::isnan(result->standard_error) ? "" : fmt::format(" +- {:.4f}", result->standard_error);
    put(fmt::format("loss           {:.4f}{}\nperplexity     {:.4f}\nbits_per_byte  {}\ntokens         {}\n", result->loss, error,
                    result->perplexity(), std::isfinite(bits) ? fmt::format("{:.4f}", bits) : "-  (words do not tell all bytes of a text)",
                    result->tokens));
    if (match) {
      put(fmt::format("exact_match    {:.4f} ({} of {} pairs)\n", match->share(), match->exact, match->pairs));
    }
  }
  flush_results();
  return 0;
}

}  // namespace

void add_eval(Commands& program) {
  constexpr const char* kExamples = R"(  dikkat eval runs/mine
  dikkat eval runs/mine --best --corpus another-text.txt --json
  dikkat eval runs/mine --corpus book.txt --stride 16
  dikkat eval runs/pairs --corpus unseen-pairs.tsv --exact-match)";
  const auto a = std::make_shared<EvalArguments>();
  Command command = program.add("eval", "Loss over the whole validation part, or over a text", kExamples, [a] { return eval_command(*a); });
  add_source(command, a->source, a->best);
  command.texts("--corpus", a->corpus, "PATH", "Evaluate all of these texts");
  command.number(
      "--stride", a->stride, index{1}, index{1'000'000},
      "Predict N tokens in each window, the others being context: slower, and usually a lower loss; by default all of the window");
  command.flag("--exact-match", a->exact_match, "Of an encoder-decoder: also the share of sources that it answers with the very target");
  command.flag("--json", a->json, "One object: loss (nats), standard_error, perplexity, bits_per_byte, tokens");
}

}  // namespace dikkat
