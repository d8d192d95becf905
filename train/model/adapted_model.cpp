#include "train/model/adapted_model.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "autograd/base/error.h"
#include "train/config/render.h"
#include "train/exchange/model_files.h"
#include "train/exchange/peft_files.h"
#include "train/model/adapters.h"

namespace dikkat {
namespace {

ModelOrigin open_adapters(const std::string& source) {
  require_model_at(source);
  require_input(!PeftFiles::is_at(source) && !ModelFiles::is_at(source), source,
                " is another program's model, expected a run that trained adapters with dikkat (lora.rank above 0): serve it by itself");
  ModelOrigin origin = ModelOrigin::open(source);
  require_input(origin.config().lora.rank > 0, origin.path().string(),
                " is a complete model, expected a run that trained adapters (lora.rank above 0): serve it by itself");
  return origin;
}

void require_same_weights(const ModelOrigin& adapters, const SharedBase& base) {
  const std::string& wanted = adapters.checkpoint()->state().base_hash;
  require_input(wanted == base.hash, adapters.path().string(), " holds adapters of ", adapters.config().train.init_from,
                ", whose weights have the hash ", wanted, ", but the base ", base.model.origin.path().string(),
                " has other weights, with the hash ", base.hash, ": serve it with its own base, or by itself");
}

void require_same_config(const ModelOrigin& adapters, const SharedBase& base) {
  std::string list;
  for (const ConfigDifference& one : differences(adapters.config(), base.model.config, "model")) {
    if (one.path != "model.dropout") {  // it counts only in training
      append_to(list, concat(list.empty() ? "" : ", ", one.path, " is ", one.ours, " (base: ", one.theirs, ')'));
    }
  }
  require_input(list.empty(), adapters.path().string(), " holds adapters of a model with another configuration than the base ",
                base.model.origin.path().string(), ": ", list, "; serve it by itself, or give --context if only model.block_size differs");
}

void require_same_tokenizer(const ModelOrigin& adapters, const SharedBase& base) {
  const bool is_same = adapters.tokenizer() == base.model.origin.tokenizer() ||
                       tokenizer_from_json(adapters.tokenizer())->to_json() == base.model.tokenizer->to_json();
  require_input(is_same, adapters.path().string(), " holds adapters of a model with another tokenizer than the base ",
                base.model.origin.path().string(), ", expected the same one: serve it by itself");
}

/// Allocates memory for the parameters that are stored with the adapters. All others use the base's memory.
Pages place(const ParameterStore& store, const ParameterStore& base) {
  constexpr std::size_t kAlignment = 64;
  const auto bytes_of = [](const ParameterStore::Entry& entry) {
    return static_cast<std::size_t>(round_up(entry.size() * index{sizeof(float)}, index{kAlignment}));
  };
  std::size_t size = 0;
  for (const ParameterStore::Entry* entry : store.entries()) {
    size += entry->with_adapters ? bytes_of(*entry) : 0;
  }
  Pages memory(size, "adapters");
  std::size_t offset = 0;
  for (ParameterStore::Entry* entry : store.entries()) {
    entry->record.needs_gradient = false;
    if (entry->with_adapters) {
      entry->values = memory.data() + offset;
      entry->record.data = entry->values;
      offset += bytes_of(*entry);
    } else {
      const TensorRecord& shared = base.entry(entry->path).record;
      entry->record.data = shared.data;
      entry->record.packing = shared.packing;
      entry->record.keeps_f32 = shared.keeps_f32;
    }
  }
  return memory;
}

void read_adapters(const CheckpointFile& checkpoint, const ParameterStore& store) {
  require_known_groups(checkpoint);
  std::vector<TensorView> views;
  for (const ParameterStore::Entry* entry : store.entries()) {
    if (entry->with_adapters) {
      views.push_back({.path = concat("adapter/", entry->path), .type = ElementType::f32, .shape = entry->shape(), .data = entry->values});
    }
  }
  load_tensors(checkpoint, "adapter", views, [&](std::size_t i) {
    read_weight(checkpoint, views[i].path, views[i].shape, Weights::used, static_cast<float*>(views[i].data));
  });
}

}  // namespace

SharedBase load_shared_base(const std::string& source, const ModelOptions& options, PackedType weights) {
  HashOfBase hash;
  TrainedModel model = load_trained_model(source, options, weights, [&](const ParameterStore::Entry& entry) { hash.add(entry); });
  require_input(model.origin.config().lora.rank == 0 && model.origin.base() == nullptr, model.origin.path().string(),
                " holds adapters itself, expected the complete model that the adapters were trained on");
  return {std::move(model), hash.finish()};
}

AdaptedModel::AdaptedModel(const std::string& source, const SharedBase& base) : origin_(open_adapters(source)) {
  require_same_weights(origin_, base);
  require_same_config(origin_, base);
  require_same_tokenizer(origin_, base);
  model_ = std::make_unique<LanguageModel>(base.model.config.model, base.model.tokenizer->vocab_size(), origin_.config().lora);
  memory_ = place(model_->parameters(), base.model.model->parameters());
  read_adapters(*origin_.checkpoint(), model_->parameters());
}

}  // namespace dikkat
