#include "layers/lora.h"

#include <cmath>
#include <cstring>

#include <gtest/gtest.h>

#include "optim/adamw.h"
#include "tests/layers/tiny_gpt.h"

namespace dikkat {
namespace {

const TransformerConfig kAdapted{.n_layer = 2, .n_head = 2, .n_embd = 16, .block_size = 8, .vocab_size = 11, .dropout = 0.1};

/// A model with adapters, whose other weights are frozen.
struct Adapted {
  ParameterStore store;
  Gpt gpt;

  explicit Adapted(const LoraConfig& lora, const TransformerConfig& config = kAdapted) : gpt(Scope(store, &lora), config) {
    for (const ParameterStore::Entry* entry : store.entries()) {
      if (entry->role != Role::adapter) {
        store.freeze(entry->path);
      }
    }
    store.allocate(1);
  }

  Tensor loss(Pass& pass) const {
    const Tensor logits = gpt(pass, pass.tape.input<std::int32_t>({2, 8}, some_tokens(16, 11, 1)));
    return cross_entropy(logits, pass.tape.input<std::int32_t>({2, 8}, some_tokens(16, 11, 2)));
  }
  std::vector<float> logits() const {
    Tape tape(Recording::off);
    Pass pass{.tape = tape};
    const Tensor y = gpt(pass, tape.input<std::int32_t>({2, 8}, some_tokens(16, 11, 1)));
    return {y.data<float>(), y.data<float>() + y.size()};
  }
  void train(index steps, Recompute recompute = Recompute::none) {
    AdamW adamw(store, {});
    Tape tape;
    for (index step = 1; step <= steps; ++step) {
      Pass pass{.tape = tape, .training = true, .seed = 5, .step = static_cast<std::uint64_t>(step), .recompute = recompute};
      tape.backward(loss(pass));
      tape.reset();
      adamw.step(step, 1e-2, 1);
    }
  }
  std::vector<float> values(std::string_view path) const {
    const ParameterStore::Entry& entry = store.entry(path);
    const float* first = store.weights<float>() + entry.offset;
    return {first, first + entry.size()};
  }
};

std::vector<std::string> adapters_of(const LoraConfig& lora) {
  std::vector<std::string> paths;
  const Adapted model(lora);
  for (const ParameterStore::Entry* entry : model.store.entries()) {
    if (entry->path.starts_with("h.1.") && entry->role == Role::adapter) {
      paths.push_back(entry->path + concat(entry->shape()));
    }
  }
  return paths;
}

TEST(Lora, BeginsAsTheModelWithoutAdapters) {
  const TinyGpt plain(kAdapted);
  const Adapted adapted({.rank = 3});
  EXPECT_EQ(adapted.logits(), plain.logits(some_tokens(16, 11, 1), 2));
}

TEST(Lora, TrainsOnlyTheAdapters) {
  Adapted model({.rank = 3, .dropout = 0.2});
  const auto before = model.values("h.0.attn.c_attn.weight");
  Tape tape;
  Pass pass{.tape = tape};
  const float first = *model.loss(pass).data<float>();
  tape.reset();
  model.train(20);
  const float last = *model.loss(pass).data<float>();
  EXPECT_LT(last, first - 0.1F);
  EXPECT_EQ(model.values("h.0.attn.c_attn.weight"), before);
  for (const ParameterStore::Entry* entry : model.store.trainable()) {
    EXPECT_EQ(entry->role, Role::adapter) << entry->path;
  }
}

TEST(Lora, IsTheModelWhoseWeightsHaveTheProductOfTheFactors) {
  const LoraConfig lora{.rank = 3, .alpha = 5.0};
  Adapted model(lora);
  model.train(20);
  TinyGpt merged(kAdapted);
  for (ParameterStore::Entry* entry : merged.store.entries()) {
    auto values = model.values(entry->path);
    const std::string layer = entry->path.substr(0, entry->path.rfind('.'));
    if (entry->role == Role::hidden && is_target(lora, entry->path)) {
      const auto a = model.values(layer + ".lora_a"), b = model.values(layer + ".lora_b");
      const auto in = static_cast<std::size_t>(entry->shape()[1]);
      for (std::size_t i = 0; i < values.size(); ++i) {
        double sum = 0;
        for (std::size_t r = 0; r < 3; ++r) {
          sum += double{b[i / in * 3 + r]} * a[r * in + i % in];
        }
        values[i] += static_cast<float>(5.0 / 3 * sum);
      }
    }
    std::memcpy(merged.store.weights<float>() + entry->offset, values.data(), values.size() * sizeof(float));
  }
  const auto adapted = model.logits(), plain = merged.logits(some_tokens(16, 11, 1), 2);
  ASSERT_EQ(adapted.size(), plain.size());
  float most = 0;
  for (std::size_t i = 0; i < plain.size(); ++i) {
    EXPECT_NEAR(adapted[i], plain[i], 1e-5) << i;
    most = std::max(most, std::abs(plain[i] - TinyGpt(kAdapted).logits(some_tokens(16, 11, 1), 2)[i]));
  }
  EXPECT_GT(most, 0.01) << "training changes the logits";
}

TEST(Lora, ActivationCheckpointingGivesTheSameBits) {
  const LoraConfig lora{.rank = 2, .dropout = 0.2};
  Adapted none(lora), cheap(lora), block(lora);
  none.train(3);
  cheap.train(3, Recompute::cheap);
  block.train(3, Recompute::block);
  for (const char* path : {"h.0.attn.c_attn.lora_a", "h.1.mlp.c_proj.lora_b"}) {
    EXPECT_EQ(none.values(path), cheap.values(path)) << path;
    EXPECT_EQ(none.values(path), block.values(path)) << path;
  }
}

TEST(Lora, TargetsAreLayersByKindOrPattern) {
  using Paths = std::vector<std::string>;
  EXPECT_EQ(adapters_of({.rank = 2, .targets = {"attention"}}), (Paths{"h.1.attn.c_attn.lora_a[2, 16]", "h.1.attn.c_attn.lora_b[48, 2]",
                                                                       "h.1.attn.c_proj.lora_a[2, 16]", "h.1.attn.c_proj.lora_b[16, 2]"}));
  EXPECT_EQ(adapters_of({.rank = 2, .targets = {"feed_forward"}}), (Paths{"h.1.mlp.c_fc.lora_a[2, 16]", "h.1.mlp.c_fc.lora_b[64, 2]",
                                                                          "h.1.mlp.c_proj.lora_a[2, 64]", "h.1.mlp.c_proj.lora_b[16, 2]"}));
  EXPECT_EQ(adapters_of({.rank = 2, .targets = {"h.*.attn.c_attn.weight", "nothing"}}),
            (Paths{"h.1.attn.c_attn.lora_a[2, 16]", "h.1.attn.c_attn.lora_b[48, 2]"}));
  EXPECT_EQ(adapters_of({.rank = 2}).size(), 8U);
}

TEST(Lora, ScalesByAlphaOverTheRank) {
  EXPECT_EQ(scale_of({.rank = 8}), 2) << "alpha is twice the rank";
  EXPECT_EQ(scale_of({.rank = 8, .alpha = 4.0}), 0.5);
  EXPECT_EQ(scale_of({.rank = 16, .alpha = 4.0, .rank_stabilized = true}), 1);
}

}  // namespace
}  // namespace dikkat
