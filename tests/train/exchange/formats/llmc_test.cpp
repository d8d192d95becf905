#include "train/exchange/formats/llmc.h"

#include <cstring>

#include <gtest/gtest.h>

#include "tests/support/throws.h"
#include "tests/train/exchange/formats/support.h"

namespace dikkat {
namespace {

using testing::names;

using namespace formats_test;

constexpr LlmcHeader kHeader{.max_seq_len = 2, .vocab_size = 3, .layers = 2, .heads = 1, .channels = 2, .padded_vocab_size = 4};

std::vector<NewTensor> llmc_made(WeightType type) {
  std::vector<NewTensor> made_tensors;
  for (const LlmcTensor& tensor : llmc_tensors(kHeader)) {
    made_tensors.push_back(made(tensor.name, type, tensor.shape));
  }
  return made_tensors;
}

TEST(Llmc, FilesOfBothTypesAreRead) {
  for (const auto& [name, type] : {std::pair{"f32.llmc.bin", WeightType::f32}, {"bf16.llmc.bin", WeightType::bf16}}) {
    SCOPED_TRACE(name);
    const WeightFile file = open_llmc(fixture(name));
    ASSERT_EQ(file.tensors().size(), 16U);
    expect_tensor(file, "wte", type, {4, 2});
    expect_tensor(file, "qkvw", type, {2, 6, 2});
    expect_tensor(file, "fcprojw", type, {2, 2, 8});
    expect_tensor(file, "lnfb", type, {2});
    EXPECT_EQ(file.value("max_seq_len")->integer(), 2);
    EXPECT_EQ(file.value("vocab_size")->integer(), 3);
    EXPECT_EQ(file.value("layers")->integer(), 2);
    EXPECT_EQ(file.value("heads")->integer(), 1);
    EXPECT_EQ(file.value("channels")->integer(), 2);
    EXPECT_EQ(file.value("padded_vocab_size")->integer(), 4);
  }
}

TEST(Llmc, AWrittenFileIsByteForByteThatOfAnotherProgram) {
  const TemporaryFolder folder;
  write_llmc(folder.path("a"), kHeader, llmc_made(WeightType::f32));
  EXPECT_EQ(contents(folder.path("a")), contents(fixture("f32.llmc.bin")));
  write_llmc(folder.path("a"), kHeader, llmc_made(WeightType::bf16));
  EXPECT_EQ(contents(folder.path("a")), contents(fixture("bf16.llmc.bin")));
}

TEST(Llmc, ADamagedFileIsRefusedWithASentence) {
  const std::string whole = contents(fixture("f32.llmc.bin"));
  const auto error_of_file = [](const std::string& file) { return input_error_of([&] { parse_llmc(bytes_of_text(file), "model.bin"); }); };
  const auto changed = [&](std::size_t number, std::int32_t value) {
    std::string file = whole;
    std::memcpy(file.data() + number * sizeof value, &value, sizeof value);
    return error_of_file(file);
  };
  EXPECT_TRUE(names(error_of_file("abc"), {"model.bin", "not begin", "20240326", "llm.c"}));
  EXPECT_TRUE(names(changed(0, 20240520), {"model.bin", "not begin", "20240326", "llm.c"}));
  EXPECT_TRUE(names(changed(1, 1), {"model.bin", "version 1", "3 (f32)", "5 (bf16)"}));
  EXPECT_TRUE(names(changed(2, 0), {"model.bin", "max_seq_len", "0", "1", "2147483647"}));
  EXPECT_TRUE(names(changed(4, -1), {"model.bin", "layers", "-1", "1", "2147483647"}));
  EXPECT_TRUE(names(changed(5, 4), {"model.bin", "2 channels", "4 heads"}));
  EXPECT_TRUE(names(changed(7, 2), {"model.bin", "padded_vocab_size", "2", "vocab_size", "3"}));
  EXPECT_TRUE(names(changed(6, 2147483646), {"model.bin", "1680 bytes", "\"wte\" (f32 [4, 2147483646])", "byte 1024", "cut off"}));
  EXPECT_TRUE(names(changed(1, 5), {"model.bin", "328 bytes"}));
  EXPECT_TRUE(names(error_of_file(whole + "x"), {"model.bin", "1 bytes"}));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_NE(error_of_file(whole.substr(0, size)), "") << size;
  }
}

TEST(Llmc, ModelsThatCannotBeWrittenAreRefused) {
  const TemporaryFolder folder;
  const auto error = [&](const std::vector<NewTensor>& written, LlmcHeader header = kHeader) {
    const std::string message = input_error_of([&] { write_llmc(folder.path("x"), header, written); });
    EXPECT_TRUE(names(message, {folder.path("x")}));
    return message;
  };
  auto others = llmc_made(WeightType::f32);
  std::swap(others[0], others[1]);
  EXPECT_TRUE(names(error(others), {"tensor 1", "\"wpe\" (f32 [2, 2])", "\"wte\" (f32 [4, 2])"}));
  others = llmc_made(WeightType::f32);
  others[2].type = WeightType::bf16;
  EXPECT_TRUE(names(error(others), {"tensor 3", "\"ln1w\" (bf16 [2, 2])", "\"ln1w\" (f32 [2, 2])"}));
  others.pop_back();
  EXPECT_TRUE(names(error(others), {"15 tensors", "16"}));
  EXPECT_TRUE(names(error(llmc_made(WeightType::f16)), {"llm.c", "type f16", "f32 or bf16"}));
  LlmcHeader header = kHeader;
  header.heads = 0;
  EXPECT_TRUE(names(error(llmc_made(WeightType::f32), header), {"heads", "0", "1", "2147483647"}));
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

}  // namespace
}  // namespace dikkat
