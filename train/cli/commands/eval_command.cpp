#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <numbers>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "autograd/base/parallel.h"
#include "train/cli/chosen_checkpoint.h"
#include "train/cli/commands.h"
#include "train/cli/eval_labels.h"
#include "train/cli/eval_tasks.h"
#include "train/cli/shared_options.h"
#include "train/cli/skipping_tokenizer.h"
#include "train/cli/terminal/json_output.h"
#include "train/cli/terminal/progress.h"
#include "train/cli/terminal/signals.h"
#include "train/cli/terminal/streams.h"
#include "train/cli/terminal/text.h"
#include "train/cli/terminal/write_page.h"
#include "train/cli/text_page.h"
#include "train/data/corpus/corpus_files.h"
#include "train/data/corpus/corpus_reader.h"
#include "train/data/examples/conversation_dataset.h"
#include "train/data/examples/labels.h"
#include "train/data/examples/pair_dataset.h"
#include "train/data/training_data.h"
#include "train/model/classifier.h"
#include "train/model/trained_model.h"
#include "train/run/evaluate.h"
#include "train/run/exact_match.h"
#include "train/run/loss_fingerprint.h"
#include "train/run/objectives/classify_scorer.h"
#include "train/run/objectives/embedding_scorer.h"
#include "train/run/objectives/language_scorer.h"
#include "train/system/machine_memory.h"

namespace dikkat {

namespace fs = std::filesystem;

namespace {

struct EvalArguments {
  ModelArguments model;
  std::string weights = "f32";
  std::string cache = "f32";
  std::vector<std::string> corpus;
  std::vector<std::string> columns;  // of tables in the corpus; empty: as the run
  std::string labels;                // the column or key of labels; empty: as the run
  std::string objective;             // "embedding": the text has pairs, although the model was not trained on such; empty: as the run
  index stride = 0;
  std::string unknown = "refuse";
  std::string score;  // which tokens of conversations are scored; empty: as the run's chat.eval_loss
  bool exact_match = false;
  std::string tasks;                  // a file of questions
  std::string beside;                 // another model that is asked them too
  std::vector<std::string> refusals;  // texts that only refusals have
  bool adds_begin = false;            // puts the token that begins a text before samples of lm_eval
  std::string html;                   // a page to write
  bool json = false;
};

/// The options, checked as far as they can be without the model. The words among them are read.
struct EvalRequest : EvalArguments {
  PackedType packing;
  DType keys;                        // the type of --cache
  std::optional<ScoredText> scored;  // nullopt: the run's chat.eval_loss

  bool is_of_run() const { return corpus.empty(); }  // evaluates the validation part of the run's own corpus
  bool skips_unknown() const { return unknown == "skip"; }
};

/// Throws InputError for values that are not possible, and for options that do not go together.
EvalRequest request_of(const EvalArguments& a) {
  require_input(a.unknown == "refuse" || a.unknown == "skip", "--unknown is ", a.unknown, ", expected refuse or skip");
  require_input(a.unknown == "refuse" || !a.corpus.empty(),
                "--unknown skip applies only to the text of --corpus: add --corpus, or leave --unknown out");
  require_input(a.objective.empty() || a.objective == "embedding", "--objective is ", a.objective, ", expected embedding");
  require_input((a.columns.empty() && a.objective.empty()) || !a.corpus.empty(), a.columns.empty() ? "--objective" : "--columns",
                " applies only to the text of --corpus: add --corpus, or leave it out");
  const auto scored = value_named<ScoredText>(a.score);
  require_input(scored || a.score.empty(), "--score is ", a.score, ", expected answers, last_answer or all");
  const DType keys = cache_type_named(a.cache);
  require_input(std::ranges::find(a.refusals, "") == a.refusals.end(),
                "--refusal is empty, and every answer has the empty text: give a text that only refusals have");
  require_input(!a.tasks.empty() || (a.beside.empty() && a.refusals.empty() && !a.adds_begin),
                "--beside, --refusal and --add-bos apply only to questions: add --tasks FILE.jsonl, or leave them out");
  if (!a.tasks.empty()) {
    require_input(a.corpus.empty() && a.html.empty() && a.stride == 0 && !a.exact_match,
                  "--tasks asks questions instead of measuring a loss: leave out --corpus, --html, --stride and --exact-match");
    require_input(keys == DType::f32, "--tasks asks questions instead of measuring a loss: leave out --cache");
  }
  return {a, packing_named(a.weights), keys, scored};
}

/// Makes eval search pairs of texts with any GPT, as if it had been trained on pairs with the usual settings.
void measure_vectors(TrainedModel& trained) {
  constexpr index kUsualBatch = 64, kPairsOfRow = 8;
  require_input(trained.model->is_gpt() && !trained.model->is_classifier(), "--objective embedding is for a GPT, but ",
                trained.origin.path().string(), trained.model->is_gpt() ? " is a classifier" : " is an encoder-decoder");
  Config& config = trained.config;
  if (!config.embedding.is_on()) {
    config.embedding.batch = kUsualBatch;
    config.preference = {};
    config.distill = {};
    config.data.sources.clear();
    config.train = TrainConfig();
    config.train.batch_size = 1;
    config.train.gradient_accumulation_steps = kUsualBatch / kPairsOfRow;
  }
}

/// A text to evaluate: that of --corpus, or one source of the run.
struct TextPart {
  std::string name{};
  double share = 1;
  std::unique_ptr<Dataset> text;
};

/// Prints a note if a path of --corpus is a text that the run was trained on, or lies in one.
void report_learned_text(const std::vector<std::string>& corpus, const std::vector<std::string>& learned) {
  std::error_code error;
  for (const std::string& path : corpus) {
    for (const std::string& text : learned) {
      const std::string file = fs::canonical(path, error).string(), of_run = error ? "" : fs::canonical(text, error).string();
      if (!error && (file == of_run || file.starts_with(of_run + '/') || of_run.starts_with(file + '/'))) {
        print_message(concat("note: the run was trained on ", text,
                             ", so this loss does not show how well the model predicts new text; without --corpus, eval measures the ",
                             "validation part"));
        return;
      }
    }
  }
}

template <class Kind>
bool is_a(const Dataset& data) {
  return dynamic_cast<const Kind*>(&data) != nullptr;
}

/// Returns the text of --corpus.
TextPart corpus_of(const EvalRequest& request, Config config, const Tokenizer& tokenizer, const std::vector<std::string>& learned) {
  LoadingLine line;
  if (request.skips_unknown()) {
    config.data.cache = "off";  // cached tokens are those of the whole text
  }
  try {
    LoadedText text = load_evaluation_text(ResolvedConfig(config), tokenizer, request.corpus, std::ref(line));
    for (const std::string& note : text.notes) {
      print_message(note);
    }
    report_learned_text(request.corpus, learned);
    return {.text = std::move(text.data)};
  } catch (const RefusedText& refused) {
    fail_input(refused.what(), "; --unknown skip leaves such characters out and counts them");
  }
}

/// Returns the validation parts of the run's own sources, which must not have changed since.
std::vector<TextPart> validation_of(const TrainedModel& trained, const Config& config, const std::string& source) {
  LoadingLine line;
  const KnownCorpus known{
      .tokenizer = trained.origin.tokenizer(), .fingerprint = trained.origin.state().corpus_fingerprint, .is_ours = false};
  TrainingData data = [&] {
    try {
      return load_training_data(ResolvedConfig(config), &known, std::ref(line));
    } catch (const MissingCorpus& missing) {
      fail_input(missing.what(), ". If the text has moved, name what to evaluate: dikkat eval ", source, " --corpus PATH");
    }
  }();
  require_input(data.has_validation(), "the run has no validation part (data.val_fraction is ", config.data.val_fraction,
                "): name the text to evaluate with --corpus");
  std::vector<TextPart> parts;
  for (SourceData& split : data.sources) {
    if (split.validation->evaluation() != nullptr) {
      parts.push_back({.name = split.name, .share = split.share, .text = std::move(split.validation)});
    }
  }
  return parts;
}

/// Reads the texts to evaluate. Throws InputError if the model has no such text.
std::vector<TextPart> texts_of(const EvalRequest& request, const TrainedModel& trained, const Tokenizer& tokenizer) {
  const std::string model = trained.origin.path().string();
  require_input(
      !request.is_of_run() || !trained.config.preference.is_on(), model,
      " was trained on preferences: their loss and accuracy at each evaluation are in its report (dikkat report) and metrics.jsonl; "
      "to measure the loss of a text or of conversations, name it with --corpus, and to count exact answers, use --tasks");
  require_input(!request.is_of_run() || trained.origin.checkpoint() != nullptr, model,
                " is an imported model, which has no corpus of its own: name the text to evaluate with --corpus");
  Config config = trained.config;
  if (request.scored) {
    config.chat.eval_loss = *request.scored;
  }
  config.preference = {};
  config.data.columns = request.columns.empty() ? config.data.columns : request.columns;
  config.classify.field = request.labels.empty() ? config.classify.field : request.labels;
  if (config.classify.is_on() && !request.columns.empty()) {
    check_columns(config.data, config.classify);
  }
  const std::vector<std::string> learned = config.data.training_paths();
  announce_corpus(request.is_of_run() ? learned : request.corpus);
  std::vector<TextPart> parts;
  if (request.is_of_run()) {
    parts = validation_of(trained, config, request.model.source);
  } else {
    parts.push_back(corpus_of(request, config, tokenizer, learned));
  }
  return parts;
}

/// Selects the scored tokens. Throws InputError for options that do not fit the texts.
void choose_scored(const EvalRequest& request, const TrainedModel& trained, std::vector<TextPart>& parts) {
  for (TextPart& part : parts) {
    if (request.stride > 0) {
      part.text->set_stride(request.stride);
    }
  }
  require_input(!request.scored || std::ranges::any_of(parts, [](const TextPart& part) { return is_a<ConversationDataset>(*part.text); }),
                "--score applies only to conversations, but the text has none: leave it out");
  require_input(!request.exact_match || is_a<PairDataset>(*parts.front().text), "--exact-match needs an encoder-decoder, but ",
                trained.origin.path().string(), " is a GPT");
}

/// Lists the files of a corpus for the page.
std::string files_of(const std::vector<std::string>& paths) {
  constexpr std::size_t kShown = 12;
  if (std::ranges::find(paths, kStandardInput) != paths.end()) {  // it can be read only once
    return names_of(paths);
  }
  std::vector<CorpusFile> files;
  try {
    files = find_corpus_files(paths);
  } catch (const InputError&) {  // a folder of other files, such as tokens or pairs
    return names_of(paths);
  }
  std::string names;
  for (std::size_t i = 0; i < std::min(files.size(), kShown); ++i) {
    std::error_code error;
    const fs::path name = fs::proximate(files[i].name, error);
    append_to(names, concat(i > 0 ? ", " : "", error ? files[i].name : name.string()));
  }
  return files.size() > kShown ? concat(names, " and ", files.size() - kShown, " more") : names;
}

/// Returns which files a text consists of, for the page.
std::string page_name_of(const EvalRequest& request, const TrainedModel& trained, const TextPart& part) {
  if (!request.is_of_run()) {
    return files_of(request.corpus);
  }
  for (const DataSource& source : trained.config.data.all_sources()) {
    if (source.name == part.name) {
      const std::string files =
          source.validation.empty() ? concat("the validation part of ", files_of(source.corpus)) : files_of(source.validation);
      return part.name.empty() ? files : concat(part.name, ": ", files);
    }
  }
  return part.name;
}

/// The measured numbers.
struct EvalResult {
  struct Part {
    std::string name;
    double share;  // the part's share of the windows
    Evaluation loss;
  };
  std::vector<Part> parts;
  Evaluation mean;       // over the parts, weighted by their shares
  double bits_per_byte;  // NaN if the tokenizer drops a part of the text, so that its tokens do not stand for all bytes
  LossFingerprint scored;
  std::optional<ExactMatch> match{};
};

/// Returns the bits per byte of a mean loss over several texts: the bytes of a prediction are their mean, weighted by the shares.
double mean_bits_per_byte(double loss, const std::vector<TextPart>& parts) {
  double bytes = 0, shares = 0;
  for (const TextPart& part : parts) {
    bytes += part.share * part.text->bytes_per_target();
    shares += part.share;
  }
  return loss / std::numbers::ln2 / (bytes / shares);
}

/// Measures the loss of each text, and adds its tokens to the page, if that is not null. Returns nullopt if a signal stopped it.
std::optional<EvalResult> measure_losses(const EvalRequest& request, const TrainedModel& trained, const Tokenizer& tokenizer,
                                         const std::vector<TextPart>& parts, LossPage* page) {
  const bool embeds = trained.config.embedding.is_on();
  LanguageScorer language(*trained.model);
  EmbeddingScorer vectors(*trained.model, trained.config.embedding);
  if (page != nullptr) {
    language.listen([page](const Batch& batch, std::span<const double> losses) { page->add(batch, losses); });
  }
  ClassifyScorer labels(*trained.model, trained.config.classify);
  Scorer& scorer = trained.model->is_classifier() ? static_cast<Scorer&>(labels) : embeds ? static_cast<Scorer&>(vectors) : language;
  Evaluator evaluator(scorer);
  evaluator.round_keys(request.keys);
  // Check that the activations fit the machine, before any text is evaluated.
  std::size_t bytes = 0;
  for (const TextPart& part : parts) {
    bytes = std::max(bytes, evaluator.reserve(*part.text->evaluation(), part.text->evaluation()->count()));
  }
  const std::size_t machine = machine_memory().total;
  require_input(bytes <= machine, "evaluating ", trained.origin.path().string(), " takes ", bytes >> 20,
                " MiB of memory for activations, but this machine has ", machine >> 20, " MiB, including swap space");
  // Evaluate each text.
  std::vector<EvalResult::Part> losses;
  std::vector<WeightedEvaluation> weighted;
  for (const TextPart& part : parts) {
    if (page != nullptr) {
      page->begin(page_name_of(request, trained, part));
    }
    ShareLine line(part.name.empty() ? "evaluating" : "evaluating " + for_terminal(part.name));
    const auto loss = evaluator(*part.text->evaluation(), {}, stop_requested, std::ref(line));
    if (!loss) {
      return std::nullopt;
    }
    losses.push_back({.name = part.name, .share = part.share, .loss = *loss});
    weighted.push_back({.of = *loss, .share = part.share});
  }
  // Combine the losses, and the fingerprints of the scored tokens.
  const Evaluation all = mean(weighted);
  require(std::isfinite(all.loss), trained.origin.path().string(), ": the loss is ", all.loss,
          ", expected a number: the model's finite weights give infinite activations");
  std::vector<SharedFingerprint> sets;
  for (const TextPart& part : parts) {
    sets.push_back({.of = loss_fingerprint_of(*part.text, tokenizer), .share = part.share});
  }
  const double bits = embeds || !tokenizer.is_lossless() ? std::numeric_limits<double>::quiet_NaN()
                      : parts.size() == 1                ? all.bits_per_byte(parts.front().text->size().predicted_bytes)
                                                         : mean_bits_per_byte(all.loss, parts);
  return EvalResult{.parts = std::move(losses), .mean = all, .bits_per_byte = bits, .scored = scorer.fingerprint(combined(sets))};
}

void print_json_of(const EvalResult& result, const EvalRequest& request, const ModelOrigin& origin) {
  const Evaluation& mean = result.mean;
  const LossFingerprint& scored = result.scored;
  nlohmann::ordered_json object{{"loss", mean.loss},
                                {"standard_error", mean.standard_error},
                                {"perplexity", mean.perplexity()},
                                {"bits_per_byte", result.bits_per_byte},
                                {"tokens", mean.tokens},
                                {"scored", {{"targets", scored.targets}, {"contexts", scored.contexts}, {"text", scored.text}}},
                                {"weights", request.weights},
                                {"cache", request.cache},
                                {"step", origin.state().step},
                                {"checkpoint", origin.path().string()}};
  for (const Metric& metric : mean.metrics) {
    object[metric.name] = metric.value;
  }
  if (!mean.metrics.empty()) {  // the loss of pairs
    object["pairs"] = mean.tokens;
    for (const char* name : {"perplexity", "bits_per_byte", "tokens"}) {
      object.erase(name);
    }
  }
  for (const auto& [name, share, loss] : result.parts) {
    if (result.parts.size() > 1) {
      object["losses"][name] = {{"loss", loss.loss}, {"standard_error", loss.standard_error}, {"tokens", loss.tokens}};
    }
  }
  if (result.match) {
    object["exact_match"] = result.match->share();
    object["pairs"] = result.match->pairs;
  }
  print_json(object);
}

void print_table_of(const EvalResult& result) {
  constexpr std::size_t kShown = 12;  // digits of a fingerprint
  const Evaluation& mean = result.mean;
  const auto error_text = [](const Evaluation& loss) {
    return std::isnan(loss.standard_error) ? "" : fmt::format(" +- {:.4f}", loss.standard_error);
  };
  const auto row = [](const std::string& name, const std::string& value) { print_result(fmt::format("{:<15}{}\n", name, value)); };
  if (error_text(mean).empty()) {
    print_message(mean.metrics.empty() ? "no standard error: the text must be longer than one window (model.block_size tokens)"
                                       : "no standard error: there must be more pairs than one row has (embedding.batch)");
  }
  for (const auto& [name, share, loss] : result.parts) {
    if (result.parts.size() > 1) {
      row("loss of " + for_terminal(name) + ' ',
          fmt::format("{:.4f}{} ({} tokens, {:.3g} of the windows)", loss.loss, error_text(loss), grouped_digits(loss.tokens), share));
    }
  }
  row("loss", fmt::format("{:.4f}{}", mean.loss, error_text(mean)));
  for (const Metric& metric : mean.metrics) {
    row(metric.name, fmt::format("{:.4g}", metric.value));
  }
  if (!mean.metrics.empty()) {  // the loss of pairs
    row("pairs", grouped_digits(mean.tokens));
    return;
  }
  row("perplexity", mean.perplexity() < 1e6 ? fmt::format("{:.4f}", mean.perplexity()) : fmt::format("{:.3e}", mean.perplexity()));
  row("bits_per_byte",
      std::isfinite(result.bits_per_byte) ? fmt::format("{:.4f}", result.bits_per_byte) : "-  (the tokenizer drops a part of the text)");
  row("tokens", grouped_digits(mean.tokens));
  row("scored", fmt::format("{} (contexts {})", result.scored.targets.substr(0, kShown), result.scored.contexts.substr(0, kShown)));
  if (const auto& match = result.match) {
    row("exact_match", fmt::format("{:.4f} ({} of {} pairs)", match->share(), match->exact, match->pairs));
  }
}

int eval_command(const EvalArguments& arguments) {
  start_threads();
  const EvalRequest request = request_of(arguments);
  TrainedModel trained = load_trained_model(request.model.source, request.model.options(), request.packing);
  const std::string model = trained.origin.path().string();
  report_chosen_checkpoint(request.model, trained.origin);
  require_input(request.keys == DType::f32 || trained.model->is_gpt(), "--cache is for a GPT, but ", model, " is an encoder-decoder");
  if (!request.tasks.empty()) {
    require_no_classifier(trained);
    const AskOptions options{.adds_begin = request.adds_begin, .refusals = request.refusals};
    const std::vector<Question> questions = read_questions(request.tasks, options);
    std::optional<TrainedModel> beside;
    if (!request.beside.empty()) {
      beside = load_trained_model(request.beside, {}, request.packing);
      require_no_classifier(*beside);
      report_chosen_checkpoint({.source = request.beside}, beside->origin);
    }
    stop_in_order();
    return eval_tasks(trained, beside ? &*beside : nullptr, questions, options, request.json);
  }
  if (!request.objective.empty()) {
    measure_vectors(trained);
  }
  require_input(request.labels.empty() || trained.model->is_classifier(), "--labels is for a classifier, but ", model,
                " predicts the next token: leave it out");
  require_input(!trained.model->is_classifier() ||
                    (request.stride == 0 && request.html.empty() && !request.exact_match && !request.scored && request.keys == DType::f32),
                model, " is a classifier, which has no loss of tokens: leave out --stride, --html, --score, --exact-match and --cache");
  // Read the text.
  const SkippingTokenizer skipping(*trained.tokenizer);
  const Tokenizer& tokenizer = request.skips_unknown() ? static_cast<const Tokenizer&>(skipping) : *trained.tokenizer;
  std::vector<TextPart> parts = texts_of(request, trained, tokenizer);
  if (const std::string skipped = skipping.skipped(); !skipped.empty()) {
    warn("left out characters that the model does not know: " + skipped);
  }
  choose_scored(request, trained, parts);
  require_input(request.html.empty() || !trained.config.embedding.is_on(), model,
                " makes vectors and predicts no tokens: leave --html out");
  stop_in_order();
  // Measure, and write the page.
  std::optional<LossPage> page;
  if (!request.html.empty()) {
    require_page_name(request.html);
    page.emplace(tokenizer, parts.size());
  }
  std::optional<EvalResult> result = measure_losses(request, trained, tokenizer, parts, page ? &*page : nullptr);
  if (result && page) {
    page->write(request.html, request.is_of_run() ? "The validation text" : names_of(request.corpus), model);
  }
  if (result && request.exact_match) {
    result->match =
        exact_match(*trained.model, *trained.tokenizer, dynamic_cast<const PairDataset&>(*parts.front().text).pairs(), {}, stop_requested);
  }
  if (!result || (request.exact_match && !result->match)) {
    print_message("stopped before the end: an unfinished evaluation gives no result");
    return 128 + stop_signal();
  }
  // Print the result.
  if (!request.json) {
    print_message(
        for_terminal(model + (request.is_of_run() ? ", the whole validation part of " + names_of(trained.config.data.training_paths())
                                                  : ", all of " + names_of(request.corpus))));
  }
  if (trained.model->is_classifier()) {
    print_labels(result->parts.front().loss, trained.origin, request.json);
  } else if (request.json) {
    print_json_of(*result, request, trained.origin);
  } else {
    print_table_of(*result);
  }
  flush_results();
  return 0;
}

}  // namespace

void add_eval(Commands& program) {
  constexpr const char* kExamples = R"(  dikkat eval runs/mine
  dikkat eval runs/mine --newest --corpus another-text.txt --json
  dikkat eval runs/mine --corpus book.txt --stride 16
  dikkat eval runs/mine --corpus foreign.txt --unknown skip
  dikkat eval runs/mine --weights q8
  dikkat eval runs/mails --corpus held-out.csv --labels label    # a classifier: accuracy, F1 and confusions
  dikkat eval base/ --corpus pairs.jsonl --objective embedding   # the MRR of a model before its training
  dikkat eval runs/mine --cache bf16
  dikkat eval runs/mine --corpus letter.txt --html letter.html
  dikkat eval runs/pairs --corpus unseen-pairs.tsv --exact-match
  dikkat eval runs/tuned --tasks questions.jsonl
  dikkat eval runs/tuned --tasks samples_hellaswag.jsonl --beside base.gguf
  dikkat eval runs/tuned --tasks questions.jsonl --refusal "I cannot" --refusal "I do not know"
Each line of questions.jsonl is {"prompt": "...", "choices": ["...", "..."], "answer": 0}, where
"answer" counts from 0 and the likeliest choice must be the right one, {"prompt": "...", "answer":
"..."}, where the model must write exactly the answer, or {"prompt": "...", "refuse": true}. Samples
of lm_eval (--log_samples) are scored as it does. Shares have standard errors and 95 % confidence
intervals.)";
  const auto a = std::make_shared<EvalArguments>();
  Command command = program.add("eval", "Measure the loss on the validation part of the run's corpus, or on another text", kExamples,
                                [a] { return eval_command(*a); });
  // Declare the model, the text, and what is scored.
  add_model(command, a->model);
  add_weights(command, a->weights);
  command.text("--cache", a->cache, "TYPE",
               "f32, or bf16: round keys and values in attention, to measure what sample and serve --cache bf16 cost in loss");
  command.texts("--corpus", a->corpus, "PATH",
                "Text files or folders to evaluate as a whole; by default the validation part of the run's corpus");
  command.list("--columns", a->columns, kColumnsType, kColumnsHelp);
  command.text("--labels", a->labels, "FIELD", "The column or key with the labels of texts, for a classifier; by default that of the run");
  command.text("--objective", a->objective, "WORD",
               "embedding: measure how well the model finds the positive of each pair of texts, although it was not trained on pairs");
  command.number("--stride", a->stride, index{1}, index{1'000'000},
                 "Score only the last N tokens of each window, so that each token has more context: slower, and usually a lower loss; by "
                 "default all tokens are scored");
  command.text("--score", a->score, "WORD",
               "Which tokens of conversations are scored: answers, last_answer or all; by default as the run's chat.eval_loss");
  command.text("--unknown", a->unknown, "WORD",
               "What to do with characters of --corpus that a character tokenizer does not know: refuse the text, or skip them and warn");
  // Declare other measures, and the forms of the output.
  command.flag("--exact-match", a->exact_match, "Also measure the share of sources for which an encoder-decoder writes exactly the target");
  command.text("--tasks", a->tasks, "FILE.jsonl",
               "Ask the questions in this file instead: multiple choice by likelihood, and exact answers");
  command.text("--beside", a->beside, "MODEL",
               "Also ask this model, and print the difference with its error and the number of answers that changed");
  command.repeated("--refusal", a->refusals, "TEXT",
                   "An answer with this text is a refusal: print the share of questions with \"refuse\": true that is refused, and the "
                   "share of the others that is answered");
  command.flag("--add-bos", a->adds_begin,
               "Put the token that begins a text before each context of lm_eval's samples, as its add_bos_token=True does");
  command.text("--html", a->html, "FILE.html", "Also write a page that shows the text with the loss of each token, up to 20,000 tokens");
  command.flag("--json", a->json,
               "Print one JSON object: loss (nats), standard_error, perplexity, bits_per_byte, tokens, and scored: fingerprints of the "
               "scored tokens, which are equal if losses are comparable");
}

}  // namespace dikkat
