#include "train/system/checked_file.h"

#include <gtest/gtest.h>

#include "tests/support/temporary_folder.h"

// A CheckedFile returns only the contents that the file had when it was opened.
namespace dikkat {
namespace {

std::string numbered_bytes(std::size_t count) {
  std::string text;
  for (std::size_t i = 0; text.size() < count; ++i) {
    text += std::to_string(i) + ' ';
  }
  text.resize(count);
  return text;
}

std::string read(const CheckedFile& file, std::size_t offset, std::size_t bytes) {
  std::string text(bytes, '?');
  file.read(offset, std::as_writable_bytes(std::span(text)));
  return text;
}

void overwrite(const std::string& path, std::size_t at, std::string_view bytes) {
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.seekp(static_cast<std::streamoff>(at));
  file << bytes;
}

TEST(CheckedFile, GivesAnyRangeOfAnyFile) {
  const TemporaryFolder folder;
  constexpr std::size_t kPage = PageSums::kPageBytes;
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, kPage - 1, kPage, kPage + 1, (std::size_t{1} << 20) + 3, 5 * kPage}) {
    const std::string bytes = numbered_bytes(size);
    std::string seen;
    const CheckedFile file(folder.write("file", bytes), [&](std::span<const std::byte> block) {
      seen.append(reinterpret_cast<const char*>(block.data()), block.size());
    });
    EXPECT_TRUE(seen == bytes) << size;
    for (const auto& [from, count] : {std::pair(std::size_t{0}, size), std::pair(size / 3, size / 2), std::pair(size, std::size_t{0})}) {
      EXPECT_TRUE(read(file, from, count) == bytes.substr(from, count)) << size << ' ' << from;
    }
    EXPECT_THROW(read(file, size, 1), Error);
  }
}

TEST(CheckedFile, RefusesEachChangedBit) {
  const TemporaryFolder folder;
  const std::string bytes = numbered_bytes(3 * PageSums::kPageBytes + 21);
  const std::string path = folder.write("file", bytes);
  const CheckedFile file(path);
  for (const std::size_t at : {std::size_t{0}, std::size_t{40'000}, bytes.size() - 1}) {
    for (int bit = 0; bit < 8; ++bit) {
      overwrite(path, at, std::string(1, static_cast<char>(bytes[at] ^ (1 << bit))));
      read(file, (at + 2 * PageSums::kPageBytes) % bytes.size() / PageSums::kPageBytes * PageSums::kPageBytes,
           1);  // so that this page is read again
      EXPECT_NE(input_error_of([&] { read(file, at, 1); }).find(path), std::string::npos) << at << ' ' << bit;
    }
    overwrite(path, at, bytes.substr(at, 1));
    EXPECT_EQ(read(file, at, 1), bytes.substr(at, 1)) << "put back";
  }
}

}  // namespace
}  // namespace dikkat
