#include "train/model/model_source.h"

#include "autograd/base/error.h"
#include "train/config/parse.h"
#include "train/model/adapters.h"
#include "train/model/trained_model.h"

namespace dikkat {

ModelSource::ModelSource(CheckpointFile checkpoint)
    : from_(std::move(checkpoint)),
      config_(config_of(std::get<CheckpointFile>(from_))),
      tokenizer_(std::get<CheckpointFile>(from_).tokenizer()),
      state_(std::get<CheckpointFile>(from_).state()) {}

ModelSource::ModelSource(ModelFiles files) : from_(std::move(files)) {
  const auto tokenizer = this->files()->open_tokenizer();
  config_.model = this->files()->config();
  config_.tokenizer.kind = tokenizer->kind();
  resolve(config_);
  tokenizer_ = tokenizer->to_json();
}

namespace {

/// Where the base of a run's adapters is, as its newest checkpoint says: `dikkat resume --base` may have named another place since `taken` was saved.
/// Empty if that has another base, or cannot be read.
std::string newest_place_of_base(const std::string& run_directory, const CheckpointFile& taken) {
  const auto checkpoints = list_checkpoints(run_directory);
  if (checkpoints.empty() || checkpoints.back().path == taken.path()) {
    return "";
  }
  try {
    const CheckpointFile newest = CheckpointFile::open(checkpoints.back().path);
    return newest.state().base_hash == taken.state().base_hash ? config_of(newest).train.init_from : "";
  } catch (const InputError&) {  // it is damaged, which does not matter to the one that was taken
    return "";
  }
}

}  // namespace

ModelSource ModelSource::open(const std::string& source, const ModelOptions& options) {
  if (ModelFiles::is_at(source)) {
    require_input(options.pick == Pick::best_or_newest, source, " is another program's model, expected a run directory with ",
                  options.pick == Pick::best ? "--best" : "--newest");
    require_input(options.base.empty(), source, " is a whole model, expected a run of adapters with --base");
    return ModelSource(ModelFiles(source, options.import));
  }
  require_input(options.import.context == 0 && options.import.tokenizer.empty(), source,
                " is a run or checkpoint, which has a context and a tokenizer; --context and --tokenizer are for other programs' files");
  ModelSource opened(open_checkpoint(source, options.pick));
  const bool has_adapters = opened.config_.lora.rank > 0;
  require_input(options.base.empty() || has_adapters, source, " is a whole model, expected a run of adapters with --base");
  std::error_code missing;
  if (!options.base.empty()) {
    opened.config_.train.init_from = options.base;
  } else if (has_adapters && std::filesystem::is_directory(source, missing)) {
    const std::string place = newest_place_of_base(source, *opened.checkpoint());
    opened.config_.train.init_from = place.empty() ? opened.config_.train.init_from : place;
  }
  return opened;
}

const CheckpointFile* ModelSource::checkpoint() const { return std::get_if<CheckpointFile>(&from_); }
const ModelFiles* ModelSource::files() const { return std::get_if<ModelFiles>(&from_); }

const std::filesystem::path& ModelSource::path() const { return files() != nullptr ? files()->path() : checkpoint()->path(); }

void ModelSource::load_weights(ParameterStore& store, const ParameterStore::Loaded& loaded) const {
  if (files() != nullptr) {
    files()->load_weights(store, loaded);
  } else {
    load_model(*checkpoint(), config_, store, loaded);
  }
}

}  // namespace dikkat
