#include "train/model/pack_weights.h"

#include <cstring>

#include <gtest/gtest.h>

#include "autograd/tape/tape.h"
#include "tests/support/compare.h"
#include "tests/support/temporary_folder.h"
#include "train/exchange/formats/convert.h"
#include "train/model/trained_model.h"
#include "train/text/byte_tokenizer.h"

namespace dikkat {
namespace {

using testing::relative_error;

constexpr PackedType kTypes[] = {PackedType::bf16, PackedType::q8, PackedType::q4};

/// Rows of 40 numbers end within a block of 32; the vocabulary is large enough for the fused head.
TransformerConfig config_of(ModelKind kind, bool tied) {
  TransformerConfig c;
  c.kind = kind;
  c.n_layer = 2;
  c.n_head = 4;
  c.n_embd = 40;
  c.block_size = 32;
  c.vocab_size = 1100;
  c.tie_embeddings = tied;
  c.value_embeddings = ValueEmbeddings::alternate;
  return c;
}

WeightType stored_as(PackedType type) {
  return type == PackedType::bf16 ? WeightType::bf16 : type == PackedType::q8 ? WeightType::q8_0 : WeightType::q4_0;
}

/// Replaces the matrices of a model by those that a file of this type would hold.
void round_weights(ParameterStore& store, PackedType type) {
  for (ParameterStore::Entry* entry : store.entries()) {
    if (entry->shape().rank() != 2 || entry->path == "wpe.weight" || entry->path.ends_with("value_gate.weight")) {
      continue;
    }
    float* weight = store.weights<float>() + entry->offset;
    const index cols = entry->shape()[1];
    const index whole = round_up(cols, layout_of(stored_as(type)).elements);
    std::vector<float> row(static_cast<std::size_t>(whole));
    std::vector<std::byte> bytes(static_cast<std::size_t>(4 * whole));
    for (index i = 0; i < entry->shape()[0]; ++i) {
      std::copy_n(weight + i * cols, cols, row.begin());
      encode(stored_as(type), row.data(), whole, bytes.data());
      const WeightTensor tensor{
          .name = "row", .type = stored_as(type), .type_name = "", .shape = {whole}, .elements = whole, .data = bytes.data()};
      read_f32(tensor, 0, cols, weight + i * cols);
    }
  }
}

std::vector<Token> tokens(index count) {
  std::vector<Token> ids;
  for (index i = 0; i < count; ++i) {
    ids.push_back(static_cast<Token>(i * 37 % 1100));
  }
  return ids;
}

std::vector<float> logits(const LanguageModel& model, index time) {
  Tape tape(Recording::off);
  Pass pass{.tape = tape};
  Tensor y;
  if (model.is_gpt()) {
    y = model.gpt()(pass, tape.input<Token>({1, time}, tokens(time)));
  } else {
    const EncoderDecoder& both = model.encoder_decoder();
    const auto encoded = both.encode(pass, tape.input<Token>({1, time}, tokens(time)));
    y = both.logits(pass, both.features(pass, tape.input<Token>({1, time}, tokens(time)), encoded));
  }
  return {y.data<float>(), y.data<float>() + y.size()};
}

double loss(const LanguageModel& model) {
  Tape tape(Recording::off);
  Pass pass{.tape = tape};
  Batch batch;
  batch.reshape(2, {.cols = 32});
  batch.inputs = tokens(64);
  batch.targets = tokens(65);
  batch.targets.erase(batch.targets.begin());
  batch.weights.assign(64, 1);
  return static_cast<double>(*model.loss(pass, batch, 64).data<float>());
}

// Few rows are multiplied without rounding activations to more than 16 bits; many rows as bf16 if the processor has such products.
TEST(PackWeights, GivesTheModelOfTheRoundedWeights) {
  for (const PackedType type : kTypes) {
    for (const bool is_gpt : {true, false}) {
      const TransformerConfig config = config_of(is_gpt ? ModelKind::gpt : ModelKind::encoder_decoder, is_gpt);
      LanguageModel packed(config, 1100), rounded(config, 1100), plain(config, 1100);
      for (LanguageModel* model : {&packed, &rounded, &plain}) {
        model->parameters().allocate(3);
      }
      pack_weights(packed.parameters(), type);
      round_weights(rounded.parameters(), type);
      SCOPED_TRACE(name_of(type));
      EXPECT_LE(relative_error(logits(packed, 5), logits(rounded, 5)), 1e-4);
      EXPECT_LE(relative_error(logits(packed, 30), logits(rounded, 30)), 2e-2);
      EXPECT_GT(relative_error(logits(plain, 5), logits(rounded, 5)), 1e-4) << "rounding changes something";
      if (is_gpt) {
        EXPECT_NEAR(loss(packed), loss(rounded), 2e-3);
      }
    }
  }
}

TEST(PackWeights, KeepsNothingThatCouldBeTrainedOrSaved) {
  LanguageModel model(config_of(ModelKind::gpt, true), 1100);
  model.parameters().allocate(3);
  pack_weights(model.parameters(), PackedType::q8);
  EXPECT_THROW(model.parameters().weights<float>(), Error);
  EXPECT_FALSE(model.parameters().entry("wte.weight").record.needs_gradient);
  EXPECT_EQ(model.parameters().entry("wpe.weight").record.packing, PackedType::f32);
  EXPECT_EQ(model.parameters().entry("ln_f.weight").record.packing, PackedType::f32);
}

TEST(LoadTrainedModel, PacksWeightsAsTheyAreRead) {
  const TemporaryFolder folder;
  const ByteTokenizer tokenizer;
  Config config;
  config.model = config_of(ModelKind::gpt, true);
  config.tokenizer.kind = ByteTokenizer::kKind;
  LanguageModel model(config.model, tokenizer.vocab_size());
  model.parameters().allocate(7);
  const std::string saved = save_model(folder.path(), model, tokenizer, config).path().string();
  for (const PackedType type : kTypes) {
    const TrainedModel loaded = load_trained_model(saved, {}, type);
    LanguageModel expected(config.model, tokenizer.vocab_size());
    expected.parameters().allocate(7);
    pack_weights(expected.parameters(), type);
    EXPECT_EQ(logits(*loaded.model, 3), logits(expected, 3)) << name_of(type);
  }
}

// So the weights of a GGUF file of q8_0 are exactly those that --weights q8 computes with.
TEST(PackWeights, RoundsNumbersThatAreRoundedToThemselves) {
  for (const PackedType type : kTypes) {
    LanguageModel once(config_of(ModelKind::gpt, true), 1100), twice(config_of(ModelKind::gpt, true), 1100);
    once.parameters().allocate(3);
    twice.parameters().allocate(3);
    round_weights(once.parameters(), type);
    round_weights(twice.parameters(), type);
    round_weights(twice.parameters(), type);
    const ParameterStore& a = once.parameters();
    EXPECT_EQ(std::memcmp(a.weights<float>(), twice.parameters().weights<float>(), static_cast<std::size_t>(a.slab_size()) * sizeof(float)),
              0);
  }
}

}  // namespace
}  // namespace dikkat
