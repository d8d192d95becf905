#include "train/system/sha256.h"

#include <cstring>

#include <gtest/gtest.h>

namespace dikkat {
namespace {

TEST(Sha256, IsTheStandardOne) {
  EXPECT_EQ(to_hex(sha256("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(to_hex(sha256("")), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST(Sha256, OfPiecesIsThatOfTheWholeAndThenBeginsAnew) {
  Sha256 hash;
  for (int turn = 0; turn < 2; ++turn) {
    for (const std::string_view piece : {"a", "", "bc"}) {
      hash.add(std::as_bytes(std::span(piece)));
    }
    EXPECT_EQ(to_hex(hash.finish()), to_hex(sha256("abc")));
  }
}

TEST(Sha256, RootIsTheHashOfTheHashesOfChunks) {
  std::string text(std::size_t{2 * kHashChunkBytes + 5}, 'x');
  text[1234567] = 'y';
  std::string hashes;
  for (std::size_t at = 0; at < text.size(); at += std::size_t{kHashChunkBytes}) {
    const Digest digest = sha256(std::string_view(text).substr(at, std::size_t{kHashChunkBytes}));
    hashes.append(digest.begin(), digest.end());
  }
  const Digest root = root_hash(static_cast<index>(text.size()),
                                [&](index offset, std::span<std::byte> out) { std::memcpy(out.data(), text.data() + offset, out.size()); });
  EXPECT_EQ(to_hex(root), to_hex(sha256(hashes)));
  EXPECT_EQ(to_hex(root_hash(0, [](index, std::span<std::byte>) {})), to_hex(sha256("")));
}

}  // namespace
}  // namespace dikkat
