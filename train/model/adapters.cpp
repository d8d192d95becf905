#include "train/model/adapters.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <string_view>

#include "autograd/base/error.h"
#include "autograd/ops/basic.h"
#include "autograd/ops/linear.h"
#include "layers/lora.h"
#include "train/hash/sha256.h"
#include "train/model/language_model.h"
#include "train/model/trained_model.h"

namespace dikkat {
namespace {

constexpr std::string_view kWeight = ".weight";

Digest hash_of(const ParameterStore& store, const ParameterStore::Entry& entry) {
  const auto* bytes = reinterpret_cast<const std::byte*>(store.weights<float>() + entry.offset);
  return root_hash(entry.size() * index{sizeof(float)},
                   [&](index offset, std::span<std::byte> out) { std::memcpy(out.data(), bytes + offset, out.size()); });
}

/// By path, so that it does not depend on how a store is laid out.
std::string join(const std::map<std::string, Digest>& parameters) {
  Sha256 all;
  for (const auto& [path, digest] : parameters) {
    all.add(std::as_bytes(std::span(path)));
    all.add(std::as_bytes(std::span(digest)));
  }
  return to_hex(all.finish());
}

/// The two factors of a layer's adapter.
struct Factors {
  Shape shape_a, shape_b;
  std::vector<float> a, b;  // (rank, in), (out, rank)
};

/// The shapes of A and B by the path of the layer's weight. Throws InputError unless the checkpoint has exactly these, before any memory is asked for.
std::map<std::string, std::pair<Shape, Shape>> adapted_layers(const CheckpointFile& checkpoint, const Config& config) {
  require_known_groups(checkpoint);
  std::map<std::string, Shape> stored;
  for (const StoredTensor& tensor : checkpoint.tensors()) {
    if (tensor.path.starts_with("adapter/")) {
      stored[tensor.path.substr(std::string_view("adapter/").size())] = tensor.shape;
    }
  }
  const LanguageModel model(config.model, config.model.vocab_size, config.lora);  // its parameters have no memory
  std::map<std::string, std::pair<Shape, Shape>> layers;
  for (const ParameterStore::Entry* entry : model.parameters().entries()) {
    if (entry->role != Role::adapter) {
      continue;
    }
    const auto found = stored.find(entry->path);
    require_input(found != stored.end() && found->second == entry->shape(), checkpoint.path().string(), " has no ", entry->path, " of shape ",
                  entry->shape(), ", which its configuration describes");
    stored.erase(found);
    constexpr std::size_t kEnd = std::string_view(".lora_a").size();
    auto& [a, b] = layers[entry->path.substr(0, entry->path.size() - kEnd) + std::string(kWeight)];
    (entry->path.ends_with(".lora_a") ? a : b) = entry->shape();
  }
  require_input(stored.empty(), checkpoint.path().string(), " has ", stored.empty() ? "" : stored.begin()->first,
                ", which the model of its configuration does not have");
  return layers;
}

Factors read_factors(const CheckpointFile& checkpoint, const std::string& layer, const std::pair<Shape, Shape>& shapes) {
  Factors factors{.shape_a = shapes.first, .shape_b = shapes.second, .a = {}, .b = {}};
  factors.a.resize(static_cast<std::size_t>(factors.shape_a.size()));
  factors.b.resize(static_cast<std::size_t>(factors.shape_b.size()));
  checkpoint.read(concat("adapter/", layer, ".lora_a"), ElementType::f32, factors.shape_a, factors.a.data());
  checkpoint.read(concat("adapter/", layer, ".lora_b"), ElementType::f32, factors.shape_b, factors.b.data());
  return factors;
}

/// weight += scale B A.
void add_product(const Factors& factors, double factor, float* weight) {
  Tape tape{Recording::off};
  const Tensor product = scale(matmul(tape.input<float>(factors.shape_b, factors.b), tape.input<float>(factors.shape_a, factors.a)), factor);
  const float* more = product.data<float>();
  for (index i = 0; i < product.size(); ++i) {
    weight[i] += more[i];
  }
}

}  // namespace

std::string hash_of_base(const ParameterStore& store) {
  std::map<std::string, Digest> parameters;
  for (const ParameterStore::Entry* entry : store.entries()) {
    if (entry->role != Role::adapter) {
      parameters[entry->path] = hash_of(store, *entry);
    }
  }
  return join(parameters);
}

void load_adapters(const CheckpointFile& checkpoint, ParameterStore& store) {
  require_known_groups(checkpoint);
  std::vector<TensorTarget> targets;
  for (const ParameterStore::Entry* entry : store.entries()) {
    if (entry->role == Role::adapter) {
      targets.push_back({.name = entry->path, .type = ElementType::f32, .shape = entry->shape(), .data = store.weights<float>() + entry->offset});
    }
  }
  load_tensors(checkpoint, "adapter", targets);
}

void load_adapted(const CheckpointFile& checkpoint, const Config& config, ParameterStore& store, const ParameterStore::Loaded& loaded) {
  const std::string& path = config.train.init_from;
  const std::string name = checkpoint.path().string();
  const auto base = [&] {
    try {
      return ModelSource::open(path);
    } catch (const InputError& error) {
      fail_input(name, " holds adapters of ", path, ", which cannot be opened: ", error.what());
    }
  }();
  require_input(base.config().lora.rank == 0, name, " holds adapters of ", path, ", which holds adapters itself, expected a whole model");
  const bool has_adapters = std::ranges::any_of(store.entries(), [](const auto* entry) { return entry->role == Role::adapter; });
  if (has_adapters) {
    load_adapters(checkpoint, store);
  }
  const auto layers = adapted_layers(checkpoint, config);
  std::map<std::string, Digest> parameters;
  base.load_weights(store, [&](ParameterStore::Entry& entry) {
    parameters[entry.path] = hash_of(store, entry);
    if (const auto layer = layers.find(entry.path); !has_adapters && layer != layers.end()) {
      const Factors factors = read_factors(checkpoint, entry.path.substr(0, entry.path.size() - kWeight.size()), layer->second);
      add_product(factors, scale_of(config.lora), store.weights<float>() + entry.offset);
    }
    if (loaded) {
      loaded(entry);
    }
  });
  require_input(join(parameters) == checkpoint.state().base_hash, name, " holds adapters of ", path,
                ", whose weights are others now: expected those with the hash ", checkpoint.state().base_hash);
}

void load_model(const CheckpointFile& checkpoint, const Config& config, ParameterStore& store, const ParameterStore::Loaded& loaded) {
  if (config.lora.rank > 0) {
    load_adapted(checkpoint, config, store, loaded);
  } else {
    load_weights(checkpoint, store, loaded);
  }
}

}  // namespace dikkat
