#pragma once

#include <string>
#include <vector>

#include "autograd/base/packed_matrix.h"
#include "train/cli/command.h"
#include "train/data/corpus/corpus.h"
#include "train/model/model_origin.h"

// Options that several commands share.
namespace dikkat {

inline constexpr const char* kCorpusHelp = "Text files, folders, patterns, .jsonl, .csv, .tsv, .gz, .zst; - is standard input";
inline constexpr const char* kColumnsType = "FIELD=COLUMN,...";
inline constexpr const char* kColumnsHelp =
    "Columns of a table (.csv, .tsv), or fields of JSON objects, such as prompt=question,completion=answer or text=body. By default, "
    "columns with usual names are found, and a note names them";
/// Help of --config FILE|NAME.
inline constexpr const char* kConfigHelp =
    "Configuration in TOML: a file, or the name of a recipe that comes with dikkat, such as quickstart; without it, all keys have "
    "their defaults";
inline constexpr const char* kInitFromHelp =
    "Start from the weights and tokenizer of a trained model: a run (its checkpoint with the lowest validation loss), a checkpoint, "
    "a Hugging Face folder or a GGUF file. Keys of [model] and [tokenizer] can be left out; those that are given must match the model";
inline constexpr const char* kProfileHelp = "At the end, print a table of the time spent in each operation";
inline constexpr const char* kSetHelp = "Set a key of the configuration, as section.key=value; overrides the file";

/// Help of --base PATH.
inline constexpr const char* kBaseHelp =
    "The base model of the adapters, if it has moved. For adapters trained by dikkat its weights must match the recorded hash";

/// Adds --evaluate: texts whose loss a run measures in addition to its validation part.
void add_evaluate(Command& command, std::vector<std::string>& texts);
/// Adds the argument RUN_DIR (its newest checkpoint) or FILE.h5, and --best.
void add_checkpoint(Command& command, std::string& path, bool& best);
/// The model that a command uses.
struct ModelArguments {
  std::string source{};               // RUN_DIR, FILE.h5, or the files of an imported model
  bool best = false, newest = false;  // if neither: the best checkpoint of RUN_DIR, or the newest if there was no evaluation
  ImportOptions import{};
  std::string base{};  // --base; empty: the path that the adapters have

  /// Throws InputError for options that contradict each other.
  ModelOptions options() const;
};
void add_model(Command& command, ModelArguments& arguments);
/// Adds --weights: the type in which the matrices of a frozen model are kept in memory.
void add_weights(Command& command, std::string& weights);
/// Parses the value of --weights. Throws InputError for an unknown type.
PackedType packing_named(const std::string& weights);
/// Returns the type of keys and values that --cache names: f32 or bf16.
DType cache_type_named(const std::string& cache);
/// Adds --context and --tokenizer, which apply to imported models.
void add_import_options(Command& command, ImportOptions& import);
/// Adds --text-field, --columns and --replace-invalid, which decide how texts are read.
void add_reading(Command& command, CorpusOptions& reading);

}  // namespace dikkat
