#include "train/model/trained_model.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "autograd/base/error.h"
#include "train/config/parse.h"
#include "train/config/render.h"
#include "train/config/resolve.h"
#include "train/model/pack_weights.h"
#include "train/system/folder.h"

namespace dikkat {

ResolvedConfig config_of(const CheckpointFile& checkpoint, std::vector<std::string>* remarks) {
  require_language_model(checkpoint);
  return ResolvedConfig(parse_config_of_run(checkpoint.config(), checkpoint.path().string() + ": configuration", remarks));
}

namespace {

/// The groups of tensors that this program reads. A tensor's group is the part of its path before the first slash.
constexpr std::string_view kKnownGroups[] = {"model", "optimizer", "adapter", "arrays"};

}  // namespace

void require_known_groups(const CheckpointFile& checkpoint) {
  for (const StoredTensor& tensor : checkpoint.tensors()) {
    const std::string_view group = std::string_view(tensor.path).substr(0, tensor.path.find('/'));
    const bool known = std::find(std::begin(kKnownGroups), std::end(kKnownGroups), group) != std::end(kKnownGroups);
    require_input(known || !tensor.required, checkpoint.path().string(), " was written by a newer dikkat: it has tensor ", tensor.path,
                  ", which this version does not know");
  }
}

namespace {

/// The groups of parameters in checkpoints. Parameters that are trained in full with adapters are in both: the base has their first values.
enum class Group { model, adapter };

std::string_view name_of(Group group) { return group == Group::model ? "model" : "adapter"; }

/// Returns the store's parameters that a checkpoint has in a group.
std::vector<ParameterStore::Entry*> entries_of(const ParameterStore& store, Group group) {
  std::vector<ParameterStore::Entry*> entries = store.entries();
  std::erase_if(entries, [=](const auto* entry) { return group == Group::model ? entry->role == Role::adapter : !entry->with_adapters; });
  return entries;
}

/// Returns views of the entries' values, with their paths in a checkpoint: "adapter/<parameter>" or "model/<parameter>".
std::vector<TensorView> views_of(const ParameterStore& store, std::span<ParameterStore::Entry* const> entries, Group group) {
  store.weights<float>();  // throws Error unless all values are in memory, as f32
  std::vector<TensorView> views;
  for (const ParameterStore::Entry* entry : entries) {
    views.push_back(
        {.path = concat(name_of(group), '/', entry->path), .type = ElementType::f32, .shape = entry->shape(), .data = entry->values});
  }
  return views;
}

void load_entries(const CheckpointFile& checkpoint, const ParameterStore& store, Group group, const ParameterStore::Loaded& loaded,
                  Weights weights) {
  require_known_groups(checkpoint);
  const std::vector<ParameterStore::Entry*> entries = entries_of(store, group);
  const std::vector<TensorView> views = views_of(store, entries, group);
  load_tensors(checkpoint, name_of(group), views, [&](std::size_t i) {
    if (weights == Weights::used) {
      read_weight(checkpoint, views[i].path, views[i].shape, weights, static_cast<float*>(views[i].data));
    }
    if (loaded) {
      loaded(*entries[i]);
    }
  });
}

}  // namespace

void load_weights(const CheckpointFile& checkpoint, ParameterStore& parameters, const ParameterStore::Loaded& loaded, Weights weights) {
  load_entries(checkpoint, parameters, Group::model, loaded, weights);
}

void load_adapters(const CheckpointFile& checkpoint, ParameterStore& parameters, Weights weights) {
  load_entries(checkpoint, parameters, Group::adapter, {}, weights);
}

std::vector<TensorView> weights_of(const ParameterStore& parameters) {
  const Group group = parameters.has_adapters() ? Group::adapter : Group::model;
  return views_of(parameters, entries_of(parameters, group), group);
}

SavedCheckpoint save_model(const std::filesystem::path& directory, const LanguageModel& model, const Tokenizer& tokenizer, Config config,
                           const TrainingState& state) {
  resolve(config);
  config.model.vocab_size.derive(model.vocab_size());
  make_folders(directory);
  return save_checkpoint(
      directory, {.state = state, .config = to_toml(config), .tokenizer = tokenizer.to_json(), .tensors = weights_of(model.parameters())});
}

TrainedModel load_trained_model(const std::string& name, const ModelOptions& options, PackedType weights,
                                const ParameterStore::Loaded& loaded) {
  ModelOrigin origin = ModelOrigin::open(name, options);
  Config config = origin.config();
  validate(config);
  auto tokenizer = tokenizer_from_json(origin.tokenizer());
  auto model = std::make_unique<LanguageModel>(config.model, tokenizer->vocab_size());
  if (const CheckpointFile* checkpoint = origin.checkpoint()) {
    // A configuration may describe a huge model, so its size is compared with the file's tensors before memory is allocated.
    index stored = 0;
    for (const StoredTensor& tensor : checkpoint->tensors()) {
      stored += tensor.path.starts_with("model/") ? tensor.shape.size() : 0;
    }
    require_input(config.lora.rank > 0 || model->parameters().parameter_count() == stored, origin.path().string(), " holds ", stored,
                  " parameters, but the model of its configuration has ", model->parameters().parameter_count());
  }
  ParameterStore& parameters = model->parameters();
  parameters.reserve();  // without initial values, because every weight is loaded
  origin.load_weights(parameters, [&](ParameterStore::Entry& entry) {
    if (loaded) {
      loaded(entry);
    }
    pack_weight(parameters, entry, weights);
  });
  config.lora = {};  // adapters are part of the weights now
  return {std::move(origin), std::move(config), std::move(tokenizer), std::move(model)};
}

}  // namespace dikkat
