#include "train/cli/shared_options.h"

namespace dikkat {

namespace {

constexpr const char* kBestHelp = "Use the run's checkpoint with the lowest validation loss";
constexpr const char* kBestOrNothingHelp =
    "Use the run's checkpoint with the lowest validation loss. This is the default too, but --best refuses a run without evaluations";

}  // namespace

void add_evaluate(Command& command, std::vector<std::string>& texts) {
  command.texts("--evaluate", texts, "NAME=PATH",
                "Also measure the loss of this text at each evaluation, and report it as NAME (data.evaluations). Useful to see whether "
                "fine-tuning makes the model forget");
}

void add_checkpoint(Command& command, std::string& path, bool& best) {
  command.text("RUN_DIR|FILE.h5", path, "", "A run directory (its newest checkpoint is used), or a checkpoint").required();
  command.flag("--best", best, kBestHelp);
}

void add_model(Command& command, ModelArguments& a) {
  command
      .text("MODEL", a.source, "",
            "A run directory (its checkpoint with the lowest validation loss, or the newest if there was no evaluation), a checkpoint, "
            "or a model to import: a Hugging Face or PEFT folder, or a GGUF, llm.c or nanoGPT file")
      .required();
  command.flag("--newest", a.newest, "Use the run's newest checkpoint");
  command.flag("--best", a.best, kBestOrNothingHelp);
  command.text("--base", a.base, "PATH", kBaseHelp);
  add_import_options(command, a.import);
}

ModelOptions ModelArguments::options() const {
  require_input(!best || !newest, "--best and --newest both choose a checkpoint; give only one of them");
  return {.choice = best     ? CheckpointChoice::best
                    : newest ? CheckpointChoice::newest
                             : CheckpointChoice::best_or_newest,
          .import = import,
          .base = base};
}

void add_weights(Command& command, std::string& weights) {
  command.text("--weights", weights, "TYPE",
               "Type of the weights in memory: f32 (the default), bf16 (half the memory), q8 (a little more than a quarter) or q4 (about a "
               "seventh). Smaller types are also faster for each token, but rounded: `dikkat eval --weights TYPE` measures the loss");
}

PackedType packing_named(const std::string& weights) {
  const auto packing = value_named<PackedType>(weights);
  require_input(packing.has_value(), "--weights is ", weights, ", expected one of ", all_names<PackedType>());
  return *packing;
}

DType cache_type_named(const std::string& cache) {
  require_input(cache == "f32" || cache == "bf16", "--cache is ", cache, ", expected f32 or bf16");
  return cache == "bf16" ? DType::bf16 : DType::f32;
}

void add_import_options(Command& command, ImportOptions& import) {
  command.number("--context", import.context, index{1}, index{10'000'000},
                 "Context length in tokens, for an imported model with rotary positions; by default as in its files");
  command.text("--tokenizer", import.tokenizer, "PATH",
               "Tokenizer for an imported model: needed for llm.c and nanoGPT files, otherwise replaces the model's own");
}

void add_reading(Command& command, CorpusOptions& reading) {
  command.text("--text-field", reading.names.text, "NAME", "Field of a JSONL line, or column of a table, that holds the text");
  command.list("--columns", reading.names.columns, kColumnsType, kColumnsHelp);
  command.flag("--replace-invalid", reading.replace_invalid, "Replace bytes that are not UTF-8 with U+FFFD, instead of refusing the text");
}

}  // namespace dikkat
