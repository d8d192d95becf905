#include "train/data/tokens/token_shards.h"

#include <gtest/gtest.h>

#include "tests/support/temporary_folder.h"

namespace dikkat {
namespace {

using testing::names;

template <class Int>
std::string bytes_of_ids(const std::vector<Int>& values) {
  return std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(Int));
}

/// Writes a file as llm.c's data_common.py does.
template <class Int>
std::string shard(std::int32_t magic, std::int32_t version, const std::vector<Int>& tokens) {
  std::vector<std::int32_t> header(256);
  header[0] = magic;
  header[1] = version;
  header[2] = static_cast<std::int32_t>(tokens.size());
  return bytes_of_ids(header) + bytes_of_ids(tokens);
}

std::vector<Token> all_of(const TokenStore& store) {
  std::vector<Token> tokens(static_cast<std::size_t>(store.size()));
  store.read(0, store.size(), tokens.data());
  return tokens;
}

using Ids16 = std::vector<std::uint16_t>;
using Ids32 = std::vector<std::uint32_t>;

class TokenShards : public ::testing::Test {
 protected:
  TokenStore open(const std::vector<std::string>& contents, index vocab_size = 50257, std::optional<Token> separator = 50256) {
    std::vector<std::string> paths;
    for (const std::string& bytes : contents) {
      paths.push_back(folder_.write(concat(paths.size(), ".bin"), bytes));
    }
    return open_token_shards(map_token_shards(find_corpus_files(paths, kTokenExtensions)), vocab_size, separator);
  }
  TemporaryFolder folder_;
};

TEST_F(TokenShards, ReadsNanoGptsAndLlmCs) {
  const Ids16 ids = {50256, 1, 2, 50256, 3, 50255};
  const std::vector<Token> expected(ids.begin(), ids.end());
  EXPECT_EQ(all_of(open({bytes_of_ids(ids)})), expected);
  EXPECT_EQ(all_of(open({shard(20240520, 1, ids)})), expected);
  EXPECT_EQ(all_of(open({shard(20240801, 7, Ids32(ids.begin(), ids.end()))})), expected);
  EXPECT_EQ(all_of(open({shard(20240801, 7, Ids32{100000, 7})}, 128256)), (std::vector<Token>{100000, 7}));
}

TEST_F(TokenShards, ContinueFromFileToFile) {
  const TokenStore all = open({bytes_of_ids(Ids16{1, 2, 3}), shard(20240520, 1, Ids16{4, 5}), bytes_of_ids(Ids16{6})});
  EXPECT_EQ(all_of(all), (std::vector<Token>{1, 2, 3, 4, 5, 6}));
  std::vector<Token> some(3);
  all.read(2, 3, some.data());
  EXPECT_EQ(some, (std::vector<Token>{3, 4, 5}));
  EXPECT_EQ(all_of(all.part(1, 4)), (std::vector<Token>{2, 3, 4, 5}));
  EXPECT_EQ(all_of(all.part(3, 2)), (std::vector<Token>{4, 5}));
  EXPECT_EQ(all.part(6, 0).size(), 0);
  EXPECT_THROW(all.part(5, 2), Error);
}

TEST_F(TokenShards, DocumentsAreBetweenSeparators) {
  const TokenStore all = open({bytes_of_ids(Ids16{50256, 1, 2, 50256, 3, 50256})});
  ASSERT_EQ(all.documents(), 3);  // the first has only the separator
  EXPECT_EQ(all.document_start(0), 0);
  EXPECT_EQ(all.document_start(1), 1);
  EXPECT_EQ(all.document_start(2), 4);
  const TokenStore end = all.part(2, 4);
  ASSERT_EQ(end.documents(), 2);
  EXPECT_EQ(end.document_start(1), 2);
}

TEST_F(TokenShards, RefusesDamage) {
  const auto error_of = [&](const std::string& bytes, index vocab_size = 50257) {
    return input_error_of([&] { open({bytes}, vocab_size); });
  };
  EXPECT_TRUE(names(error_of(""), {"0.bin", "0 bytes"}));
  EXPECT_TRUE(names(error_of("abc"), {"0.bin", "3 bytes", "2"}));
  const std::string good = shard(20240520, 1, Ids16{1, 2, 3});
  EXPECT_TRUE(names(error_of(good.substr(0, good.size() - 2)), {"0.bin", "3", "1030", "1028"}));
  EXPECT_TRUE(names(error_of(good + "xx"), {"0.bin", "1032"}));
  EXPECT_TRUE(names(error_of(shard(20240520, 2, Ids16{1})), {"0.bin", "version 2", "1"}));
  EXPECT_TRUE(names(error_of(shard(20240520, 1, Ids16{})), {"0.bin", "0 tokens"}));
  EXPECT_TRUE(names(error_of(bytes_of_ids(Ids16{1, 65, 3}), 65), {"0.bin", "token 1", "65", "64"}));
}

TEST_F(TokenShards, AreRecognizedByTheirNames) {
  EXPECT_TRUE(are_token_shards(std::vector<std::string>{"a.bin", "b.BIN"}));
  EXPECT_FALSE(are_token_shards(std::vector<std::string>{"a.txt"}));
  EXPECT_TRUE(names(input_error_of([] { are_token_shards(std::vector<std::string>{"a.txt", "b.bin"}); }), {"corpus", ".bin"}));
}

}  // namespace
}  // namespace dikkat
