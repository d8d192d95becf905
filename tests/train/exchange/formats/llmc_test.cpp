#include "train/exchange/formats/llmc.h"

#include <gtest/gtest.h>

#include "tests/support/throws.h"
#include "tests/train/exchange/formats/support.h"

namespace dikkat {
namespace {

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

TEST(Llmc, WhatIsWrittenIsByteForByteThatOfAnotherProgram) {
  const TemporaryFolder folder;
  write_llmc(folder.path("a"), kHeader, llmc_made(WeightType::f32));
  EXPECT_EQ(contents(folder.path("a")), contents(fixture("f32.llmc.bin")));
  write_llmc(folder.path("a"), kHeader, llmc_made(WeightType::bf16));
  EXPECT_EQ(contents(folder.path("a")), contents(fixture("bf16.llmc.bin")));
}

TEST(Llmc, ADamagedFileIsRefusedWithASentence) {
  const std::string whole = contents(fixture("f32.llmc.bin"));
  const auto error_of_file = [](const std::string& file) { return input_error_of([&] { parse_llmc(bytes_of_text(file), "f"); }); };
  const auto changed = [&](std::size_t number, std::int32_t value) {
    std::string file = whole;
    std::memcpy(file.data() + number * sizeof value, &value, sizeof value);
    return error_of_file(file);
  };
  EXPECT_EQ(error_of_file("abc"), "f: it does not begin with the number 20240326, expected a model file of llm.c");
  EXPECT_EQ(changed(0, 20240520), "f: it does not begin with the number 20240326, expected a model file of llm.c");
  EXPECT_EQ(changed(1, 1), "f: it is a model file of llm.c of version 1, expected 3 (f32) or 5 (bf16): write it anew with today's llm.c");
  EXPECT_EQ(changed(2, 0), "f: the header says max_seq_len = 0, expected 1 to 2147483647");
  EXPECT_EQ(changed(4, -1), "f: the header says layers = -1, expected 1 to 2147483647");
  EXPECT_EQ(changed(5, 4), "f: the header says 2 channels and 4 heads, expected heads to divide channels");
  EXPECT_EQ(changed(7, 2), "f: the header says padded_vocab_size = 2, expected at least vocab_size = 3");
  EXPECT_EQ(
      changed(6, 2147483646),
      "f: the file has 1680 bytes, and tensor \"wte\" (f32 [4, 2147483646]) is to begin at byte 1024: it is cut off, or its header is "
      "damaged");
  EXPECT_EQ(changed(1, 5), "f: the file has 328 bytes more than its header says");
  EXPECT_EQ(error_of_file(whole + "x"), "f: the file has 1 bytes more than its header says");
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_NE(error_of_file(whole.substr(0, size)), "") << size;
  }
}

TEST(Llmc, WhatCannotBeWrittenIsRefused) {
  const TemporaryFolder folder;
  const auto error = [&](const std::vector<NewTensor>& written, LlmcHeader header = kHeader) {
    return input_error_of([&] { write_llmc(folder.path("x"), header, written); }).substr(folder.path().size() + 1);
  };
  auto others = llmc_made(WeightType::f32);
  std::swap(others[0], others[1]);
  EXPECT_EQ(error(others), "x: tensor 1 is \"wpe\" (f32 [2, 2]), expected \"wte\" (f32 [4, 2])");
  others = llmc_made(WeightType::f32);
  others[2].type = WeightType::bf16;
  EXPECT_EQ(error(others), "x: tensor 3 is \"ln1w\" (bf16 [2, 2]), expected \"ln1w\" (f32 [2, 2])");
  others.pop_back();
  EXPECT_EQ(error(others), "x: 15 tensors were to be written, expected 16");
  EXPECT_EQ(error(llmc_made(WeightType::f16)), "x: llm.c has no type f16, expected f32 or bf16");
  LlmcHeader header = kHeader;
  header.heads = 0;
  EXPECT_EQ(error(llmc_made(WeightType::f32), header), "x: the header says heads = 0, expected 1 to 2147483647");
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

}  // namespace
}  // namespace dikkat
