#include "train/cli/shared_options.h"

namespace dikkat {

namespace {

constexpr const char* kBestHelp = "Use the run directory's checkpoint with the lowest validation loss";
constexpr const char* kBestOrNothingHelp =
    "Of a run directory: the checkpoint with the lowest validation loss, as by default, but refuse a run that was never evaluated";

}  // namespace

void add_evaluate(Command& command, std::vector<std::string>& texts) {
  command.texts("--evaluate", texts, "NAME=PATH",
                "A text whose loss is measured at each evaluation too, and told by its name (data.evaluations), such as one of the kind "
                "that the model knew before");
}

void add_checkpoint(Command& command, std::string& path, bool& best) {
  command.text("RUN_DIR|FILE.h5", path, "", "A run directory (its newest checkpoint is used), or a checkpoint").required();
  command.flag("--best", best, kBestHelp);
}

void add_model(Command& command, ModelArguments& a) {
  command
      .text("MODEL", a.source, "",
            "A run directory (its checkpoint with the lowest validation loss is used, or the newest if there was no evaluation), a "
            "checkpoint, or another "
            "program's model: a folder of Hugging Face or PEFT, a file of GGUF, llm.c or nanoGPT")
      .required();
  command.flag("--newest", a.newest, "Of a run directory: the newest checkpoint");
  command.flag("--best", a.best, kBestOrNothingHelp);
  command.text("--base", a.base, "PATH", kBaseHelp);
  add_import_options(command, a.import);
}

ModelOptions ModelArguments::options() const {
  require_input(!best || !newest, "--best and --newest both choose a checkpoint, expected one of them");
  return {.choice = best     ? CheckpointChoice::best
                    : newest ? CheckpointChoice::newest
                             : CheckpointChoice::best_or_newest,
          .import = import,
          .base = base};
}

void add_weights(Command& command, std::string& weights) {
  command.text("--weights", weights, "TYPE",
               "How the weights lie in memory: f32 (by default); bf16, q8 or q4 take a half, a bit more than a quarter, or a seventh of "
               "it, and as much less "
               "time for each token, but are rounded; dikkat eval --weights tells what that costs");
}

PackedType packing_named(const std::string& weights) {
  const auto packing = value_named<PackedType>(weights);
  require_input(packing.has_value(), "--weights is ", weights, ", expected one of ", all_names<PackedType>());
  return *packing;
}

void add_import_options(Command& command, ImportOptions& import) {
  command.number("--context", import.context, index{1}, index{10'000'000},
                 "Context length in tokens (another program's model with rotary positions only); by default what its files say");
  command.text("--tokenizer", import.tokenizer, "PATH",
               "Of another program's model: the tokenizer, for files without one (llm.c, nanoGPT), or in place of theirs");
}

void add_reading(Command& command, CorpusOptions& reading) {
  command.text("--text-field", reading.text_field, "NAME", "The field of a JSONL line that holds the text");
  command.flag("--replace-invalid", reading.replace_invalid, "Replace bytes that are not UTF-8 by U+FFFD, instead of refusing the text");
}

}  // namespace dikkat
