#include <algorithm>
#include <map>
#include <vector>

#include <gtest/gtest.h>

#include "tests/layers/tiny_encoder_decoder.h"
#include "tests/layers/training_step.h"
#include "tests/support/compare.h"

namespace dikkat {
namespace {

/// Keeps each gradient's value at the time when it is reported as complete.
class Keeper : public GradientWatcher {
 public:
  explicit Keeper(ParameterStore& store) {
    for (ParameterStore::Entry* entry : store.trainable()) {
      entries_[&entry->gradient] = entry;
    }
  }
  void gradient_complete(ParameterGradient& gradient) override {
    const ParameterStore::Entry& entry = *entries_.at(&gradient);
    const auto* first = static_cast<const float*>(gradient.data);
    EXPECT_TRUE(kept.emplace(entry.path, std::vector<float>(first, first + entry.size())).second)
        << entry.path << " is reported as complete twice";
    order.push_back(entry.path);
  }

  std::map<std::string, std::vector<float>> kept;
  std::vector<std::string> order;

 private:
  std::map<const ParameterGradient*, ParameterStore::Entry*> entries_;
};

/// Runs two passes, the second of which is watched.
template <class Loss>
void expect_each_complete_once(ParameterStore& store, Recompute recompute, Loss&& loss_of) {
  Tape tape;
  Keeper keeper(store);
  for (const bool is_watched : {false, true}) {
    tape.watch_gradients(is_watched ? &keeper : nullptr);
    Pass pass{.tape = tape, .training = true, .seed = 5, .recompute = recompute};
    tape.backward(loss_of(pass));
    tape.reset();
  }
  EXPECT_EQ(keeper.kept.size(), store.trainable().size());
  for (ParameterStore::Entry* entry : store.trainable()) {
    EXPECT_EQ(entry->gradient.uses, 0) << entry->path;
    const auto* first = static_cast<const float*>(entry->gradient.data);
    EXPECT_TRUE(testing::same_bits(keeper.kept[entry->path], std::vector<float>(first, first + entry->size())))
        << entry->path << " was written after it was complete";
  }
  const auto place = [&](const char* path) { return std::find(keeper.order.begin(), keeper.order.end(), path) - keeper.order.begin(); };
  if (store.trainable().front()->path.starts_with("h.")) {
    EXPECT_LT(place("h.1.mlp.c_proj.weight"), place("h.0.mlp.c_proj.weight")) << "the last block is complete before the first one";
  }
  EXPECT_GE(place("wte.weight"), std::ssize(keeper.order) - 4) << "a shared table is among the last";
}

constexpr Recompute kAll[] = {Recompute::none, Recompute::cheap, Recompute::block};

TEST(WatchedGradients, OfGptsAreCompleteOnce) {
  for (const TransformerConfig& config : {kTrainingConfig, kTrainingLlama, kTrainingGemma, kTrainingOlmo, kTrainingNanochat}) {
    for (const Recompute recompute : kAll) {
      TinyGpt tiny(config);
      const auto tokens = some_tokens(2 * config.block_size, config.vocab_size, 1),
                 targets = some_tokens(2 * config.block_size, config.vocab_size, 2);
      expect_each_complete_once(tiny.store, recompute, [&](Pass& pass) {
        const Tensor logits = tiny.gpt(pass, pass.tape.input<std::int32_t>({2, config.block_size}, tokens));
        return cross_entropy(logits, pass.tape.input<std::int32_t>({2, config.block_size}, targets));
      });
    }
  }
}

TEST(WatchedGradients, OfEncoderDecodersAreCompleteOnce) {
  for (const Recompute recompute : kAll) {
    TinyEncoderDecoder tiny(kTinyEncoderDecoder);
    expect_each_complete_once(tiny.store, recompute, [&](Pass& pass) { return tiny.loss(pass); });
  }
}

}  // namespace
}  // namespace dikkat
