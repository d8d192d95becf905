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

Factors read_factors(const CheckpointFile& checkpoint, const std::string& layer, const ParameterStore::Entry& weight, index rank) {
  Factors factors{.shape_a = {rank, weight.shape()[1]}, .shape_b = {weight.shape()[0], rank}, .a = {}, .b = {}};
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
  std::map<std::string, Digest> parameters;
  base.load_weights(store, [&](ParameterStore::Entry& entry) {
    parameters[entry.path] = hash_of(store, entry);
    const bool is_matrix = entry.path.ends_with(kWeight) && entry.role == Role::hidden;
    if (!has_adapters && is_matrix && is_target(config.lora, entry.path)) {
      const Factors factors = read_factors(checkpoint, entry.path.substr(0, entry.path.size() - kWeight.size()), entry, config.lora.rank);
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
