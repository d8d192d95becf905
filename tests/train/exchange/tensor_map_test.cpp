#include "train/exchange/tensor_map.h"

#include <gtest/gtest.h>

#include "train/exchange/peft_files.h"
#include "train/model/language_model.h"

// The order of rows in a tensor that holds several of ours, in another order.
namespace dikkat {
namespace {

/// A Phi-3 with 2/1 heads of 8 numbers, of which 6 rotate.
TransformerConfig phi3() {
  return {.n_layer = 1,
          .n_head = 2,
          .n_kv_head = 1,
          .n_embd = 16,
          .n_hidden = 20,
          .block_size = 8,
          .vocab_size = 30,
          .bias = false,
          .positions = Positions::rope,
          .norm = NormKind::rms_norm,
          .rope_share = 0.75,
          .activation = Activation::silu,
          .gated = true};
}

/// Makes each number of a matrix the number of its row.
void number_rows(ParameterStore& store, const std::string& path) {
  const ParameterStore::Entry& entry = store.entry(path);
  const index cols = entry.shape()[1];
  for (index i = 0; i < entry.size(); ++i) {
    store.weights<float>()[entry.offset + i] = static_cast<float>(i / cols);
  }
}

/// The first number of each row of a tensor with this name.
std::vector<index> rows_in(const std::vector<MappedTensor>& map, const ParameterStore& store, const std::string& name) {
  const std::vector<NewTensor> tensors = new_tensors(map, store, [](const MappedTensor&) { return WeightType::f32; });
  const auto found = std::ranges::find(tensors, name, &NewTensor::name);
  if (found == tensors.end()) {
    ADD_FAILURE() << "there is no " << name;
    return {};
  }
  const index rows = found->shape[0], cols = found->shape[1];
  std::vector<float> values(static_cast<std::size_t>(rows * cols));
  found->values(0, rows * cols, values.data());
  std::vector<index> first;
  for (index row = 0; row < rows; ++row) {
    first.push_back(static_cast<index>(values[static_cast<std::size_t>(row * cols)]));
  }
  return first;
}

// In the file, a head of q or k has its rotated rows first, in two halves; here a pair is 4 rows apart. Values are in the same order.
const std::vector<index> kOrder{0,  1,  2,  4,  5,  6,  3,  7,    // query head 0: row 3 and row 7 do not rotate
                                8,  9,  10, 12, 13, 14, 11, 15,   // query head 1
                                16, 17, 18, 20, 21, 22, 19, 23,   // the key head
                                24, 25, 26, 27, 28, 29, 30, 31};  // the value head

TEST(TensorMap, PutsPartsOfOneNameIntoOneTensor) {
  LanguageModel model(phi3(), 30, with_defaults(LoraConfig{.rank = 2}));
  ParameterStore& store = model.parameters();
  store.allocate(1);
  number_rows(store, "h.0.attn.c_attn.weight");
  number_rows(store, "h.0.attn.c_attn.lora_b");
  number_rows(store, "h.0.mlp.c_fc.weight");
  const Family& family = *family_named("phi3");

  // Both formats have q, k and v in one tensor, and gate and up in another.
  const auto map = map_tensors(family.tensors, model.config(), store);
  EXPECT_EQ(rows_in(map, store, "model.layers.0.self_attn.qkv_proj.weight"), kOrder);
  EXPECT_EQ(rows_in(map_tensors(family.gguf_tensors, model.config(), store), store, "blk.0.attn_qkv.weight"), kOrder);
  std::vector<index> rows;
  for (index row = 0; row < 40; ++row) {
    rows.push_back(row);
  }
  EXPECT_EQ(rows_in(map, store, "model.layers.0.mlp.gate_up_proj.weight"), rows);

  // Adapters have one A, and rows of B as those of the matrix.
  const auto adapters = map_adapters(family.tensors, model.config(), store, kPeftNames);
  const std::string module = "base_model.model.model.layers.0.self_attn.qkv_proj";
  EXPECT_EQ(rows_in(adapters, store, module + ".lora_B.weight"), kOrder);
  EXPECT_EQ(std::ranges::count(adapters, module + ".lora_A.weight", &MappedTensor::name), 1);
  EXPECT_EQ(std::ssize(adapters), 2 * 4) << "qkv_proj, o_proj, gate_up_proj, down_proj";

  // The way back.
  const auto qkv = std::ranges::find(map, "model.layers.0.self_attn.qkv_proj.weight", &MappedTensor::name);
  ASSERT_NE(qkv, map.end());
  const MappedRows back = rows_of(*qkv);
  EXPECT_EQ(back.first, 0);
  EXPECT_EQ(back.count, 32);
  EXPECT_EQ(back.order, kOrder);
}

TEST(TensorMap, LeavesRowsThatAreInOrder) {
  TransformerConfig config = phi3();
  config.rope_share = 1;
  const LanguageModel model(config, 30);
  for (const MappedTensor& tensor : map_tensors(family_named("llama")->tensors, model.config(), model.parameters())) {
    if (tensor.name.ends_with("k_proj.weight")) {
      const MappedRows rows = rows_of(tensor);
      EXPECT_EQ(rows.first, 16);
      EXPECT_EQ(rows.count, 8);
      EXPECT_TRUE(rows.order.empty());
    }
  }
}

}  // namespace
}  // namespace dikkat
