#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <set>
#include <span>
#include <sstream>

#include <gtest/gtest.h>

#include "tests/support/throws.h"
#include "tests/train/checkpoint/sample.h"
#include "train/checkpoint/load.h"
#include "train/checkpoint/save.h"

namespace dikkat {
namespace {

using testing::names;

void expect_gives_back(const CheckpointFile& checkpoint, const Snapshot& snapshot) {
  EXPECT_TRUE(same_bits(checkpoint.state(), snapshot.state));
  EXPECT_EQ(checkpoint.config(), snapshot.config);
  EXPECT_EQ(checkpoint.tokenizer(), snapshot.tokenizer);
  for (const TensorView& tensor : snapshot.tensors) {
    const auto bytes = static_cast<std::size_t>(bytes_of(tensor.type, tensor.shape));
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
  EXPECT_EQ(checkpoint.format(), 3);
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

TEST(RoundTrip, ThousandsOfTensors) {  // a save once took time by the cube of their number
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
  for_each_field(state, [&](const StateField& field, const auto&) {
    ++fields;
    TrainingState other = state;
    for_each_field(other, [&](const StateField& other_field, auto& value) {
      if (field.name != other_field.name) {
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
    EXPECT_FALSE(same_bits(state, other)) << field.name;
    EXPECT_TRUE(same_bits(state, state)) << field.name;
  });
  EXPECT_GT(fields, 10);
}

TEST(SameBits, DigitsOfOneFieldAreNotThoseOfTheNext) {
  TrainingState one;
  TrainingState other;
  one.step = 1;
  one.tokens_seen = 23;
  other.step = 12;
  other.tokens_seen = 3;
  EXPECT_FALSE(same_bits(one, other));
}

TEST(LoadTensors, WantsExactlyTheNamesAndShapes) {
  const ScratchDirectory scratch;
  const CheckpointFile checkpoint = CheckpointFile::open(save_checkpoint(scratch.path(), Sample().snapshot).path());
  std::vector<float> a(15), b(16), c(1), d(1, 42.0F);
  std::vector<TensorView> good{{"optimizer/v/wte.weight", ElementType::f32, {5, 3}, a.data()},
                               {"optimizer/v/h.0.attn.c_attn.weight", ElementType::f32, {2, 2, 2, 2}, b.data()},
                               {"optimizer/v/scale", ElementType::f32, {}, c.data()},
                               {"optimizer/v/none", ElementType::f32, {0, 4}, nullptr}};
  load_tensors(checkpoint, "optimizer/v", good);
  EXPECT_EQ(b, Sample().numbers["optimizer/v/h.0.attn.c_attn.weight"]);

  for (TensorView& tensor : good) {
    tensor.path.replace(0, std::string_view("optimizer/v").size(), "model");
  }
  const auto refused = [&](const std::vector<TensorView>& tensors) {
    std::fill(c.begin(), c.end(), 42.0F);
    const std::string text = text_of<InputError>([&] { load_tensors(checkpoint, "model", tensors); });
    EXPECT_EQ(c[0], 42.0F) << "written before all was checked";
    return text;
  };
  std::vector<TensorView> more = good, fewer = good, other = good;
  more.push_back({"model/lm_head.weight", ElementType::f32, {1}, d.data()});
  EXPECT_TRUE(names(refused(more), {"lacks", "/model/lm_head.weight"}));
  fewer.pop_back();
  EXPECT_TRUE(names(refused(fewer), {"/model/none", "not have"}));
  other[0].shape = {3, 5};
  EXPECT_TRUE(names(refused(other), {"[5, 3]", "[3, 5]"}));
  other = good;
  other[1].type = ElementType::i32;
  EXPECT_TRUE(names(refused(other), {"f32", "i32"}));
}

TEST(Save, RefusesNamesThatCannotBeStored) {
  const ScratchDirectory scratch;
  for (const char* name : {"", ".", "a//b", "a/", "wte.weight", "wte.weight/a", "x\n", "\x1B[2J"}) {
    Sample sample;
    sample.add(concat("model/", name), {1});
    const std::string text = text_of<Error>([&] { save_checkpoint(scratch.path(), sample.snapshot); });
    EXPECT_NE(text, "") << name;
    EXPECT_TRUE(std::string(name).starts_with("wte.weight") || names(text, {concat("model/", name), "path"})) << text;
  }
  EXPECT_TRUE(names_in(scratch.path()).empty());
}

TEST(Save, RefusesMoreTensorsThanHdf5HasTimeFor) {
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
  EXPECT_TRUE(names(text, {"step-000000007.h5", "other contents", "not changed"}));
  EXPECT_TRUE(read_file(first.path()) == bytes);
  EXPECT_EQ(names_in(scratch.path()).size(), 1U);
}

TEST(Save, NamesAMissingFolder) {
  const std::string text = text_of<Error>([] { save_checkpoint("/nonexistent/checkpoints", Sample().snapshot); });
  EXPECT_TRUE(names(text, {"/nonexistent/checkpoints/step-000000007.h5", "open", "No such file or directory"}));
}

/// The standard output of a shell command.
std::string output_of(const std::string& command) {
  std::string text;
  FILE* pipe = ::popen(command.c_str(), "r");
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) {
    text += static_cast<char>(c);
  }
  ::pclose(pipe);
  return text;
}

TEST(RoundTrip, TensorsOfEveryTypeAndAnyDepth) {
  const ScratchDirectory scratch;
  Sample sample;
  std::vector<std::uint64_t> numbers(12);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = 0x9E3779B97F4A7C15 * (i + 1);
  }
  for (const std::string_view name : Names<ElementType>::of) {
    const ElementType type = value_named<ElementType>(name).value();
    sample.snapshot.tensors.push_back({concat("adapter/block.0/", name), type, {3, 4}, numbers.data()});
  }
  const CheckpointFile checkpoint = CheckpointFile::open(save_checkpoint(scratch.path(), sample.snapshot).path());
  expect_gives_back(checkpoint, sample.snapshot);
  for (const std::string_view name : Names<ElementType>::of) {
    std::vector<std::uint64_t> loaded(numbers.size());
    const ElementType type = value_named<ElementType>(name).value();
    const std::vector<TensorView> one{{concat("adapter/block.0/", name), type, {3, 4}, loaded.data()}};
    EXPECT_NE(text_of<InputError>([&] { load_tensors(checkpoint, "adapter/block.0", one); }), "");  // there are others
  }
}

TEST(RoundTrip, TheOrderOfTensorsDoesNotMatter) {
  const ScratchDirectory one, two;
  Sample sample;
  const std::string first = read_file(save_checkpoint(one.path(), sample.snapshot).path());
  std::reverse(sample.snapshot.tensors.begin(), sample.snapshot.tensors.end());
  EXPECT_TRUE(read_file(save_checkpoint(two.path(), sample.snapshot).path()) == first);
}

TEST(RoundTrip, ExpectedBytesAreEnoughAndNotManyMore) {
  const ScratchDirectory scratch;
  for (const int tensors : {0, 1, 300}) {
    Sample sample;
    for (int i = 0; i < tensors; ++i) {
      sample.add(concat("optimizer/any/h.", i, ".", std::string(60, 'x')), {3});
    }
    sample.snapshot.state.overrides = std::string(100'000, 'x');
    const index expected = expected_bytes(sample.snapshot);
    const index bytes = save_checkpoint(scratch.path(), sample.snapshot).bytes();
    EXPECT_LE(bytes, expected);
    EXPECT_LT(expected - bytes, 250'000 + 2500 * tensors);
    std::filesystem::remove(scratch / "step-000000007.h5");
  }
}

TEST(ForeignReaders, H5dumpListsTheFile) {
  const ScratchDirectory scratch;
  const std::string path = save_checkpoint(scratch.path(), Sample().snapshot).path().string();
  const std::string header = output_of("h5dump -H " + path);
  for (const char* expected : {"GROUP \"model\"", "GROUP \"optimizer\"", "GROUP \"state\"", "DATASET \"h.0.attn.c_attn.weight\"",
                               "DATASPACE  SIMPLE { ( 5, 3 ) / ( 5, 3 ) }", "H5T_IEEE_F32LE", "USERBLOCK_SIZE 4096"}) {
    EXPECT_NE((header + output_of("h5dump -B -H " + path)).find(expected), std::string::npos) << expected;
  }
  EXPECT_TRUE(names(output_of("h5dump -d /config " + path), {"[train]"}));
}

std::string hex_of(const void* data, std::size_t bytes) {
  std::string text;
  for (const std::byte byte : std::span(static_cast<const std::byte*>(data), bytes)) {
    constexpr const char* kDigits = "0123456789abcdef";
    text += kDigits[std::to_integer<unsigned>(byte) >> 4];
    text += kDigits[std::to_integer<unsigned>(byte) & 15];
  }
  return text;
}

TEST(ForeignReaders, H5pySeesNamesShapesValuesAndState) {
  const ScratchDirectory scratch;
  Sample sample;
  std::vector<std::int64_t> integers{-1, index{1} << 60};
  sample.snapshot.tensors.push_back({"optimizer/any/integers", ElementType::i64, {2, 1}, integers.data()});
  const std::string path = save_checkpoint(scratch.path(), sample.snapshot).path().string();

  // The script prints a line for each dataset: path, type, shape, bytes as hexadecimal digits.
  const std::string script =
      "import h5py, sys\n"
      "def tell(name, d):\n"
      "    if isinstance(d, h5py.Dataset):\n"
      "        text = h5py.check_string_dtype(d.dtype)\n"
      "        value = d.asstr()[()].encode() if text else d[()].tobytes()\n"
      "        print(name, 'text' if text else d.dtype, list(d.shape), value.hex())\n"
      "h5py.File(sys.argv[1], 'r').visititems(tell)\n";
  write_file(scratch / "tell.py", script);
  const std::string told = output_of("/usr/bin/python3 " + (scratch / "tell.py").string() + ' ' + path);

  // Collect the expected lines: tensors, texts, and the fields of the state.
  std::set<std::string> expected;
  for (const TensorView& tensor : sample.snapshot.tensors) {
    if (tensor.type == ElementType::f32) {
      expected.insert(concat(tensor.path, " float32 ", tensor.shape, ' ',
                             hex_of(tensor.data, static_cast<std::size_t>(bytes_of(tensor.type, tensor.shape)))));
    }
  }
  expected.insert(concat("optimizer/any/integers int64 [2, 1] ", hex_of(integers.data(), 16)));
  expected.insert(concat("config text [] ", hex_of(sample.snapshot.config.data(), sample.snapshot.config.size())));
  const std::string tokenizer = sample.snapshot.tokenizer.c_str();  // h5py ends a text at its first NUL
  expected.insert(concat("tokenizer text [] ", hex_of(tokenizer.data(), tokenizer.size())));
  for_each_field(sample.snapshot.state, [&](const auto& field, const auto& value) {
    using Value = std::remove_cvref_t<decltype(value)>;
    if constexpr (std::is_same_v<Value, std::string>) {
      expected.insert(concat("state/", field.name, " text [] ", hex_of(value.data(), value.size())));
    } else {
      const char* type = std::is_same_v<Value, index>    ? "int64"
                         : std::is_same_v<Value, double> ? "float64"
                         : std::is_same_v<Value, bool>   ? "uint8"
                                                         : "uint64";
      expected.insert(concat("state/", field.name, ' ', type, " [] ", hex_of(&value, sizeof value)));
    }
  });
  // Compare the lines in any order.
  std::set<std::string> lines;
  std::istringstream stream(told);
  for (std::string line; std::getline(stream, line);) {
    lines.insert(line);
  }
  EXPECT_EQ(lines, expected);
}

}  // namespace
}  // namespace dikkat
