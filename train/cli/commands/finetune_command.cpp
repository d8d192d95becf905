#include <algorithm>
#include <initializer_list>
#include <memory>

#include <fmt/format.h>

#include "optim/schedule.h"
#include "train/cli/commands.h"
#include "train/cli/commands/train_command.h"
#include "train/cli/shared_options.h"
#include "train/cli/terminal/streams.h"
#include "train/cli/terminal/text.h"
#include "train/config/override.h"
#include "train/data/corpus/corpus_contents.h"
#include "train/model/extended_model.h"
#include "train/model/model_origin.h"
#include "train/run/trainer.h"

namespace dikkat {
namespace {

struct FinetuneArguments {
  TrainArguments train;
  std::string objective = "language";
  bool full = false;
  std::vector<std::string> given;  // --replay-share, if it was given
  std::string labels;              // the column or key of labels; empty: the run learns texts
};

/// The longest window by default, in tokens: longer ones need much memory for activations. Shorter windows than the model's context need a
/// model without a table of positions.
constexpr index kShortWindow = 512;

constexpr const char* kRecipe = "finetune";

/// Throws InputError if --full comes with a rank of adapters.
void require_no_adapters(const std::vector<std::string>& settings) {
  Config config;
  for (const std::string& setting : settings) {
    if (setting.starts_with("lora.rank")) {
      apply_override(config, setting);
      require_input(config.lora.rank == 0, "--full trains all weights, and lora.rank = ", config.lora.rank,
                    " trains adapters: leave one of them out");
    }
  }
}

/// Derives the recipe's length, and the keys that the user does not set, from the text.
void fit_length(TrainArguments& train, bool prefers) {
  constexpr double kUsualEpochs = 3;  // the default of Hugging Face's trainer
  RunLength& length = train.length;
  length.is_default = length.epochs == 0;
  length.usual_epochs = prefers ? 1 : kUsualEpochs;
  length.epochs = length.is_default ? length.usual_epochs : length.epochs;
  const auto is_free = [&](std::initializer_list<const char*> keys) {
    return std::ranges::none_of(keys, [&](const char* key) { return is_set(train.run, key); });
  };
  length.fits_step = is_free({"train.batch_size", "train.gradient_accumulation_steps", "train.accumulation_schedule", "train.lanes"});
  length.fits_warmup = is_free({"optim.warmup_steps"});
  length.fits_evaluations = is_free({"train.eval_interval"});
}

/// Adds the settings of a run that learns vectors. A micro-batch has one row of about kPairsOfRow pairs.
void add_embedding(const RunOptions& run, std::vector<std::string>& first) {
  constexpr index kUsualBatch = 64, kPairsOfRow = 8;
  Config config;
  config.embedding.batch = kUsualBatch;
  for (const std::string& setting : run.set) {
    if (setting.starts_with("embedding.batch")) {
      apply_override(config, setting);
    }
  }
  require_input(config.embedding.is_on(), "--objective embedding and --set embedding.batch=", config.embedding.batch,
                " contradict each other: give 2 or more pairs, or leave one of them out");
  first.push_back(concat("embedding.batch=", kUsualBatch));
  first.emplace_back("train.batch_size=1");
  const index batch = config.embedding.batch;
  first.push_back(concat("train.gradient_accumulation_steps=", batch % kPairsOfRow == 0 && batch > 0 ? batch / kPairsOfRow : 1));
  first.emplace_back("train.eval_tokens=0");  // a search goes through all held-out texts
}

/// Lets adapters' runs train the rows of new tokens, and no others. Without adapters, all weights are trained anyway.
void train_new_rows(const RunOptions& run, const TransformerConfig& model, std::vector<std::string>& settings) {
  if (is_set(run, "lora.modules_to_save") || std::ranges::find(settings, "lora.rank=0") != settings.end() ||
      std::ranges::find(run.set, "lora.rank=0") != run.set.end()) {
    return;
  }
  std::string tables;
  for (const std::string& path : token_tables(model)) {
    append_to(tables, concat(tables.empty() ? "" : ",", path));
  }
  settings.push_back("lora.modules_to_save=" + tables);
  settings.emplace_back("optim.old_rows_lr_scale=0");
}

/// Prints the next steps with the run.
void print_next_steps(const Trainer& trainer, bool losses_fall) {
  const std::string run = trainer.directory().string();
  const Config& config = trainer.config();
  if (losses_fall && trainer.state().step == config.train.max_steps) {
    // A schedule that has ended at its lowest rate must end later too. Only wsd follows the length of the run.
    const index more = 2 * config.train.max_steps;
    const bool has_ended = ends_at_min_lr(config.optim.schedule) && config.optim.schedule != Schedule::Kind::wsd;
    print_message(
        for_terminal(fmt::format("Both losses were still falling at the last evaluation, so more steps may help (dikkat resume {} "
                                 "--set train.max_steps={}{}){}",
                                 run, more, has_ended ? fmt::format(" optim.decay_steps={}", more) : "",
                                 config.lora.rank > 0 ? ", as may training all weights instead of adapters (--full)." : ".")));
  }
  print_message(for_terminal(config.classify.is_on()            ? concat("next: dikkat eval ", run, ", and dikkat classify ", run, " FILE")
                             : config.embedding.is_on()         ? concat("next: dikkat embed ", run, " texts.txt --out vectors.npy")
                             : trainer.data().chat() != nullptr ? concat("next: dikkat chat ", run)
                                                                : concat("next: dikkat sample ", run, " --prompt \"...\"")));
}

/// Returns whether the run will learn preferences: by its data, unless the user has chosen a method.
bool learns_preferences(const RunOptions& run) {
  Config config;
  config.preference.method = PreferenceMethod::auto_;
  for (const std::string& setting : run.set) {
    if (setting.starts_with("preference.method") || setting.starts_with("data.text_field") || setting.starts_with("data.columns")) {
      apply_override(config, setting);
    }
  }
  if (config.preference.method != PreferenceMethod::auto_) {
    return config.preference.is_on();
  }
  if (run.corpus.empty()) {
    return false;
  }
  config.data.columns = run.columns.empty() ? config.data.columns : run.columns;
  const DataKind kind = contents_of(run.corpus, config.data.names()).kind;
  return kind == DataKind::pairs || kind == DataKind::judgments;
}

int finetune_command(FinetuneArguments arguments) {
  RunOptions& run = arguments.train.run;
  const bool embeds = arguments.objective == "embedding", is_own_recipe = run.config == kRecipe;  // another file sets these keys itself
  require_input(embeds || arguments.objective == "language", "--objective is ", arguments.objective, ", expected language or embedding");
  require_input(!embeds || is_own_recipe, "--objective embedding sets keys of the recipe ", kRecipe,
                ": leave it out, and set embedding.batch in ", run.config);
  require_input(arguments.given.empty() || !run.replay.empty(),
                "--replay-share is the share of windows from --replay, which is missing: ", "add --replay PATH, or leave it out");
  require_input(!run.corpus.empty() || run.config != kRecipe,
                "--data is missing: give the texts to learn from (or --config FILE with data.corpus or data.sources)");
  // Set what the recipe leaves open.
  const ModelOrigin origin = ModelOrigin::open(run.init_from);
  const TransformerConfig model = origin.config().model;
  std::vector<std::string> first;  // the user's settings come later and win
  if (is_own_recipe && (model.positions == Positions::rope || model.positions == Positions::none) && model.block_size > kShortWindow &&
      !is_set(run, "data.window") && !is_set(run, "model.block_size")) {
    first.push_back(concat("data.window=", kShortWindow));
  }
  require_input(arguments.labels.empty() || !is_set(run, "classify.field"),
                "--labels and --set classify.field name the same thing: leave one of them out");
  const bool classifies = !arguments.labels.empty() || is_set(run, "classify.field");
  const bool prefers = is_own_recipe && !classifies && !embeds && learns_preferences(run);
  if (arguments.full) {
    require_no_adapters(run.set);
    first.emplace_back("lora.rank=0");
    if (is_own_recipe) {
      first.emplace_back("optim.learning_rate=2e-5");
    }
  }
  if (is_own_recipe && !embeds) {
    first.emplace_back("preference.method=auto");
  }
  if (!arguments.labels.empty()) {
    first.push_back(concat("classify.field=", arguments.labels));
  }
  if (classifies && is_own_recipe) {  // macro-F1 needs the whole validation part, and a new head a higher rate than other weights
    first.emplace_back("train.eval_tokens=0");
    first.emplace_back(arguments.full ? "optim.learning_rate=5e-5" : "optim.learning_rate=5e-4");
  }
  if (embeds) {
    add_embedding(run, first);
  }
  if (prefers) {  // TRL's rates; a row has two windows, for both answers
    first.emplace_back(arguments.full ? "optim.learning_rate=1e-6" : "optim.learning_rate=5e-5");
    first.emplace_back("train.batch_size=2");
  }
  if (is_own_recipe && origin.state().first_new_token >= 0) {
    train_new_rows(run, model, first);
  }
  // Fit the length to the text, and train.
  if (is_own_recipe && !is_set(run, "train.max_steps")) {
    fit_length(arguments.train, prefers);
    arguments.train.length.fits_step &= !embeds;  // embedding.batch decides the pairs of a step
  }
  run.set.insert(run.set.begin(), first.begin(), first.end());
  arguments.train.finished = print_next_steps;
  return train_command(arguments.train);
}

}  // namespace

void add_finetune(Commands& program) {
  constexpr const char* kExamples =
      R"(  dikkat finetune SmolLM2-135M --data my-texts/          # a local Hugging Face folder; nothing is downloaded
  dikkat finetune runs/base --data letters.txt --out runs/letters --set train.max_steps=1000 lora.rank=32
  dikkat finetune runs/base --data letters.txt --full
  dikkat finetune runs/base --data chats.jsonl --epochs 2
  dikkat finetune runs/base --data faq.csv --columns prompt=Question,completion=Answer
  dikkat finetune runs/base --data mails.csv --labels label  # a classifier, for dikkat classify
  dikkat finetune runs/merged --data pairs.jsonl --set preference.beta=0.05  # preferences (DPO)
  dikkat finetune runs/base --data pairs.jsonl --objective embedding         # vectors, for search
  dikkat finetune runs/base --data chats.jsonl --replay books/ --evaluate books=held-out.txt
The command is short for
  dikkat train --config finetune --init-from MODEL --corpus PATH
with windows of at most 512 tokens (data.window) for models with rotary positions, such as Llama,
Qwen and SmolLM2. The result is an ordinary run: resume, eval, sample, report and runs accept it.)";
  const auto a = std::make_shared<FinetuneArguments>();
  a->train.run.config = kRecipe;
  Command command = program.add("finetune", "Adapt a trained model to other texts, with LoRA adapters or by training all weights",
                                kExamples, [a] { return finetune_command(*a); });
  command
      .text("MODEL", a->train.run.init_from, "",
            "A run (its checkpoint with the lowest validation loss), FILE.h5, a Hugging Face folder or a GGUF file")
      .required();
  command.texts("--data,--corpus", a->train.run.corpus, "PATH", kCorpusHelp);
  command.texts("--replay", a->train.run.replay, "PATH",
                "Texts like those that the model was trained on, mixed into the data so that it forgets less (data.sources then has two "
                "sources, data and replay)");
  command.number("--replay-share", a->train.run.replay_share, 0.001, 0.999, "Share of training windows taken from --replay")
      .note_in(a->given);
  add_evaluate(command, a->train.run.evaluate);
  add_epochs(command, a->train.length);
  command.text("--config", a->train.run.config, "FILE|NAME",
               "Configuration in TOML: a file, or the name of a recipe that comes with dikkat");
  command.text(
      "--out", a->train.out, "DIR",
      "Run directory to create; by default runs/finetune, or runs/finetune-2, ... if that exists. A run of the same configuration that was "
      "interrupted there continues");
  command.text(
      "--labels", a->labels, "FIELD",
      "Learn the labels of texts: the column or key that has them, or lists of several; `dikkat classify` then gives texts labels");
  command.list("--columns", a->train.run.columns, kColumnsType, kColumnsHelp);
  command.texts("--set", a->train.run.set, "KEY=VALUE", kSetHelp);
  command.text("--objective", a->objective, "WORD",
               "What is learned: language, the texts; or embedding, vectors from pairs of texts (anchor and positive, perhaps negative)");
  command.flag("--full", a->full, "Train all weights instead of adapters, with a lower learning rate");
  command.flag("--profile", a->train.profile, kProfileHelp);
}

}  // namespace dikkat
