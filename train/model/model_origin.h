#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "autograd/tape/parameters.h"
#include "train/checkpoint/checkpoint_list.h"
#include "train/config/config.h"
#include "train/exchange/model_files.h"
#include "train/exchange/peft_files.h"

namespace dikkat {

/// How a model is opened.
struct ModelOptions {
  CheckpointChoice choice = CheckpointChoice::best_or_newest;  // the checkpoint of a run directory to open
  ImportOptions import{};                                      // how another program's files are read
  std::string base{};  // the base of adapters, if it is not at train.init_from or base_model_name_or_path
};

/// Throws InputError, with the accepted kinds of models, if `source` does not exist.
void require_model_at(const std::string& source);
/// Throws InputError if `base` is not empty and does not exist. `source` names the adapters in the message.
void require_base_at(const std::string& base, const std::string& source);

/// Where a model comes from: a verified checkpoint, another program's files, or PEFT adapters and their base. Weights are read only by
/// load_weights().
class ModelOrigin {
 public:
  /// Opens RUN_DIR, FILE.h5, or files that ModelFiles or PeftFiles read. Throws InputError if the model is missing, damaged or not
  /// supported, or if options.base is set for a model without adapters or does not exist. For a run's adapters, config().train.init_from is
  /// then the base's path: options.base, or the path in the run's newest checkpoint.
  static ModelOrigin open(const std::string& source, const ModelOptions& options = {});
  /// Takes a checkpoint that is already open.
  explicit ModelOrigin(CheckpointFile checkpoint);

  /// Returns the checkpoint, or null for other programs' files.
  const CheckpointFile* checkpoint() const;
  /// Returns the other program's model, or null.
  const ModelFiles* files() const;
  /// Returns the model that the adapters of a PEFT folder are added to; null for other models.
  const ModelOrigin* base() const;

  /// Returns the path of the file or folder.
  const std::filesystem::path& path() const;
  /// Returns the resolved configuration. For another program's model: its [model] and [tokenizer], and defaults elsewhere.
  const Config& config() const { return config_; }
  /// Returns the tokenizer, for tokenizer_from_json().
  const std::string& tokenizer() const { return tokenizer_; }
  /// Remarks to print about another program's files: settings that are ignored, and contradictions.
  const std::vector<std::string>& notes() const { return notes_; }
  /// Returns the checkpoint's training state. For imported files: a state at step 0.
  const TrainingState& state() const { return state_; }
  /// Loads the weights into the store, which must have memory and the parameters of config(). Adapters of the store are loaded from a
  /// checkpoint that has adapters, and keep their values otherwise. If the store has no adapters, those of the checkpoint are added to its
  /// weights (adapters.h). A classifier's store that is loaded from a model without labels keeps the values of its head, and `loaded` is
  /// not called for it. Throws InputError unless the files have exactly the store's parameters, and for one that is NaN or infinite.
  /// `loaded` is called for each parameter as soon as it is complete.
  void load_weights(ParameterStore& store, const ParameterStore::Loaded& loaded = {}) const;

 private:
  struct Adapted {
    PeftFiles adapters;
    std::shared_ptr<const ModelOrigin> base;
  };
  using From = std::variant<CheckpointFile, ModelFiles, Adapted>;
  explicit ModelOrigin(ModelFiles files);
  explicit ModelOrigin(Adapted adapted);
  void load_unchecked(ParameterStore& store, const ParameterStore::Loaded& loaded) const;
  void load_without_head(ParameterStore& store, const ParameterStore::Loaded& loaded) const;
  static ModelOrigin open_peft(const std::string& folder, const ModelOptions& options);

  From from_;
  Config config_;
  std::string tokenizer_;
  std::vector<std::string> notes_;
  TrainingState state_;
};

}  // namespace dikkat
