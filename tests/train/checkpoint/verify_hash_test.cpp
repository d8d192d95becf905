#include <cerrno>
#include <functional>

#include <gtest/gtest.h>
#include <hdf5.h>
#include <sys/stat.h>

#include "tests/support/throws.h"
#include "tests/train/checkpoint/forged.h"
#include "tests/train/checkpoint/sample.h"
#include "train/checkpoint/header.h"
#include "train/system/format_numbers.h"
#include "train/system/sha256.h"

namespace dikkat {
namespace {

using testing::names;

struct SavedSample {
  ScratchDirectory scratch;
  std::filesystem::path path = save_checkpoint(scratch.path(), Sample().snapshot).path();
  std::string bytes = read_file(path);
};

TEST(VerifyHash, RefusesAFlippedBitInEveryByte) {
  const SavedSample saved;
  std::fstream file(saved.path, std::ios::in | std::ios::out | std::ios::binary);
  const auto put = [&](std::size_t at, char byte) {
    file.seekp(static_cast<std::streamoff>(at));
    file.put(byte);
    file.flush();
  };
  ASSERT_EQ(refusal(saved.path), "");
  int accepted = 0;
  for (std::size_t at = 0; at < saved.bytes.size(); ++at) {
    put(at, static_cast<char>(saved.bytes[at] ^ (1 << at % 8)));
    const std::string text = refusal(saved.path);
    const bool is_told = names(text, {saved.path.string(), "altered"}) || names(text, {saved.path.string(), "not a dikkat checkpoint"});
    accepted += is_told ? 0 : 1;
    put(at, saved.bytes[at]);
  }
  EXPECT_EQ(accepted, 0);
  EXPECT_EQ(refusal(saved.path), "");
}

TEST(VerifyHash, TheIndexIsReadWithoutTheRest) {
  const SavedSample saved;
  const Contents contents = read_index(saved.path);
  EXPECT_EQ(contents.state.step, 7);
  EXPECT_EQ(contents.tensors.size(), CheckpointFile::open(saved.path).tensors().size());
  std::string damaged = saved.bytes;
  const index offset = contents.tensors.front().offset;
  damaged[static_cast<std::size_t>(offset)] ^= 1;
  write_file(saved.path, damaged);
  EXPECT_NE(refusal(saved.path), "");
  EXPECT_EQ(read_index(saved.path).tensors.size(), contents.tensors.size()) << "tensors are not read";
  const auto refused = [&](const std::string& bytes) {
    write_file(saved.path, bytes);
    try {
      read_index(saved.path);
      return std::string();
    } catch (const InputError& error) {
      return std::string(error.what());
    }
  };
  EXPECT_TRUE(names(refused(saved.bytes.substr(0, saved.bytes.size() - 1)), {saved.path.string(), "truncated"}));
  damaged = saved.bytes;
  damaged[30] ^= 1;
  EXPECT_NE(refused(damaged), "") << "the header";
  EXPECT_TRUE(names(refused("text"), {saved.path.string(), "not a dikkat checkpoint"}));
}

TEST(VerifyHash, RefusesEveryTruncation) {
  const SavedSample saved;
  for (std::size_t size = saved.bytes.size(); size-- > 0;) {
    std::filesystem::resize_file(saved.path, size);
    const std::string text = refusal(saved.path);
    ASSERT_TRUE(names(text, {saved.path.string(), size == 0 ? "empty" : "truncated"})) << size;
  }
}

TEST(VerifyHash, ReportsHowMuchIsMissing) {
  const SavedSample saved;
  std::filesystem::resize_file(saved.path, 4500);
  EXPECT_TRUE(
      names(refusal(saved.path), {saved.path.string(), "truncated", "4,500", grouped_digits(static_cast<index>(saved.bytes.size()))}));
}

TEST(VerifyHash, RefusesAStepThatCannotBe) {
  const SavedSample saved;
  forged::Parts parts = forged::parts_of(saved.bytes);
  parts.step = -7;
  write_file(saved.path, forged::sealed(parts));
  EXPECT_TRUE(names(refusal(saved.path), {saved.path.string(), "header", "format 3"}));
}

TEST(VerifyHash, RefusesAppendedJunk) {
  const SavedSample saved;
  for (const std::string& junk : {std::string(1, '\0'), std::string("x"), std::string(5000, 'x')}) {
    write_file(saved.path, saved.bytes + junk);
    EXPECT_TRUE(names(refusal(saved.path), {saved.path.string(), "altered"}));
  }
}

TEST(VerifyHash, RefusesTwoFilesMixed) {
  const SavedSample saved;
  Sample other;
  other.numbers["model/scale"][0] += 1;
  const ScratchDirectory scratch;
  const std::string bytes = read_file(save_checkpoint(scratch.path(), other.snapshot).path());
  ASSERT_EQ(bytes.size(), saved.bytes.size());
  write_file(saved.path, saved.bytes.substr(0, kHeaderBytes) + bytes.substr(kHeaderBytes));
  EXPECT_TRUE(names(refusal(saved.path), {saved.path.string(), "altered"}));
}

TEST(VerifyHash, NamesANewerFormat) {
  const SavedSample saved;
  Header header = parse_header(saved.bytes);
  header.format = 7;
  write_file(saved.path, render_header(header) + saved.bytes.substr(kHeaderBytes));
  EXPECT_TRUE(names(refusal(saved.path), {saved.path.string(), "newer", "format 7", "format 3"}));
}

TEST(VerifyHash, RefusesHeadersThatNobodyWrites) {
  const SavedSample saved;
  const Header good = parse_header(saved.bytes);
  constexpr index kMost = std::numeric_limits<index>::max();
  const auto refusal_with = [&](const std::function<void(Header&)>& change) {
    Header bad = good;
    change(bad);
    write_file(saved.path, render_header(bad) + saved.bytes.substr(kHeaderBytes));
    const std::string text = refusal(saved.path);
    EXPECT_TRUE(text.empty() || names(text, {saved.path.string()})) << text;
    return text;
  };
  EXPECT_TRUE(names(refusal_with([](Header& h) { h.format = 0; }), {"header", "without", "format number"}));
  for (const index old : {1, 2}) {
    EXPECT_TRUE(names(refusal_with([&](Header& h) { h.format = old; }), {concat("format ", old), "format 3"}));
  }
  EXPECT_TRUE(names(refusal_with([](Header& h) { h.step = 8; }), {"step 8", "step 7"}));
  const std::vector<std::string> malformed = {"header", "not follow", "format 3"};
  EXPECT_TRUE(names(refusal_with([](Header& h) { h.step = -1; }), malformed));
  EXPECT_TRUE(names(refusal_with([](Header& h) { h.length = -1; }), malformed));
  EXPECT_TRUE(names(refusal_with([](Header& h) { h.length = 100; }), malformed));
  EXPECT_TRUE(names(refusal_with([](Header& h) { h.index_begin = 4095; }), malformed));
  EXPECT_TRUE(names(refusal_with([](Header& h) { h.index_begin = -1; }), malformed));
  EXPECT_TRUE(names(refusal_with([](Header& h) { h.index_begin = h.length + 1; }), malformed));
  EXPECT_TRUE(names(refusal_with([](Header& h) { h.index_begin = kMost; }), malformed));
  EXPECT_TRUE(names(refusal_with([](Header& h) { h.index_begin = h.length; }), {"step 7", "step 0"}));
  EXPECT_TRUE(names(refusal_with([](Header& h) { h.index_begin -= 1; }), {"malformed index"}));
  EXPECT_TRUE(names(refusal_with([](Header& h) { h.length = kMost; }), {"truncated", concat(grouped_digits(kMost))}));
  EXPECT_TRUE(names(refusal_with([](Header& h) { h.root[31] ^= 1; }), {"altered", "checksum", "contents"}));
  EXPECT_EQ(refusal_with([](Header&) {}), "");
  // The checksum is right, but the words are wrong.
  std::string block = render_header(good).substr(0, kHeaderBytes - 64);
  block[1000] = ' ';
  write_file(saved.path, block + to_hex(sha256(block)) + saved.bytes.substr(kHeaderBytes));
  EXPECT_TRUE(names(refusal(saved.path), malformed));
}

TEST(VerifyHash, TheHeaderIsForPeopleToo) {
  const SavedSample saved;
  EXPECT_TRUE(saved.bytes.starts_with(concat("dikkat checkpoint\nformat 3\nlength ", saved.bytes.size(), "\nstep 7\nindex ")));
}

TEST(VerifyHash, RefusesFilesThatAreNotCheckpoints) {
  const ScratchDirectory scratch;
  EXPECT_TRUE(names(refusal(scratch / "missing.h5"), {"missing.h5", "No such file"}));
  EXPECT_TRUE(names(refusal(scratch.path()), {scratch.path().string(), "a directory"}));
  EXPECT_TRUE(names(refusal("/dev/zero"), {"/dev/zero", "regular file"}));

  ASSERT_EQ(::mkfifo((scratch / "pipe").c_str(), 0600), 0);
  EXPECT_TRUE(names(refusal(scratch / "pipe"), {(scratch / "pipe").string(), "regular file"}));

  write_file(scratch / "empty", "");
  EXPECT_TRUE(names(refusal(scratch / "empty"), {(scratch / "empty").string(), "is empty"}));
  write_file(scratch / "text", std::string(10000, 'x'));
  EXPECT_TRUE(names(refusal(scratch / "text"), {(scratch / "text").string(), "not a dikkat checkpoint"}));

  const hid_t file = H5Fcreate((scratch / "foreign.h5").c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  ASSERT_GE(H5Fclose(file), 0);
  EXPECT_TRUE(names(refusal(scratch / "foreign.h5"), {"foreign.h5", "HDF5"}));
}

TEST(VerifyHash, ReportsTheErrorOfItsOwnCall) {
  const ScratchDirectory scratch;
  errno = ENOSPC;  // from an earlier call
  EXPECT_TRUE(names(refusal(scratch / "missing.h5"), {(scratch / "missing.h5").string(), "No such file or directory"}));
}

TEST(Grouped, PutsCommas) {
  EXPECT_EQ(grouped_digits(0), "0");
  EXPECT_EQ(grouped_digits(999), "999");
  EXPECT_EQ(grouped_digits(1234567), "1,234,567");
  EXPECT_EQ(grouped_digits(-123456), "-123,456");
}

}  // namespace
}  // namespace dikkat
