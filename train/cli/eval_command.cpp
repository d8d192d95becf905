#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "train/cli/commands.h"
#include "train/cli/signals.h"
#include "train/cli/streams.h"
#include "train/cli/trained_model.h"
#include "train/loop/evaluate.h"
#include "train/loop/training_data.h"

namespace dikkat {
namespace {

/// The validation part of the run's own corpus, which must be what it was.
EvaluationText validation_text(const TrainedModel& trained) {
  TrainingData data = load_training_data(trained.config, &trained.checkpoint.tokenizer());
  require_input(data.fingerprint == trained.checkpoint.state().corpus_fingerprint, "the corpus of the run (",
                trained.config.data.corpus.front(), ") has changed since; name the text to be evaluated with --corpus");
  require_input(data.validation.size() > 1, "the run has no validation part (data.val_fraction is ", trained.config.data.val_fraction,
                "); name the text to be evaluated with --corpus");
  return {.tokens = std::move(data.validation), .bytes = data.validation_bytes};
}

/// The bytes that predictions stand for: the first token is given, not predicted.
index predicted_bytes(const EvaluationText& text, const Tokenizer& tokenizer) {
  Token first = 0;
  text.tokens.read(0, 1, &first);
  return text.bytes - static_cast<index>(tokenizer.decode(std::span(&first, 1)).size());
}

}  // namespace

int eval_command(const EvalArguments& arguments) {
  const TrainedModel trained = load_trained_model(arguments.source, arguments.best);
  const EvaluationText text =
      arguments.corpus.empty() ? validation_text(trained) : load_evaluation_text(*trained.tokenizer, arguments.corpus);
  stop_in_order();
  Evaluator evaluator(*trained.model);
  const auto result = evaluator(text.tokens, {}, [] { return stop_requested(); });
  if (!result) {
    return 128 + stop_signal();
  }
  const double bits = result->bits_per_byte(predicted_bytes(text, *trained.tokenizer));
  if (arguments.json) {
    const nlohmann::ordered_json object{
        {"loss", result->loss},     {"perplexity", result->perplexity()},      {"bits_per_byte", bits},
        {"tokens", result->tokens}, {"step", trained.checkpoint.state().step}, {"checkpoint", trained.checkpoint.path().string()}};
    put(object.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + '\n');
  } else {
    tell(trained.checkpoint.path().string() + (arguments.corpus.empty() ? ", the whole validation part" : ", all of the text"));
    put(fmt::format("loss           {:.4f}\nperplexity     {:.4f}\nbits_per_byte  {:.4f}\ntokens         {}\n", result->loss,
                    result->perplexity(), bits, result->tokens));
  }
  flush_results();
  return 0;
}

}  // namespace dikkat
