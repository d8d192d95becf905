#include "train/model/adapted_model.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include <gtest/gtest.h>

#include "tests/support/numbers.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/throws.h"
#include "train/model/adapters.h"
#include "train/model/pack_weights.h"
#include "train/text/bpe_tokenizer.h"
#include "train/text/byte_tokenizer.h"

namespace dikkat {
namespace {

using testing::names;

/// A model with gated feed-forwards, grouped keys and stacked q, k and v.
Config base_config() {
  Config config;
  config.model.n_layer = 2;
  config.model.n_head = 4;
  config.model.n_kv_head = 2;
  config.model.n_embd = 64;
  config.model.block_size = 96;
  config.model.positions = Positions::rope;
  config.model.activation = Activation::silu;
  config.model.gated = true;
  config.tokenizer.kind = ByteTokenizer::kKind;
  return config;
}

/// The logits of a prompt, followed by those of tokens that are read one by one.
std::vector<float> logits(const Gpt& model) {
  std::vector<float> all;
  Tape tape(Recording::off);
  KeyValueCache cache = model.cache(1);
  for (const index time : {40, 3, 1, 1}) {
    std::vector<Token> tokens;
    for (index i = 0; i < time; ++i) {
      tokens.push_back(static_cast<Token>((i * 37 + time) % 256));
    }
    Pass pass{.tape = tape};
    const Tensor y = model.logits(pass, model.features(pass, tape.input<Token>({1, time}, tokens), cache));
    all.insert(all.end(), y.data<float>(), y.data<float>() + y.size());
    tape.reset();
  }
  return all;
}

double largest_difference(const std::vector<float>& a, const std::vector<float>& b) {
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    most = std::max(most, std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i])));
  }
  return a.size() == b.size() ? most : HUGE_VAL;
}

struct AdaptedModels : ::testing::Test {
  /// Saves a base, and returns its path.
  std::string save_base(const char* name, std::uint64_t seed) const {
    LanguageModel model(base_config().model, tokenizer.vocab_size());
    model.parameters().allocate(seed);
    return save_model(folder / name, model, tokenizer, base_config()).path().string();
  }
  /// Saves adapters that change much, and returns their path.
  std::string save_adapters(const char* name, const LoraConfig& lora, std::uint64_t seed, Config config = base_config(),
                            const Tokenizer* other = nullptr) const {
    config.lora = lora;
    config.train.init_from = base_path;
    LanguageModel model(config.model, tokenizer.vocab_size(), lora);
    model.parameters().allocate(seed);
    for (ParameterStore::Entry* entry : model.parameters().entries()) {
      if (entry->with_adapters) {
        std::ranges::copy(testing::numbers(entry->size(), seed, -0.2F, 0.2F), static_cast<float*>(entry->values));
      }
    }
    TrainingState state;
    state.base_hash = load_shared_base(base_path).hash;
    return save_model(folder / name, model, other != nullptr ? *other : tokenizer, config, state).path().string();
  }
  std::string refusal(const std::string& source, const SharedBase& base) const {
    return input_error_of([&] { AdaptedModel(source, base); });
  }

  TemporaryFolder folder;
  ByteTokenizer tokenizer;
  std::string base_path = save_base("base", 7);
  LoraConfig all{.rank = 4}, attention{.rank = 3, .alpha = 12, .targets = {"attention"}};
  LoraConfig with_head{.rank = 2, .modules_to_save = {"embedding", "head", "h.0.attn.c_proj.weight"}};
  std::string first = save_adapters("first", all, 1), second = save_adapters("second", attention, 2);
  std::string third = save_adapters("third", with_head, 3);
};

TEST_F(AdaptedModels, HaveTheBitsOfModelsWithTheirOwnMemory) {
  for (const PackedType type : {PackedType::f32, PackedType::bf16, PackedType::q8, PackedType::q4}) {
    SCOPED_TRACE(name_of(type));
    const SharedBase base = load_shared_base(base_path, {}, type);
    const AdaptedModel one(first, base), two(second, base), three(third, base);
    for (const AdaptedModel* adapted : {&one, &two, &three}) {
      const Config config = adapted->origin().config();
      LanguageModel own(config.model, tokenizer.vocab_size(), config.lora);
      own.parameters().reserve();
      load_model(*adapted->origin().checkpoint(), config, own.parameters(),
                 [&](ParameterStore::Entry& entry) { pack_weight(own.parameters(), entry, entry.with_adapters ? PackedType::f32 : type); });
      EXPECT_EQ(logits(adapted->gpt()), logits(own.gpt()));
    }
    EXPECT_EQ(logits(base.model.model->gpt()), logits(load_trained_model(base_path, {}, type).model->gpt())) << "the base stays itself";
    EXPECT_GT(largest_difference(logits(one.gpt()), logits(two.gpt())), 1e-2) << "the adapters matter";
    EXPECT_GT(largest_difference(logits(one.gpt()), logits(base.model.model->gpt())), 1e-2);
  }
}

TEST_F(AdaptedModels, AgreeWithTheModelThatTheAdaptersAreAddedTo) {
  const SharedBase base = load_shared_base(base_path);
  for (const std::string& path : {first, second, third}) {
    const std::vector<float> found = logits(AdaptedModel(path, base).gpt());
    EXPECT_LE(largest_difference(found, logits(load_trained_model(path).model->gpt())), 1e-5);
  }
}

TEST_F(AdaptedModels, TakeMemoryOnlyForTheirAdapters) {
  const SharedBase base = load_shared_base(base_path, {}, PackedType::q8);
  const AdaptedModel one(first, base), two(second, base);
  const auto parameters_of = [&](const LoraConfig& lora) {
    return LanguageModel(base_config().model, 256, lora).parameters().parameter_count();
  };
  const index own = parameters_of(all) - parameters_of({});
  EXPECT_GE(one.bytes(), static_cast<std::size_t>(own) * sizeof(float));
  EXPECT_LE(one.bytes(), static_cast<std::size_t>(own) * sizeof(float) + 64 * 32);
  EXPECT_LT(two.bytes(), one.bytes());
  // What is trained in full has memory of its own, in f32.
  const AdaptedModel three(third, base);
  EXPECT_GT(three.bytes(), (256 * 64 + 64 * 64) * sizeof(float));
  EXPECT_FALSE(Tensor(three.gpt().head()).is_packed());
  EXPECT_EQ(Tensor(one.gpt().head()).packed().data, Tensor(base.model.model->gpt().head()).packed().data);
  EXPECT_EQ(Tensor(two.gpt().head()).packed().data, Tensor(base.model.model->gpt().head()).packed().data);
}

TEST_F(AdaptedModels, UseTheMovingAverageIfTheRunKeepsOne) {
  // The first adapters again, with the values of others as their average.
  const CheckpointFile checkpoint = CheckpointFile::open(first);
  const std::string others = save_adapters("others", all, 9);
  const CheckpointFile averages = CheckpointFile::open(others);
  std::vector<std::vector<float>> values;
  std::vector<TensorView> tensors;
  for (const StoredTensor& tensor : checkpoint.tensors()) {
    const std::string average = "optimizer/average" + tensor.path.substr(tensor.path.find('/'));
    for (const auto& [file, path] : {std::pair(&checkpoint, tensor.path), std::pair(&averages, average)}) {
      values.emplace_back(static_cast<std::size_t>(tensor.shape.size()));
      file->read(tensor.path, ElementType::f32, tensor.shape, values.back().data());
      tensors.push_back({.path = path, .type = ElementType::f32, .shape = tensor.shape, .data = values.back().data()});
    }
  }
  std::filesystem::create_directory(folder / "averaged");
  const std::string averaged =
      save_checkpoint(folder / "averaged",
                      {.state = checkpoint.state(), .config = checkpoint.config(), .tokenizer = checkpoint.tokenizer(), .tensors = tensors})
          .path()
          .string();
  const SharedBase base = load_shared_base(base_path);
  EXPECT_EQ(logits(AdaptedModel(averaged, base).gpt()), logits(AdaptedModel(others, base).gpt()));
  EXPECT_NE(logits(AdaptedModel(averaged, base).gpt()), logits(AdaptedModel(first, base).gpt()));
}

TEST_F(AdaptedModels, RefuseWhatDoesNotBelongTogether) {
  const SharedBase base = load_shared_base(base_path), other = load_shared_base(save_base("other", 8));
  EXPECT_TRUE(names(refusal(first, other), {first, other.model.origin.path().string(), base.hash, other.hash, base_path}));
  EXPECT_TRUE(names(refusal(base_path, base), {base_path, "lora.rank"}));
  EXPECT_TRUE(names(refusal(folder / "nothing", base), {folder / "nothing"}));
  EXPECT_TRUE(names(input_error_of([&] { load_shared_base(first); }), {first}));

  Config longer = base_config();
  longer.model.block_size = 128;
  longer.model.dropout = 0.5;
  const std::string refused = refusal(save_adapters("longer", all, 3, longer), base);
  EXPECT_TRUE(names(refused, {"model.block_size", "128", "96"}));
  EXPECT_EQ(refused.find("dropout"), std::string::npos);

  std::vector<std::string> bytes;
  for (int byte = 0; byte < 256; ++byte) {
    bytes.emplace_back(1, static_cast<char>(byte));
  }
  const BpeTokenizer of_bytes(BpeVocabulary{.bpe = Bpe(bytes, {})});
  Config with_bpe = base_config();
  with_bpe.tokenizer.kind = BpeTokenizer::kKind;
  EXPECT_TRUE(names(refusal(save_adapters("bpe", all, 4, with_bpe, &of_bytes), base), {"tokenizer"}));
}

}  // namespace
}  // namespace dikkat
