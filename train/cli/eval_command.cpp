#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "train/cli/commands.h"
#include "train/cli/signals.h"
#include "train/cli/streams.h"
#include "train/cli/trained_model.h"
#include "train/loop/evaluate.h"
#include "train/loop/exact_match.h"
#include "train/loop/training_data.h"

namespace dikkat {
namespace {

/// The validation part of the run's own corpus, which must be what it was.
EvaluationText validation_text(const TrainedModel& trained) {
  const KnownCorpus known{.tokenizer = trained.checkpoint.tokenizer(), .fingerprint = trained.checkpoint.state().corpus_fingerprint};
  TrainingData data = load_training_data(trained.config, &known);
  require_input(data.validation.samples != nullptr, "the run has no validation part (data.val_fraction is ",
                trained.config.data.val_fraction, "); name the text to be evaluated with --corpus");
  return std::move(data.validation);
}

}  // namespace

int eval_command(const EvalArguments& arguments) {
  const TrainedModel trained = load_trained_model(arguments.source, arguments.best);
  const EvaluationText text =
      arguments.corpus.empty() ? validation_text(trained) : load_evaluation_text(trained.config, *trained.tokenizer, arguments.corpus);
  require_input(!arguments.exact_match || text.pairs != nullptr, "--exact-match is for an encoder-decoder, but ",
                trained.checkpoint.path().string(), " holds a GPT");
  stop_in_order();
  Evaluator evaluator(*trained.model);
  const auto result = evaluator(*text.samples, {}, [] { return stop_requested(); });
  if (!result) {
    return 128 + stop_signal();
  }
  std::optional<ExactMatch> match;
  if (arguments.exact_match) {
    match = exact_match(*trained.model, *trained.tokenizer, *text.pairs, {}, [] { return stop_requested(); });
    if (!match) {
      return 128 + stop_signal();
    }
  }
  const double bits = result->bits_per_byte(text.predicted_bytes);
  if (arguments.json) {
    nlohmann::ordered_json object{
        {"loss", result->loss},     {"perplexity", result->perplexity()},      {"bits_per_byte", bits},
        {"tokens", result->tokens}, {"step", trained.checkpoint.state().step}, {"checkpoint", trained.checkpoint.path().string()}};
    if (match) {
      object["exact_match"] = match->share();
      object["pairs"] = match->pairs;
    }
    put(object.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + '\n');
  } else {
    tell(trained.checkpoint.path().string() + (arguments.corpus.empty() ? ", the whole validation part" : ", all of the text"));
    put(fmt::format("loss           {:.4f}\nperplexity     {:.4f}\nbits_per_byte  {:.4f}\ntokens         {}\n", result->loss,
                    result->perplexity(), bits, result->tokens));
    if (match) {
      put(fmt::format("exact_match    {:.4f} ({} of {} pairs)\n", match->share(), match->exact, match->pairs));
    }
  }
  flush_results();
  return 0;
}

}  // namespace dikkat
