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

ModelSource ModelSource::open(const std::string& source, const ModelOptions& options) {
  if (ModelFiles::is_at(source)) {
    require_input(options.pick == Pick::best_or_newest, source, " is another program's model, expected a run directory with ",
                  options.pick == Pick::best ? "--best" : "--newest");
    return ModelSource(ModelFiles(source, options.import));
  }
  require_input(options.import.context == 0 && options.import.tokenizer.empty(), source,
                " is a run or checkpoint, which has a context and a tokenizer; --context and --tokenizer are for other programs' files");
  return ModelSource(open_checkpoint(source, options.pick));
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
