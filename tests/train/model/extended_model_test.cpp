#include "train/model/extended_model.h"

#include <gtest/gtest.h>

#include "tests/support/temporary_folder.h"
#include "train/text/tokenizer_kinds.h"

namespace dikkat {
namespace {

constexpr std::string_view kOld = "the lamp turns and the ships go by at night and the lamp turns\n";
constexpr std::string_view kNew = "evler evlerden evlerin göller göllerden göllerin evler göller\n";

/// A saved model whose matrices have 7 rows more than its tokenizer has tokens.
struct ExtendedModel : ::testing::Test {
  TrainedModel old_model(bool tied) {
    const std::string_view documents[] = {kOld};
    const auto tokenizer = make_tokenizer({.kind = "bpe", .vocab_size = 270}, documents);
    Config config;
    config.model.n_layer = 2;
    config.model.n_head = 2;
    config.model.n_embd = 8;
    config.model.block_size = 270 + 7;  // a table of positions as large as those of tokens
    config.model.tie_embeddings = tied;
    config.model.value_embeddings = ValueEmbeddings::alternate;
    config.model.vocab_size = tokenizer->vocab_size() + 7;
    config.tokenizer.kind = "bpe";
    LanguageModel model(config.model, tokenizer->vocab_size());
    model.parameters().allocate(5);
    const std::string name = tied ? "tied" : "untied";
    const SavedCheckpoint saved = save_model(folder / name, model, *tokenizer, config);
    return load_trained_model(saved.path().string());
  }
  static TokenizerExtension extension_of(const TrainedModel& model, index add) {
    TokenizerExtender extender(*model.tokenizer, add);
    extender.read(kNew);
    return extender.extend();
  }

  TemporaryFolder folder;
};

void expect_extended(const TrainedModel& old, const TrainedModel& now, const TokenizerExtension& extension, std::size_t tables) {
  std::size_t found = 0;
  for (const ParameterStore::Entry* entry : now.model->parameters().entries()) {
    SCOPED_TRACE(entry->path);
    const ParameterStore::Entry& from = old.model->parameters().entry(entry->path);
    const auto* before = static_cast<const float*>(from.values);
    const auto* after = static_cast<const float*>(entry->values);
    const bool is_table = entry->path == "wte.weight" || entry->path == "lm_head.weight" || entry->path.ends_with("value_embedding.weight");
    if (!is_table) {
      ASSERT_EQ(entry->shape(), from.shape());
      EXPECT_TRUE(std::equal(before, before + from.size(), after));
      continue;
    }
    ++found;
    const index width = entry->shape()[1], added = std::ssize(extension.pieces);
    EXPECT_TRUE(std::equal(before, before + extension.first * width, after));
    for (index i = 0; i < added; ++i) {
      const auto& pieces = extension.pieces[static_cast<std::size_t>(i)];
      for (index column = 0; column < width; ++column) {
        double sum = 0;
        for (const Token piece : pieces) {
          sum += static_cast<double>(before[piece * width + column]);
        }
        EXPECT_EQ(after[(extension.first + i) * width + column], static_cast<float>(sum / static_cast<double>(pieces.size())));
      }
    }
    if (from.shape()[0] > extension.first + added) {  // padding that no new token has taken
      const index rest = (extension.first + added) * width;
      EXPECT_TRUE(std::equal(before + rest, before + from.size(), after + rest));
    }
  }
  EXPECT_EQ(found, tables);
}

TEST_F(ExtendedModel, HasTheMeansOfPiecesAsRows) {
  for (const bool tied : {true, false}) {
    const TrainedModel old = old_model(tied);
    const index size = old.tokenizer->vocab_size();
    for (const index add : {3, 7, 12}) {
      SCOPED_TRACE(add);
      const TokenizerExtension extension = extension_of(old, add);
      const TrainedModel now = extended(old_model(tied), extension_of(old, add));
      EXPECT_EQ(now.tokenizer->vocab_size(), size + add);
      EXPECT_EQ(now.model->vocab_size(), std::max(size + 7, size + add)) << "padding is used first";
      EXPECT_EQ(now.config.model.vocab_size, now.model->vocab_size());
      expect_extended(old, now, extension, tied ? 2 : 3);
    }
  }
}

TEST_F(ExtendedModel, KnowsWhichMatricesHaveRowsOfTokens) {
  EXPECT_EQ(token_tables(old_model(true).model->config()).size(), 2U);
  EXPECT_EQ(token_tables(old_model(false).model->config()).size(), 3U);
  TransformerConfig plain;
  plain.vocab_size = plain.block_size;
  EXPECT_EQ(token_tables(with_defaults(plain)), std::vector<std::string>{"wte.weight"});
}

}  // namespace
}  // namespace dikkat
