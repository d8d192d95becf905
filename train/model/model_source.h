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
  Pick pick = Pick::best_or_newest;  // which checkpoint of a run directory
  ImportOptions import{};            // how another program's files are read
  std::string base{};  // of adapters: the model that they adapt, if it is not where they say (train.init_from, base_model_name_or_path)
};

/// Throws InputError, which says what is accepted, unless something is at the path of a model.
void require_model_at(const std::string& source);
/// The same of options.base, for the adapters of `source`; an empty one is none.
void require_base_at(const std::string& base, const std::string& source);

/// Where a model comes from: a checkpoint of ours, which has been verified, another program's files, or adapters of PEFT and their base.
/// Weights are loaded when they are asked for.
class ModelSource {
 public:
  /// Opens RUN_DIR, FILE.h5, or what ModelFiles or PeftFiles read. Throws InputError if there is none, it is damaged, or cannot be
  /// computed, and for a base where there are no adapters or nothing at its path. config().train.init_from is where the base of adapters
  /// is: options.base, or else what the run's newest checkpoint says.
  static ModelSource open(const std::string& source, const ModelOptions& options = {});
  /// Opens a checkpoint that has been chosen.
  explicit ModelSource(CheckpointFile checkpoint);

  /// The checkpoint, or null for other programs' files.
  const CheckpointFile* checkpoint() const;
  /// The other program's model, or null.
  const ModelFiles* files() const;
  /// Of a folder of PEFT: the model that its adapters are added to; else null.
  const ModelSource* base() const;

  /// Of the file or folder.
  const std::filesystem::path& path() const;
  /// The configuration, resolved. Of another program's model: its [model] and [tokenizer], and the defaults.
  const Config& config() const { return config_; }
  /// The tokenizer, for tokenizer_from_json().
  const std::string& tokenizer() const { return tokenizer_; }
  /// For people: what another program's files say that is not used, or that contradicts itself.
  const std::vector<std::string>& notes() const { return notes_; }
  /// Of a checkpoint; of other files that of a run which has not begun.
  const TrainingState& state() const { return state_; }
  /// Loads the weights into the store, which has memory and the parameters of config(). Adapters of the store are loaded from a checkpoint
  /// that has them, and left alone otherwise; a checkpoint's adapters are added to the weights of a store without them (adapters.h). Throws
  /// InputError unless there are exactly these parameters. `loaded` is called for each parameter as soon as all of it is read.
  void load_weights(ParameterStore& store, const ParameterStore::Loaded& loaded = {}) const;

 private:
  struct Adapted {
    PeftFiles adapters;
    std::shared_ptr<const ModelSource> base;
  };
  using From = std::variant<CheckpointFile, ModelFiles, Adapted>;
  explicit ModelSource(ModelFiles files);
  explicit ModelSource(Adapted adapted);
  static ModelSource open_peft(const std::string& folder, const ModelOptions& options);

  From from_;
  Config config_;
  std::string tokenizer_;
  std::vector<std::string> notes_;
  TrainingState state_;
};

}  // namespace dikkat
