#pragma once

#include <string>
#include <vector>

#include "autograd/base/packed_matrix.h"
#include "train/cli/command.h"
#include "train/data/corpus.h"
#include "train/model/model_origin.h"

// Options that several commands share.
namespace dikkat {

inline constexpr const char* kCorpusHelp = "Text files, folders, patterns, .jsonl, .gz, .zst; - is standard input";
/// Of --config FILE|NAME.
inline constexpr const char* kConfigHelp =
    "Configuration, TOML: a file, or the name of a recipe that comes with dikkat (quickstart); without it, the defaults";
inline constexpr const char* kInitFromHelp =
    "Fine-tuning: start with the weights, model and tokenizer of another run (its checkpoint with the lowest validation loss), or of "
    "another program's model (a folder of Hugging Face, a "
    "GGUF file); keys of [model] and [tokenizer] may be left out, and must not contradict it";
inline constexpr const char* kSetHelp = "section.key=value: sets a key of the configuration, in place of the file's value";

/// Of --base PATH.
inline constexpr const char* kBaseHelp =
    "Of adapters: the model that they adapt, if it is not where they say; for those of a run, which know its hash, it must have the same "
    "weights";

/// --evaluate: texts that a run measures beside its validation part.
void add_evaluate(Command& command, std::vector<std::string>& texts);
/// A checkpoint: RUN_DIR (its newest) or FILE.h5, and --best.
void add_checkpoint(Command& command, std::string& path, bool& best);
/// The model that a command uses.
struct ModelArguments {
  std::string source{};               // RUN_DIR, FILE.h5, or another program's files
  bool best = false, newest = false;  // of RUN_DIR; neither: the best one, or the newest if there was no evaluation
  ImportOptions import{};
  std::string base{};  // of adapters

  /// Throws InputError for options that contradict each other.
  ModelOptions options() const;
};
void add_model(Command& command, ModelArguments& arguments);
/// --weights: how the matrices of a model that is not trained are kept.
void add_weights(Command& command, std::string& weights);
/// The value of --weights. Throws InputError for another one.
PackedType packing_named(const std::string& weights);
/// How another program's model is read: --context and --tokenizer.
void add_import_options(Command& command, ImportOptions& import);
/// How texts are read: --text-field and --replace-invalid.
void add_reading(Command& command, CorpusOptions& reading);

}  // namespace dikkat
