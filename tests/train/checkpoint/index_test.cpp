#include <gtest/gtest.h>

#include "tests/support/throws.h"
#include "tests/train/checkpoint/forged.h"
#include "tests/train/checkpoint/sample.h"

namespace dikkat {
namespace {

using testing::names;

using namespace forged;

class Index : public ::testing::Test {
 protected:
  std::string refusal_of(const std::string& bytes) {
    write_file(path_, bytes);
    return refusal(path_);
  }
  std::string refusal_with(const std::function<void(Entries&)>& change) { return refusal_of(with_index(good_, change)); }

  ScratchDirectory scratch_;
  Sample sample_;
  std::filesystem::path path_ = scratch_ / "forged.h5";
  std::string good_ = read_file(save_checkpoint(scratch_.path(), sample_.snapshot).path());
};

TEST_F(Index, TakenApartAndPutTogetherItIsTheSame) {
  EXPECT_TRUE(with_index(good_, [](Entries&) {}) == good_);
  EXPECT_TRUE(sealed(parts_of(good_)) == good_);
}

TEST_F(Index, HostileOnesAreRefusedWithAMessage) {
  for (const Case& c : hostile_cases()) {
    const std::string text = refusal_of(c.forge(good_));
    EXPECT_TRUE(names(text, {path_.string()})) << c.name;
    EXPECT_TRUE(names(text, c.parts)) << c.name;
  }
}

TEST_F(Index, EntriesThatMayBeIgnoredAreLeftOut) {
  const auto add = [](Entries& entries, bool required) {
    entries.push_back({required, "base", "gpt2", std::string(64, 'a')});
    entries.push_back({required, "state", "precision", text("bf16")});
    entries.push_back({required, "tensor", "model/scales", tensor("q8_0", 4096, 34, {32})});
    entries.push_back({required, "text", "notes", number(index{4096}) + number(index{10})});
    sort(entries);
  };
  write_file(path_, with_index(good_, [&](Entries& entries) { add(entries, false); }));
  const CheckpointFile checkpoint = CheckpointFile::open(path_);
  EXPECT_TRUE(same_bits(checkpoint.state(), sample_.snapshot.state));
  EXPECT_EQ(checkpoint.config(), sample_.snapshot.config);
  EXPECT_EQ(checkpoint.tensors().size(), sample_.snapshot.tensors.size());

  const std::string text = refusal_with([&](Entries& entries) { add(entries, true); });
  EXPECT_TRUE(names(text, {path_.string(), "newer", "base gpt2"}));

  const std::string later = refusal_with([&](Entries& entries) {
    add(entries, false);
    entry(entries, "text", "notes").required = true;
  });
  EXPECT_TRUE(names(later, {path_.string(), "newer", "text notes"})) << "the tensor before it may be ignored";
}

TEST_F(Index, OnlyUnknownEntriesDependOnTheNeed) {
  write_file(path_, with_index(good_, [](Entries& entries) {
               for (Entry& e : entries) {
                 e.required = !e.required;
               }
             }));
  EXPECT_TRUE(same_bits(CheckpointFile::open(path_).state(), sample_.snapshot.state));
  EXPECT_TRUE(names(refusal_with([](Entries& entries) {
                      entry(entries, "tensor", "model/wte.weight").required = false;
                      entry(entries, "tensor", "model/wte.weight").value = tensor("f32", 0, 60, {5, 3});
                    }),
                    {path_.string(), "model/wte.weight", "60 bytes"}));
}

TEST_F(Index, MissingEntriesHaveTheValueOfANewState) {
  write_file(path_, with_index(good_, [](Entries& entries) {
               std::erase_if(entries,
                             [](const Entry& e) { return e.name == "best_val_loss" || e.name == "overrides" || e.kind == "text"; });
             }));
  const CheckpointFile checkpoint = CheckpointFile::open(path_);
  TrainingState expected = sample_.snapshot.state;
  expected.best_val_loss = TrainingState().best_val_loss;
  expected.overrides = "";
  EXPECT_TRUE(same_bits(checkpoint.state(), expected));
  EXPECT_EQ(checkpoint.config(), "");
  EXPECT_EQ(checkpoint.tokenizer(), "");
}

TEST_F(Index, TheWriterMayBeIgnoredAndTheRestMustBeKnown) {
  std::set<std::string> ignorable;
  for (const Entry& e : entries_in(parts_of(good_).index_text)) {
    if (!e.required) {
      ignorable.insert(concat(e.kind, ' ', e.name));
    }
  }
  std::set<std::string> expected;
  for_each_field(sample_.snapshot.state, [&](const StateField& field, const auto&) {
    if (!field.required) {
      expected.insert(concat("state ", field.name));
    }
  });
  EXPECT_EQ(ignorable, expected);
  EXPECT_TRUE(expected.contains("state compiler") && !expected.contains("state step"));
}

TEST_F(Index, AGroupOfTensorsMayBeIgnoredIfItsWriterAllowsIt) {
  float scale = 2;
  const TensorView tensor{.path = "scales/wte", .type = ElementType::f32, .shape = {1}, .data = &scale};
  sample_.snapshot.tensors.push_back(tensor);
  sample_.snapshot.tensors.back().required = false;
  const ScratchDirectory scratch;
  const std::string bytes = read_file(save_checkpoint(scratch.path(), sample_.snapshot).path());
  for (const Entry& e : entries_in(parts_of(bytes).index_text)) {
    if (e.kind == "tensor") {
      EXPECT_EQ(e.required, e.name != tensor.path) << e.name;
    }
  }
}

TEST_F(Index, ATextOf129MiBIsRefused) {
  const index bytes = (index{129} << 20);
  Parts parts = parts_of(good_);
  const auto begin = kHeaderBytes + static_cast<index>(parts.image.size());
  parts.image.append(static_cast<std::size_t>(bytes), 'x');
  Entries entries = entries_in(parts.index_text);
  entry(entries, "text", "config").value = number(begin) + number(bytes);
  parts.index_text = index_of(entries);
  EXPECT_TRUE(names(refusal_of(sealed(parts)), {"config", "135,266,304", "134,217,728"}));
  parts.index_text.append(static_cast<std::size_t>(bytes), 'x');
  EXPECT_TRUE(names(refusal_of(sealed(parts)), {"134,217,728"}));
}

TEST_F(Index, EveryChangedByteIsRefusedOrHarmless) {
  const Parts parts = parts_of(good_);
  int accepted = 0;
  for (std::size_t at = 0; at < parts.index_text.size(); ++at) {
    for (const int change : {1, 0x80, 0xFF}) {
      Parts changed = parts;
      changed.index_text[at] = static_cast<char>(changed.index_text[at] ^ change);
      write_file(path_, sealed(changed));
      try {
        const CheckpointFile checkpoint = CheckpointFile::open(path_);
        for (const StoredTensor& stored : checkpoint.tensors()) {
          std::vector<std::byte> elements(static_cast<std::size_t>(stored.bytes));
          checkpoint.read(stored.path, stored.type, stored.shape, elements.data());
        }
        ++accepted;  // another value of a number, another letter of a text
      } catch (const InputError& error) {
        EXPECT_STRNE(error.what(), "");
      }
    }
  }
  EXPECT_GT(accepted, 100);
}

// The first file that every later version reads (fixtures/make-format-3.sh made it). The numbers are h5dump's.
TEST(Format3, TheFixtureLoads) {
  const CheckpointFile checkpoint =
      CheckpointFile::open(std::filesystem::path(DIKKAT_SOURCE_DIR) / "tests/train/checkpoint/fixtures/format-3.h5");
  EXPECT_EQ(checkpoint.format(), 3);
  EXPECT_EQ(checkpoint.hash(), "d490800ccfac23ffb87bf5e3e00b63c8a6b852b14bee045bd4f7ae06a7c414df");
  TrainingState state;
  state.step = 6;
  state.tokens_seen = 96;
  state.samples_seen = 12;
  state.seed = 1337;
  state.evaluation_pending = true;
  state.best_val_loss = 3.7062190771102905;
  state.best_step = 3;
  state.losses_watched = 6;
  state.loss_mean = 3.715882420539856;
  state.loss_variance = 0.00011078859540229231;
  state.corpus_fingerprint = "839f36caee979dea83975d9cd9e0659110bfc1b05e5838ac02ff41594dc9d6cf";
  state.train_tokens = 1087;
  state.val_tokens = 121;
  state.program_version = "0.1.0";
  state.compiler = "gcc 12.2.0";
  state.compiler_flags = "-O3 -g1 -DNDEBUG -march=native";
  state.instruction_set = "AVX-512";
  EXPECT_TRUE(same_bits(checkpoint.state(), state));
  EXPECT_TRUE(names(checkpoint.config(), {"[model]\n", "\nn_embd = 4\n"}));
  EXPECT_TRUE(checkpoint.tokenizer().starts_with("{")) << checkpoint.tokenizer();
  ASSERT_EQ(checkpoint.tensors().size(), 3 * 16U);
  EXPECT_EQ(checkpoint.tensors().front().path, "model/h.0.attn.c_attn.bias");
  EXPECT_EQ(checkpoint.tensors().back().path, "optimizer/v/wte.weight");
  std::vector<float> numbers(41 * 4);
  checkpoint.read("model/wte.weight", ElementType::f32, {41, 4}, numbers.data());
  EXPECT_EQ(numbers[4], 0.017207201570272446F);
  EXPECT_EQ(numbers[5], -0.03097962960600853F);
  checkpoint.read("optimizer/v/wte.weight", ElementType::f32, {41, 4}, numbers.data());
  EXPECT_EQ(numbers[3], 0.00026221491862088442F);
  EXPECT_EQ(numbers[4], 0.0021035124082118273F);
}

}  // namespace
}  // namespace dikkat
