// Greedy sampling, token for token as the course's document 002 does it with PyTorch (make_documents_fixture.py).

#include "train/sample/generate.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "autograd/base/parallel.h"
#include "tests/golden/fixture.h"
#include "tests/support/without_cache.h"

namespace dikkat::generate_test {
namespace {

struct GoldenGenerate : ::testing::Test {
  GoldenGenerate() {
    store.allocate(0);
    for (ParameterStore::Entry* entry : store.entries()) {
      const std::vector<double> values = fixture.read("generate/weights/" + entry->path);
      require(static_cast<index>(values.size()) == entry->size(), entry->path, ": ", values.size(), " values, expected ", entry->size());
      std::transform(values.begin(), values.end(), store.weights<float>() + entry->offset, [](double x) { return static_cast<float>(x); });
    }
  }

  index number(const std::string& name) const { return static_cast<index>(fixture.attribute("generate/" + name)); }
  std::vector<Token> ids(const std::string& name, index i) const { return fixture.read_ints(concat("generate/", name, "_", i)); }

  WithThreads one{1};  // a model this small gains nothing from a second thread, and on a busy machine waits for it
  Fixture fixture{golden("documents.h5")};
  ParameterStore store;
  Gpt gpt{Scope(store),
          {.n_layer = number("n_layer"),
           .n_head = number("n_head"),
           .n_embd = number("n_embd"),
           .block_size = number("block_size"),
           .vocab_size = number("vocab_size"),
           .bias = number("bias") == 1,
           .qkv_bias = number("qkv_bias") == 1,
           .tie_embeddings = number("tie_embeddings") == 1}};
};

TEST_F(GoldenGenerate, GivesPyTorchsTokens) {
  ASSERT_GE(number("prompts"), 1);
  for (index i = 0; i < number("prompts"); ++i) {
    const std::vector<Token> expected = ids("generated", i);
    const auto count = static_cast<index>(expected.size());
    ASSERT_GT(count, number("block_size")) << "the text must outgrow the context";
    const std::vector<Token> prompt = ids("prompt", i);
    SampleOptions options{.max_new_tokens = count, .temperature = 0};
    // PyTorch drops one token at a time from a full context, and generate() a quarter, so they agree until then.
    EXPECT_EQ(testing::generate_without_cache(gpt, number("vocab_size"), prompt, options, 1), expected) << "prompt " << i;
    options.max_new_tokens = 1 + std::max<index>(number("block_size") - std::ssize(prompt), 0);
    const std::vector<Token> first(expected.begin(), expected.begin() + options.max_new_tokens);
    EXPECT_EQ(generate(gpt, {.size = number("vocab_size")}, prompt, options).at(0).tokens, first) << "prompt " << i;
  }
}

TEST_F(GoldenGenerate, ReadsOnlyTheEndOfAPromptThatIsTooLong) {
  const index last = number("prompts") - 1;
  std::vector<Token> prompt = ids("prompt", last);
  ASSERT_GT(static_cast<index>(prompt.size()), number("block_size"));
  prompt.erase(prompt.begin(), prompt.end() - number("block_size"));
  const std::vector<Token> expected = ids("generated", last);
  const SampleOptions options{.max_new_tokens = 1, .temperature = 0};
  EXPECT_EQ(generate(gpt, {.size = number("vocab_size")}, prompt, options).at(0).tokens.at(0), expected.at(0));
}

}  // namespace
}  // namespace dikkat::generate_test
