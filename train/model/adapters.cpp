#include "train/model/adapters.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "autograd/base/error.h"
#include "layers/lora_config.h"
#include "train/exchange/family.h"
#include "train/model/language_model.h"
#include "train/model/low_rank.h"
#include "train/model/trained_model.h"
#include "train/system/file.h"

namespace dikkat {
namespace {

constexpr std::string_view kWeight = ".weight";
constexpr const char* kMoved =
    ". If that model has moved, give its new path with --base PATH; resume, eval, sample, chat, serve, export and merge have this option";

Digest hash_of(const ParameterStore::Entry& entry) {
  const auto* bytes = static_cast<const std::byte*>(entry.values);
  return root_hash(entry.size() * index{sizeof(float)},
                   [&](index offset, std::span<std::byte> out) { std::memcpy(out.data(), bytes + offset, out.size()); });
}

/// Hashes a parameter in a checkpoint as the overload above hashes a loaded one.
Digest hash_of(const CheckpointFile& checkpoint, const std::string& path, const Shape& shape) {
  std::vector<float> values(static_cast<std::size_t>(shape.size()));
  read_weight(checkpoint, path, shape, Weights::used, values.data());
  const auto* bytes = reinterpret_cast<const std::byte*>(values.data());
  return root_hash(shape.size() * index{sizeof(float)},
                   [&](index offset, std::span<std::byte> out) { std::memcpy(out.data(), bytes + offset, out.size()); });
}

/// Hashes the parameters' hashes in the order of their paths, so that a store's layout does not matter.
std::string join(const std::map<std::string, Digest>& parameters) {
  Sha256 all;
  for (const auto& [path, digest] : parameters) {
    all.add(std::as_bytes(std::span(path)));
    all.add(std::as_bytes(std::span(digest)));
  }
  return to_hex(all.finish());
}

/// Returns the hash that HashOfBase computes for the model in a checkpoint. The base of a classifier is hashed without its head.
std::string hash_of_model(const CheckpointFile& checkpoint, bool is_classified) {
  constexpr std::string_view kGroup = "model/";
  std::map<std::string, Digest> parameters;
  for (const StoredTensor& tensor : checkpoint.tensors()) {
    const bool is_other_head = is_classified && tensor.path == concat(kGroup, kHeadWeight);
    if (tensor.path.starts_with(kGroup) && !is_other_head) {
      parameters[tensor.path.substr(kGroup.size())] = hash_of(checkpoint, tensor.path, tensor.shape);
    }
  }
  return join(parameters);
}

/// Opens the base of adapters. A run may have a new best or newest checkpoint since the adapters were made, so this searches for the one
/// whose weights have the hash. If there is none, it opens the run's default checkpoint.
ModelOrigin open_base(const std::string& path, const std::string& hash, bool is_classified) {
  std::error_code missing;
  const bool is_run = std::filesystem::is_directory(path, missing) && !ModelFiles::is_at(path);
  const auto checkpoints = is_run ? list_checkpoints(path) : std::vector<CheckpointEntry>{};
  if (checkpoints.size() < 2) {
    return ModelOrigin::open(path);
  }
  std::optional<ModelOrigin> usual;
  try {
    usual.emplace(ModelOrigin::open(path));
    if (hash_of_model(*usual->checkpoint(), is_classified) == hash) {
      return std::move(*usual);
    }
  } catch (const InputError&) {  // another checkpoint may still match
  }
  for (auto entry = checkpoints.rbegin(); entry != checkpoints.rend(); ++entry) {
    try {
      CheckpointFile checkpoint = CheckpointFile::open(entry->path);
      if (hash_of_model(checkpoint, is_classified) == hash) {
        return ModelOrigin(std::move(checkpoint));
      }
    } catch (const InputError&) {
    }
  }
  return usual ? std::move(*usual) : ModelOrigin::open(path);
}

/// The changes that a checkpoint of adapters makes to its base.
struct Changes {
  std::map<std::string, std::pair<Shape, Shape>> layers{};  // the shapes of A and B by the path of the layer's weight
  std::set<std::string> replaced{};                         // the paths of parameters that were trained in full
};

/// Returns a checkpoint's changes to its base. Throws InputError unless it has exactly the adapters of its configuration, before any memory
/// is allocated.
Changes changes_of(const CheckpointFile& checkpoint, const Config& config) {
  require_known_groups(checkpoint);
  std::map<std::string, Shape> stored;
  for (const StoredTensor& tensor : checkpoint.tensors()) {
    if (tensor.path.starts_with("adapter/")) {
      stored[tensor.path.substr(std::string_view("adapter/").size())] = tensor.shape;
    }
  }
  // Compare the configuration with the stored tensors. This model's parameters have no memory.
  const LanguageModel model(config.model, config.model.vocab_size, config.lora);
  Changes changes;
  for (const ParameterStore::Entry* entry : model.parameters().entries()) {
    if (!entry->with_adapters) {
      continue;
    }
    const auto found = stored.find(entry->path);
    require_input(found != stored.end() && found->second == entry->shape(), checkpoint.path().string(), " has no ", entry->path,
                  " of shape ", entry->shape(), ", which its configuration describes");
    stored.erase(found);
    if (entry->role != Role::adapter) {
      changes.replaced.insert(entry->path);
      continue;
    }
    constexpr std::size_t kEnd = std::string_view(".lora_a").size();
    auto& [a, b] = changes.layers[entry->path.substr(0, entry->path.size() - kEnd) + std::string(kWeight)];
    (entry->path.ends_with(".lora_a") ? a : b) = entry->shape();
  }
  require_input(stored.empty(), checkpoint.path().string(), " has ", stored.empty() ? "" : stored.begin()->first,
                ", which the model of its configuration does not have");
  return changes;
}

LowRank read_factors(const CheckpointFile& checkpoint, const std::string& layer, const std::pair<Shape, Shape>& shapes) {
  const auto& [a, b] = shapes;
  LowRank factors{.out = b[0], .rank = a[0], .in = a[1]};
  factors.a.resize(static_cast<std::size_t>(a.size()));
  factors.b.resize(static_cast<std::size_t>(b.size()));
  read_weight(checkpoint, concat("adapter/", layer, ".lora_a"), a, Weights::used, factors.a.data());
  read_weight(checkpoint, concat("adapter/", layer, ".lora_b"), b, Weights::used, factors.b.data());
  return factors;
}

}  // namespace

void HashOfBase::add(const ParameterStore::Entry& entry) { parameters_[entry.path] = hash_of(entry); }

std::string HashOfBase::finish() const { return join(parameters_); }

void load_adapted(const CheckpointFile& checkpoint, const Config& config, ParameterStore& store, const ParameterStore::Loaded& loaded,
                  Weights weights) {
  const std::string& path = config.train.init_from;
  const std::string name = checkpoint.path().string();
  // Find the base.
  require_input(is_there(path), name, " holds adapters of ", path, ", which does not exist", kMoved);
  const auto base = [&] {
    try {
      return open_base(path, checkpoint.state().base_hash, config.model.classes > 0);
    } catch (const InputError& error) {
      fail_input(name, " holds adapters of ", path, ", which cannot be opened: ", error.what(), kMoved);
    }
  }();
  require_input(base.config().lora.rank == 0, name, " holds adapters of ", path,
                ", which holds adapters itself, expected a complete model");

  // Load and hash the base's weights. Adapters have their own parameters, or are added to the base's. Parameters that were trained in full
  // replace the base's values after these are hashed.
  const bool has_adapters = store.has_adapters();
  if (has_adapters) {
    load_adapters(checkpoint, store, weights);
  }
  Changes changes = changes_of(checkpoint, config);
  HashOfBase hash;
  base.load_weights(store, [&](ParameterStore::Entry& entry) {
    hash.add(entry);
    if (changes.replaced.erase(entry.path) > 0) {
      read_weight(checkpoint, concat("adapter/", entry.path), entry.shape(), weights, static_cast<float*>(entry.values));
    }
    if (const auto layer = changes.layers.find(entry.path); !has_adapters && layer != changes.layers.end()) {
      const LowRank factors = read_factors(checkpoint, entry.path.substr(0, entry.path.size() - kWeight.size()), layer->second);
      add_product(factors, scale_of(config.lora), static_cast<float*>(entry.values));
    }
    if (loaded) {
      loaded(entry);
    }
  });

  // Load what the base does not have: a head for labels.
  for (const std::string& path_of_new : changes.replaced) {
    ParameterStore::Entry& entry = store.entry(path_of_new);
    read_weight(checkpoint, concat("adapter/", entry.path), entry.shape(), weights, static_cast<float*>(entry.values));
    if (loaded) {
      loaded(entry);
    }
  }

  // The wording of an error depends on whether the checkpoint or --base named the path.
  const bool is_its_own = path == config_of(checkpoint)->train.init_from;
  require_input(hash.finish() == checkpoint.state().base_hash, name, " holds adapters of ", is_its_own ? path : "another model",
                is_its_own ? ", whose weights have changed" : concat(" than ", path, ", which has other weights"),
                ": expected weights with the hash ", checkpoint.state().base_hash, is_its_own ? kMoved : "");
}

void load_model(const CheckpointFile& checkpoint, const Config& config, ParameterStore& store, const ParameterStore::Loaded& loaded,
                Weights weights) {
  if (config.lora.rank > 0) {
    load_adapted(checkpoint, config, store, loaded, weights);
  } else {
    load_weights(checkpoint, store, loaded, weights);
  }
}

}  // namespace dikkat
