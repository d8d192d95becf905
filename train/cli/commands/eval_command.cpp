#include <cmath>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <numbers>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "autograd/base/parallel.h"
#include "train/cli/chosen_checkpoint.h"
#include "train/cli/commands.h"
#include "train/cli/eval_tasks.h"
#include "train/cli/json_output.h"
#include "train/cli/progress.h"
#include "train/cli/shared_options.h"
#include "train/cli/signals.h"
#include "train/cli/streams.h"
#include "train/cli/text.h"
#include "train/cli/text_page.h"
#include "train/cli/write_page.h"
#include "train/data/corpus/corpus_files.h"
#include "train/data/corpus/corpus_reader.h"
#include "train/data/examples/conversation_dataset.h"
#include "train/data/examples/pair_dataset.h"
#include "train/data/training_data.h"
#include "train/model/trained_model.h"
#include "train/run/evaluate.h"
#include "train/run/exact_match.h"
#include "train/run/loss_fingerprint.h"
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
  index stride = 0;
  std::string unknown = "refuse";
  std::string score;  // which tokens of conversations count, in place of the run's chat.eval_loss
  bool exact_match = false;
  std::string tasks;  // a file of questions
  std::string html;   // a page to write
  bool json = false;
};

nlohmann::ordered_json number_or_null(double value) { return std::isnan(value) ? nlohmann::ordered_json() : nlohmann::ordered_json(value); }

/// Encodes with another tokenizer, and counts and leaves out the characters that it refuses.
class SkippingTokenizer : public Tokenizer {
 public:
  explicit SkippingTokenizer(const Tokenizer& inner) : inner_(inner) {}

  std::string_view kind() const override { return inner_.kind(); }
  index vocab_size() const override { return inner_.vocab_size(); }
  std::vector<Token> encode(std::string_view text) const override {
    std::vector<Token> tokens;
    const auto append = [&](const std::vector<Token>& more) { tokens.insert(tokens.end(), more.begin(), more.end()); };
    for (;;) {
      try {
        append(inner_.encode(text));
        return tokens;
      } catch (const EncodeError& error) {
        const auto at = static_cast<std::size_t>(error.offset());
        append(inner_.encode(text.substr(0, at)));
        std::size_t end = at + 1;
        while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) {  // the rest of a character of UTF-8
          ++end;
        }
        note(text.substr(at, end - at));
        text.remove_prefix(end);
      }
    }
  }
  index stable_prefix(std::string_view text) const override { return inner_.stable_prefix(text); }
  std::string decode(std::span<const Token> tokens) const override { return inner_.decode(tokens); }
  std::string decode_inside(std::span<const Token> tokens) const override { return inner_.decode_inside(tokens); }
  std::string to_json() const override { return inner_.to_json(); }
  std::optional<Token> separator() const override { return inner_.separator(); }
  bool is_lossless() const override { return skipped_.empty() && inner_.is_lossless(); }

  /// "12 (3 kinds: é ü ß)"; empty if none was left out.
  std::string skipped() const {
    constexpr std::size_t kShown = 10;
    index count = 0;
    std::string list;
    for (const auto& [character, times] : skipped_) {
      count += times;
      list += list.size() < kShown * 8 ? concat(list.empty() ? "" : " ", character) : "";
    }
    return count == 0 ? ""
                      : concat(grouped_digits(count), " (", grouped_digits(static_cast<index>(skipped_.size())),
                               " kinds: ", for_terminal(list), ")");
  }

 private:
  void note(std::string_view character) const {
    const std::lock_guard lock(mutex_);
    ++skipped_[std::string(character)];
  }

  const Tokenizer& inner_;
  mutable std::mutex mutex_;  // texts are encoded by many threads
  mutable std::map<std::string, index> skipped_;
};

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

/// Returns the text of --corpus, or the validation parts of the run's own sources, which must not have changed since.
std::vector<TextPart> texts_of(const EvalArguments& arguments, const TrainedModel& trained, const Tokenizer& tokenizer) {
  Config config = trained.config;
  if (!arguments.score.empty()) {
    const auto scored = value_named<ScoredText>(arguments.score);
    require_input(scored.has_value(), "--score is ", arguments.score, ", expected answers, last_answer or all");
    config.chat.eval_loss = *scored;
  }
  require_input(
      !arguments.corpus.empty() || !config.preference.is_on(), trained.origin.path().string(),
      " was trained on preferences: their loss and accuracy at each evaluation are in its report (dikkat report) and metrics.jsonl; "
      "to measure the loss of a text or of conversations, name it with --corpus, and to count exact answers, use --tasks");
  config.preference = {};
  require_input(!arguments.corpus.empty() || trained.origin.checkpoint() != nullptr, trained.origin.path().string(),
                " is an imported model, which has no corpus of its own: name the text to evaluate with --corpus");
  announce_corpus(arguments.corpus.empty() ? trained.config.data.training_paths() : arguments.corpus);
  LoadingLine line;
  if (!arguments.corpus.empty()) {
    if (arguments.unknown == "skip") {
      config.data.cache = "off";  // cached tokens are those of the whole text
    }
    try {
      LoadedText text = load_evaluation_text(ResolvedConfig(config), tokenizer, arguments.corpus, std::ref(line));
      for (const std::string& note : text.notes) {
        print_message(note);
      }
      report_learned_text(arguments.corpus, trained.config.data.training_paths());
      std::vector<TextPart> one;
      one.push_back({.text = std::move(text.data)});
      return one;
    } catch (const RefusedText& refused) {
      fail_input(refused.what(), "; --unknown skip leaves such characters out and counts them");
    }
  }
  const KnownCorpus known{
      .tokenizer = trained.origin.tokenizer(), .fingerprint = trained.origin.state().corpus_fingerprint, .is_ours = false};
  TrainingData data = [&] {
    try {
      return load_training_data(ResolvedConfig(config), &known, std::ref(line));
    } catch (const MissingCorpus& missing) {
      fail_input(missing.what(), ". If the text has moved, name what to evaluate: dikkat eval ", arguments.model.source, " --corpus PATH");
    }
  }();
  require_input(data.has_validation(), "the run has no validation part (data.val_fraction is ", trained.config.data.val_fraction,
                "): name the text to evaluate with --corpus");
  std::vector<TextPart> parts;
  for (SourceData& source : data.sources) {
    if (source.validation->evaluation() != nullptr) {
      parts.push_back({.name = source.name, .share = source.share, .text = std::move(source.validation)});
    }
  }
  return parts;
}

/// The bytes that a prediction stands for: the mean over the texts, weighted by their shares.
double bytes_per_target(const std::vector<TextPart>& parts) {
  double bytes = 0, shares = 0;
  for (const TextPart& part : parts) {
    bytes += part.share * part.text->bytes_per_target();
    shares += part.share;
  }
  return bytes / shares;
}

/// The loss of each of several texts, for --json.
nlohmann::ordered_json losses_by_name(const std::vector<TextPart>& parts, const std::vector<WeightedEvaluation>& results) {
  nlohmann::ordered_json object;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    object[parts[i].name] = {
        {"loss", results[i].of.loss}, {"standard_error", number_or_null(results[i].of.standard_error)}, {"tokens", results[i].of.tokens}};
  }
  return object;
}

/// Returns the names of the files that paths of a corpus stand for, for the page.
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
std::string page_name_of(const EvalArguments& arguments, const TrainedModel& trained, const TextPart& part) {
  if (!arguments.corpus.empty()) {
    return files_of(arguments.corpus);
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

std::string error_text(const Evaluation& result) {
  return std::isnan(result.standard_error) ? "" : fmt::format(" +- {:.4f}", result.standard_error);
}

int eval_command(const EvalArguments& arguments) {
  start_threads();
  require_input(arguments.unknown == "refuse" || arguments.unknown == "skip", "--unknown is ", arguments.unknown,
                ", expected refuse or skip");
  require_input(arguments.unknown == "refuse" || !arguments.corpus.empty(),
                "--unknown skip applies only to the text of --corpus: add --corpus, or leave --unknown out");
  const DType cache = cache_type_named(arguments.cache);
  const TrainedModel trained = load_trained_model(arguments.model.source, arguments.model.options(), packing_named(arguments.weights));
  report_chosen_checkpoint(arguments.model, trained.origin);
  require_input(cache == DType::f32 || trained.model->is_gpt(), "--cache is for a GPT, but ", trained.origin.path().string(),
                " is an encoder-decoder");
  if (!arguments.tasks.empty()) {
    require_input(arguments.corpus.empty() && arguments.html.empty() && arguments.stride == 0 && !arguments.exact_match,
                  "--tasks asks questions instead of measuring a loss: leave out --corpus, --html, --stride and --exact-match");
    require_input(cache == DType::f32, "--tasks asks questions instead of measuring a loss: leave out --cache");
    stop_in_order();
    return eval_tasks(trained, arguments.tasks, arguments.json);
  }
  const SkippingTokenizer skipping(*trained.tokenizer);
  const Tokenizer& tokenizer = arguments.unknown == "skip" ? static_cast<const Tokenizer&>(skipping) : *trained.tokenizer;
  std::vector<TextPart> parts = texts_of(arguments, trained, tokenizer);
  const std::string skipped = skipping.skipped();
  if (!skipped.empty()) {
    warn("left out characters that the model does not know: " + skipped);
  }
  for (TextPart& part : parts) {
    if (arguments.stride > 0) {
      part.text->set_stride(arguments.stride);
    }
  }
  require_input(arguments.score.empty() ||
                    std::ranges::any_of(
                        parts, [](const TextPart& part) { return dynamic_cast<const ConversationDataset*>(part.text.get()) != nullptr; }),
                "--score applies only to conversations, but the text has none: leave it out");
  const auto* const pairs = dynamic_cast<const PairDataset*>(parts.front().text.get());
  require_input(!arguments.exact_match || pairs != nullptr, "--exact-match needs an encoder-decoder, but ", trained.origin.path().string(),
                " is a GPT");
  stop_in_order();
  const auto stopped = [] {
    print_message("stopped before the end: an unfinished evaluation gives no result");
    return 128 + stop_signal();
  };
  LossPage page(tokenizer, parts.size());
  LanguageScorer scorer(*trained.model);
  Evaluator evaluator(scorer);
  evaluator.round_keys(cache);
  if (!arguments.html.empty()) {
    require_page_name(arguments.html);
    scorer.listen([&](const Batch& batch, std::span<const double> losses) { page.add(batch, losses); });
  }
  std::size_t bytes = 0;
  for (const TextPart& part : parts) {
    bytes = std::max(bytes, evaluator.reserve(*part.text->evaluation(), part.text->evaluation()->count()));
  }
  const std::size_t machine = machine_memory().total;
  require_input(bytes <= machine, "evaluating ", trained.origin.path().string(), " takes ", bytes >> 20,
                " MiB of memory for activations, but this machine has ", machine >> 20, " MiB, including swap space");
  std::vector<WeightedEvaluation> results;
  for (const TextPart& part : parts) {
    if (!arguments.html.empty()) {
      page.begin(page_name_of(arguments, trained, part));
    }
    ShareLine line(part.name.empty() ? "evaluating" : "evaluating " + for_terminal(part.name));
    const auto one = evaluator(*part.text->evaluation(), {}, [] { return stop_requested(); }, std::ref(line));
    if (!one) {
      return stopped();
    }
    results.push_back({.of = *one, .share = part.share});
  }
  const Evaluation result = mean(results);
  require(std::isfinite(result.loss), trained.origin.path().string(), ": the loss is ", result.loss,
          ", expected a number: the model's finite weights give infinite activations");
  std::vector<SharedFingerprint> sets;
  for (const TextPart& part : parts) {
    sets.push_back({.of = loss_fingerprint_of(*part.text, tokenizer), .share = part.share});
  }
  const LossFingerprint scored = combined(sets);
  if (!arguments.html.empty()) {
    page.write(arguments.html, arguments.corpus.empty() ? "The validation text" : names_of(arguments.corpus),
               trained.origin.path().string());
  }
  std::optional<ExactMatch> match;
  if (arguments.exact_match) {
    match = exact_match(*trained.model, *trained.tokenizer, pairs->pairs(), {}, [] { return stop_requested(); });
    if (!match) {
      return stopped();
    }
  }
  // If the tokenizer drops a part of the text, its tokens do not stand for all bytes.
  const double bits = !tokenizer.is_lossless() ? std::numeric_limits<double>::quiet_NaN()
                      : parts.size() == 1      ? result.bits_per_byte(parts.front().text->size().predicted_bytes)
                                               : result.loss / std::numbers::ln2 / bytes_per_target(parts);
  if (arguments.json) {
    nlohmann::ordered_json object{{"loss", result.loss},
                                  {"standard_error", number_or_null(result.standard_error)},
                                  {"perplexity", result.perplexity()},
                                  {"bits_per_byte", number_or_null(bits)},
                                  {"tokens", result.tokens},
                                  {"scored", {{"targets", scored.targets}, {"contexts", scored.contexts}, {"text", scored.text}}},
                                  {"weights", arguments.weights},
                                  {"cache", arguments.cache},
                                  {"step", trained.origin.state().step},
                                  {"checkpoint", trained.origin.path().string()}};
    if (parts.size() > 1) {
      object["losses"] = losses_by_name(parts, results);
    }
    if (match) {
      object["exact_match"] = match->share();
      object["pairs"] = match->pairs;
    }
    print_json(object);
  } else {
    print_message(trained.origin.path().string() + (arguments.corpus.empty()
                                                        ? ", the whole validation part of " + names_of(trained.config.data.training_paths())
                                                        : ", all of " + names_of(arguments.corpus)));
    constexpr std::size_t kShown = 12;  // digits of a fingerprint
    const std::string error = error_text(result);
    if (error.empty()) {
      print_message("no standard error: the text must be longer than one window (model.block_size tokens)");
    }
    for (std::size_t i = 0; parts.size() > 1 && i < parts.size(); ++i) {
      const Evaluation& one = results[i].of;
      print_result(fmt::format("{:<15}{:.4f}{} ({} tokens, {:.3g} of the windows)\n", "loss of " + for_terminal(parts[i].name) + ' ',
                               one.loss, error_text(one), grouped_digits(one.tokens), parts[i].share));
    }
    print_result(fmt::format(
        "loss           {:.4f}{}\nperplexity     {}\nbits_per_byte  {}\ntokens         {}\nscored         {} (contexts {})\n", result.loss,
        error, result.perplexity() < 1e6 ? fmt::format("{:.4f}", result.perplexity()) : fmt::format("{:.3e}", result.perplexity()),
        std::isfinite(bits) ? fmt::format("{:.4f}", bits) : "-  (the tokenizer drops a part of the text)", grouped_digits(result.tokens),
        scored.targets.substr(0, kShown), scored.contexts.substr(0, kShown)));
    if (match) {
      print_result(fmt::format("exact_match    {:.4f} ({} of {} pairs)\n", match->share(), match->exact, match->pairs));
    }
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
  dikkat eval runs/mine --cache bf16
  dikkat eval runs/mine --corpus letter.txt --html letter.html
  dikkat eval runs/pairs --corpus unseen-pairs.tsv --exact-match
  dikkat eval runs/tuned --tasks questions.jsonl
Each line of questions.jsonl is {"prompt": "...", "choices": ["...", "..."], "answer": 0}, where
"answer" counts from 0 and the likeliest choice must be the right one, or {"prompt": "...",
"answer": "..."}, where the model must write exactly the answer. Shares come with 95 % confidence
intervals.)";
  const auto a = std::make_shared<EvalArguments>();
  Command command = program.add("eval", "Measure the loss on the validation part of the run's corpus, or on another text", kExamples,
                                [a] { return eval_command(*a); });
  add_model(command, a->model);
  add_weights(command, a->weights);
  command.text("--cache", a->cache, "TYPE",
               "f32, or bf16: round keys and values in attention, to measure what sample and serve --cache bf16 cost in loss");
  command.texts("--corpus", a->corpus, "PATH",
                "Text files or folders to evaluate as a whole; by default the validation part of the run's corpus");
  command.number("--stride", a->stride, index{1}, index{1'000'000},
                 "Score only the last N tokens of each window, so that each token has more context: slower, and usually a lower loss; by "
                 "default all tokens are scored");
  command.text("--score", a->score, "WORD",
               "Which tokens of conversations are scored: answers, last_answer or all; by default as the run's chat.eval_loss");
  command.text("--unknown", a->unknown, "WORD",
               "What to do with characters of --corpus that a character tokenizer does not know: refuse the text, or skip them and warn");
  command.flag("--exact-match", a->exact_match, "Also measure the share of sources for which an encoder-decoder writes exactly the target");
  command.text("--tasks", a->tasks, "FILE.jsonl",
               "Ask the questions in this file instead: multiple choice by likelihood, and exact answers");
  command.text("--html", a->html, "FILE.html", "Also write a page that shows the text with the loss of each token, up to 20,000 tokens");
  command.flag("--json", a->json,
               "Print one JSON object: loss (nats), standard_error, perplexity, bits_per_byte, tokens, and scored: fingerprints of the "
               "scored tokens, which are equal if losses are comparable");
}

}  // namespace dikkat
