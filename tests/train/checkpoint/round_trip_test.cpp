#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <span>

#include <gtest/gtest.h>

#include "tests/train/checkpoint/sample.h"
#include "train/checkpoint/load.h"
#include "train/checkpoint/save.h"

namespace dikkat {
namespace {

void expect_gives_back(const CheckpointFile& checkpoint, const Snapshot& snapshot) {
  EXPECT_TRUE(same_bits(checkpoint.state(), snapshot.state));
  EXPECT_EQ(checkpoint.config(), snapshot.config);
  EXPECT_EQ(checkpoint.tokenizer(), snapshot.tokenizer);
  for (const TensorView& tensor : snapshot.tensors) {
    const auto bytes = static_cast<std::size_t>(bytes_of(tensor.type, tensor.shape).value());
    std::vector<std::byte> data(bytes, std::byte{99});
    checkpoint.read(tensor.path, tensor.type, tensor.shape, data.data());
    EXPECT_TRUE(std::ranges::equal(data, std::span(static_cast<const std::byte*>(tensor.data), bytes))) << tensor.path;
  }
}

TEST(RoundTrip, GivesBackEveryBit) {
  const ScratchDirectory scratch(ScratchDirectory::On::disk);
  const Sample sample(7);
  const SavedCheckpoint saved = save_checkpoint(scratch.path(), sample.snapshot);
  EXPECT_EQ(saved.path(), scratch / "step-000000007.h5");
  EXPECT_EQ(names_in(scratch.path()), std::set<std::string>{"step-000000007.h5"});
  const CheckpointFile checkpoint = CheckpointFile::open(saved.path());
  EXPECT_EQ(checkpoint.bytes(), saved.bytes());
  EXPECT_EQ(checkpoint.bytes(), static_cast<index>(std::filesystem::file_size(saved.path())));
  EXPECT_EQ(checkpoint.tensors().size(), 12U);
  expect_gives_back(checkpoint, sample.snapshot);
}

TEST(RoundTrip, EmptyTextsAndNoTensors) {
  const ScratchDirectory scratch;
  Snapshot snapshot;
  snapshot.state.random_algorithm = "";
  const CheckpointFile checkpoint = CheckpointFile::open(save_checkpoint(scratch.path(), snapshot).path());
  expect_gives_back(checkpoint, snapshot);
  EXPECT_TRUE(checkpoint.tensors().empty());
}

TEST(RoundTrip, SeveralHashChunksAndManyTensors) {
  const ScratchDirectory scratch(ScratchDirectory::On::disk);
  Sample sample(1234567890);  // ten digits
  sample.add("model/large", {1000, 1001});
  for (int i = 0; i < 300; ++i) {
    sample.add(concat("optimizer/v/h.", i, ".ln_1.weight"), {3});
  }
  const SavedCheckpoint saved = save_checkpoint(scratch.path(), sample.snapshot);
  EXPECT_EQ(saved.path().filename(), "step-1234567890.h5");
  EXPECT_GT(saved.bytes(), 3 * kHashChunkBytes);
  expect_gives_back(CheckpointFile::open(saved.path()), sample.snapshot);
}

TEST(RoundTrip, ThousandsOfTensors) {  // a save took time by the cube of their number: 80 s for these, and now 1.3
  const ScratchDirectory scratch;
  Sample sample(1);
  for (int i = 0; i < 6000; ++i) {
    sample.add(concat("optimizer/m/h.", i, ".ln_1.weight"), {2});
  }
  const std::clock_t start = std::clock();
  const SavedCheckpoint saved = save_checkpoint(scratch.path(), sample.snapshot);
  EXPECT_LT(static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC, 20) << "seconds of processor time";
  expect_gives_back(CheckpointFile::open(saved.path()), sample.snapshot);
}

TEST(RoundTrip, EqualStateGivesEqualBytes) {
  const ScratchDirectory one, two;
  const std::string first = read_file(save_checkpoint(one.path(), Sample(7).snapshot).path());
  Sample disturbing(8);
  disturbing.add("model/large", {300, 300});
  save_checkpoint(one.path(), disturbing.snapshot);
  const std::string second = read_file(save_checkpoint(two.path(), Sample(7).snapshot).path());
  EXPECT_TRUE(first == second);
}

TEST(RoundTrip, ListsTensorsByGroupAndName) {
  const ScratchDirectory scratch;
  const CheckpointFile checkpoint = CheckpointFile::open(save_checkpoint(scratch.path(), Sample().snapshot).path());
  std::string list;
  for (const StoredTensor& tensor : checkpoint.tensors()) {
    if (tensor.path.starts_with("optimizer/m/")) {
      append_to(list, concat(tensor.path, ' ', tensor.shape, '\n'));
    }
  }
  EXPECT_EQ(
      list,
      "optimizer/m/h.0.attn.c_attn.weight [2, 2, 2, 2]\noptimizer/m/none [0, 4]\noptimizer/m/scale []\noptimizer/m/wte.weight [5, 3]\n");
}

TEST(SameBits, SeesEveryField) {
  const TrainingState state = Sample().snapshot.state;
  int fields = 0;
  for_each_field(state, [&](const char* name, const auto&) {
    ++fields;
    TrainingState other = state;
    for_each_field(other, [&](const char* other_name, auto& value) {
      if (std::strcmp(name, other_name) != 0) {
        return;
      }
      using Value = std::remove_reference_t<decltype(value)>;
      if constexpr (std::is_same_v<Value, std::string>) {
        value += '.';
      } else if constexpr (std::is_same_v<Value, double>) {
        value = std::bit_cast<double>(std::bit_cast<std::uint64_t>(value) ^ 1);  // another NaN
      } else if constexpr (std::is_same_v<Value, bool>) {
        value = !value;
      } else {
        ++value;
      }
    });
    EXPECT_FALSE(same_bits(state, other)) << name;
    EXPECT_TRUE(same_bits(state, state)) << name;
  });
  EXPECT_GT(fields, 10);
}

TEST(LoadTensors, WantsExactlyTheNamesAndShapes) {
  const ScratchDirectory scratch;
  const CheckpointFile checkpoint = CheckpointFile::open(save_checkpoint(scratch.path(), Sample().snapshot).path());
  std::vector<float> a(15), b(16), c(1), d(1, 42.0F);
  const std::vector<TensorTarget> good{{"wte.weight", ElementType::f32, {5, 3}, a.data()},
                                       {"h.0.attn.c_attn.weight", ElementType::f32, {2, 2, 2, 2}, b.data()},
                                       {"scale", ElementType::f32, {}, c.data()},
                                       {"none", ElementType::f32, {0, 4}, nullptr}};
  load_tensors(checkpoint, "optimizer/v", good);
  EXPECT_EQ(b, Sample().numbers["optimizer/v/h.0.attn.c_attn.weight"]);

  const auto refused = [&](std::vector<TensorTarget> targets) {
    std::fill(c.begin(), c.end(), 42.0F);
    const std::string text = text_of<InputError>([&] { load_tensors(checkpoint, "model", targets); });
    EXPECT_EQ(c[0], 42.0F) << "written before all was checked";
    return text;
  };
  std::vector<TensorTarget> more = good, fewer = good, other = good;
  more.push_back({"lm_head.weight", ElementType::f32, {1}, d.data()});
  EXPECT_NE(refused(more).find("lacks tensor /model/lm_head.weight"), std::string::npos);
  fewer.pop_back();
  EXPECT_NE(refused(fewer).find("holds tensor /model/none, which the model does not have"), std::string::npos);
  other[0].shape = {3, 5};
  EXPECT_NE(refused(other).find("has shape [5, 3], the model expects [3, 5]"), std::string::npos);
  other = good;
  other[1].type = ElementType::i32;
  EXPECT_NE(refused(other).find("has elements of type f32, expected i32"), std::string::npos);
}

TEST(Save, RefusesNamesThatCannotBeStored) {
  const ScratchDirectory scratch;
  for (const char* name : {"a/b", "", ".", "wte.weight"}) {
    Sample sample;
    sample.add(concat("model/", name), {1});
    EXPECT_NE(text_of<Error>([&] { save_checkpoint(scratch.path(), sample.snapshot); }), "") << name;
  }
  EXPECT_TRUE(names_in(scratch.path()).empty());
}

TEST(Save, RefusesMoreTensorsThanReadersHaveTimeFor) {
  const ScratchDirectory scratch;
  Sample sample(1);
  for (int i = 0; i < 12'500; ++i) {
    sample.add(concat("model/h.", i), {1});
  }
  EXPECT_THROW(save_checkpoint(scratch.path(), sample.snapshot), Error);
  EXPECT_TRUE(names_in(scratch.path()).empty());
}

TEST(Save, TakesTheSameStepAgainOnlyWithTheSameContents) {
  const ScratchDirectory scratch;
  Sample sample;
  const SavedCheckpoint first = save_checkpoint(scratch.path(), sample.snapshot);
  const std::string bytes = read_file(first.path());
  save_checkpoint(scratch.path(), sample.snapshot);
  sample.numbers["model/scale"][0] += 1;
  const std::string text = text_of<Error>([&] { save_checkpoint(scratch.path(), sample.snapshot); });
  EXPECT_NE(text.find("step-000000007.h5: there is another file of this name, with other contents"), std::string::npos) << text;
  EXPECT_TRUE(read_file(first.path()) == bytes);
  EXPECT_EQ(names_in(scratch.path()).size(), 1U);
}

TEST(Save, NamesAMissingFolder) {
  const std::string text = text_of<Error>([] { save_checkpoint("/nonexistent/checkpoints", Sample().snapshot); });
  EXPECT_EQ(text, "cannot save /nonexistent/checkpoints/step-000000007.h5: open failed: No such file or directory");
}

/// Standard output of a shell command.
std::string output_of(const std::string& command) {
  std::string text;
  FILE* pipe = ::popen(command.c_str(), "r");
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) {
    text += static_cast<char>(c);
  }
  ::pclose(pipe);
  return text;
}

TEST(ForeignReaders, H5dumpListsTheFile) {
  if (std::system("h5dump --version > /dev/null 2>&1") != 0) {
    GTEST_SKIP() << "h5dump is not installed (package hdf5-tools)";
  }
  const ScratchDirectory scratch;
  const std::string path = save_checkpoint(scratch.path(), Sample().snapshot).path().string();
  const std::string header = output_of("h5dump -H " + path);
  for (const char* expected : {"GROUP \"model\"", "GROUP \"optimizer\"", "GROUP \"state\"", "DATASET \"h.0.attn.c_attn.weight\"",
                               "DATASPACE  SIMPLE { ( 5, 3 ) / ( 5, 3 ) }", "H5T_IEEE_F32LE", "USERBLOCK_SIZE 4096"}) {
    EXPECT_NE((header + output_of("h5dump -B -H " + path)).find(expected), std::string::npos) << expected;
  }
  EXPECT_NE(output_of("h5dump -d /config " + path).find("[train]"), std::string::npos);
}

TEST(ForeignReaders, H5pyReadsTheNumbers) {
  if (std::system("/usr/bin/python3 -c 'import h5py' > /dev/null 2>&1") != 0) {
    GTEST_SKIP() << "h5py is not installed (package python3-h5py)";
  }
  const ScratchDirectory scratch;
  const std::string path = save_checkpoint(scratch.path(), Sample().snapshot).path().string();
  const std::string script = "import h5py; f = h5py.File('" + path +
                             "', 'r'); print(f['optimizer/m/wte.weight'].shape, f['state/train_tokens'][()], f['config'].asstr()[()])";
  EXPECT_EQ(output_of("/usr/bin/python3 -c \"" + script + "\""), "(5, 3) 1099511627776 [train]\nseed = 1\n\n");
}

}  // namespace
}  // namespace dikkat
