#include <cerrno>
#include <functional>

#include <gtest/gtest.h>
#include <hdf5.h>
#include <sys/stat.h>

#include "tests/train/checkpoint/forged.h"
#include "tests/train/checkpoint/sample.h"
#include "train/checkpoint/header.h"
#include "train/system/format_numbers.h"
#include "train/system/sha256.h"

namespace dikkat {
namespace {

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
    const bool named = text.find("was altered") != std::string::npos || text.find("is not a dikkat checkpoint") != std::string::npos;
    accepted += text.empty() || !named ? 1 : 0;
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
  EXPECT_EQ(read_index(saved.path).tensors.size(), contents.tensors.size()) << "tensors are not looked at";
  const auto refused = [&](const std::string& bytes) {
    write_file(saved.path, bytes);
    try {
      read_index(saved.path);
      return std::string();
    } catch (const InputError& error) {
      return std::string(error.what());
    }
  };
  EXPECT_TRUE(refused(saved.bytes.substr(0, saved.bytes.size() - 1)).starts_with(saved.path.string() + " is truncated: "));
  damaged = saved.bytes;
  damaged[30] ^= 1;
  EXPECT_NE(refused(damaged), "") << "the header";
  EXPECT_NE(refused("text").find("is not a dikkat checkpoint"), std::string::npos);
}

TEST(VerifyHash, RefusesEveryTruncation) {
  const SavedSample saved;
  for (std::size_t size = saved.bytes.size(); size-- > 0;) {
    std::filesystem::resize_file(saved.path, size);
    const std::string text = refusal(saved.path);
    ASSERT_NE(text.find(size == 0 ? "is empty" : "is truncated"), std::string::npos) << size << ": " << text;
  }
}

TEST(VerifyHash, SaysHowMuchIsMissing) {
  const SavedSample saved;
  std::filesystem::resize_file(saved.path, 4500);
  EXPECT_EQ(refusal(saved.path), concat(saved.path.string(), " is truncated: 4,500 bytes, its header says ",
                                        grouped_digits(static_cast<index>(saved.bytes.size()))));
}

TEST(VerifyHash, RefusesAStepThatCannotBe) {
  const SavedSample saved;
  forged::Parts parts = forged::parts_of(saved.bytes);
  parts.step = -7;
  write_file(saved.path, forged::sealed(parts));
  EXPECT_NE(refusal(saved.path).find("has a header that does not follow format "), std::string::npos);
}

TEST(VerifyHash, RefusesAppendedJunk) {
  const SavedSample saved;
  for (const std::string& junk : {std::string(1, '\0'), std::string("x"), std::string(5000, 'x')}) {
    write_file(saved.path, saved.bytes + junk);
    EXPECT_NE(refusal(saved.path).find("was altered"), std::string::npos);
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
  EXPECT_NE(refusal(saved.path).find("was altered"), std::string::npos);
}

TEST(VerifyHash, NamesANewerFormat) {
  const SavedSample saved;
  Header header = parse_header(saved.bytes);
  header.format = 7;
  write_file(saved.path, render_header(header) + saved.bytes.substr(kHeaderBytes));
  EXPECT_EQ(refusal(saved.path),
            saved.path.string() + " was written by a newer dikkat (format 7; this program reads format 3): use that one");
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
    return text.starts_with(saved.path.string()) ? text.substr(saved.path.string().size()) : text;
  };
  EXPECT_EQ(refusal_with([](Header& h) { h.format = 0; }), " has a header without a format number");
  for (const index old : {1, 2}) {
    EXPECT_EQ(refusal_with([&](Header& h) { h.format = old; }),
              concat(" has format ", old, ", which no released dikkat has written; expected format 3"));
  }
  EXPECT_EQ(refusal_with([](Header& h) { h.step = 8; }), " contradicts itself: step 8 in its header, step 7 in its state");
  const std::string malformed = " has a header that does not follow format 3";
  EXPECT_EQ(refusal_with([](Header& h) { h.step = -1; }), malformed);
  EXPECT_EQ(refusal_with([](Header& h) { h.length = -1; }), malformed);
  EXPECT_EQ(refusal_with([](Header& h) { h.length = 100; }), malformed);
  EXPECT_EQ(refusal_with([](Header& h) { h.index_begin = 4095; }), malformed);
  EXPECT_EQ(refusal_with([](Header& h) { h.index_begin = -1; }), malformed);
  EXPECT_EQ(refusal_with([](Header& h) { h.index_begin = h.length + 1; }), malformed);
  EXPECT_EQ(refusal_with([](Header& h) { h.index_begin = kMost; }), malformed);
  EXPECT_EQ(refusal_with([](Header& h) { h.index_begin = h.length; }), " contradicts itself: step 7 in its header, step 0 in its state");
  EXPECT_NE(refusal_with([](Header& h) { h.index_begin -= 1; }).find(" has a malformed index: "), std::string::npos);
  EXPECT_NE(refusal_with([](Header& h) { h.length = kMost; }).find(" is truncated: "), std::string::npos);
  EXPECT_EQ(refusal_with([](Header& h) { h.root[31] ^= 1; }), " was altered: its checksum does not match its contents");
  EXPECT_EQ(refusal_with([](Header&) {}), "");
  // Right checksum, wrong words.
  std::string block = render_header(good).substr(0, kHeaderBytes - 64);
  block[1000] = ' ';
  write_file(saved.path, block + to_hex(sha256(block)) + saved.bytes.substr(kHeaderBytes));
  EXPECT_NE(refusal(saved.path).find("does not follow format 3"), std::string::npos);
}

TEST(VerifyHash, TheHeaderIsForPeopleToo) {
  const SavedSample saved;
  EXPECT_TRUE(saved.bytes.starts_with(concat("dikkat checkpoint\nformat 3\nlength ", saved.bytes.size(), "\nstep 7\nindex ")));
}

TEST(VerifyHash, RefusesWhatIsNoCheckpoint) {
  const ScratchDirectory scratch;
  EXPECT_NE(refusal(scratch / "missing.h5").find("No such file"), std::string::npos);
  EXPECT_NE(refusal(scratch.path()).find("is a directory"), std::string::npos);
  EXPECT_NE(refusal("/dev/zero").find("is not a regular file"), std::string::npos);

  ASSERT_EQ(::mkfifo((scratch / "pipe").c_str(), 0600), 0);
  EXPECT_NE(refusal(scratch / "pipe").find("is not a regular file"), std::string::npos);

  write_file(scratch / "empty", "");
  EXPECT_NE(refusal(scratch / "empty").find("is empty"), std::string::npos);
  write_file(scratch / "text", std::string(10000, 'x'));
  EXPECT_NE(refusal(scratch / "text").find("is not a dikkat checkpoint"), std::string::npos);

  const hid_t file = H5Fcreate((scratch / "foreign.h5").c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  ASSERT_GE(H5Fclose(file), 0);
  EXPECT_NE(refusal(scratch / "foreign.h5").find("is an HDF5 file but not a dikkat checkpoint"), std::string::npos);
}

TEST(VerifyHash, ReportsTheErrorOfItsOwnCall) {
  const ScratchDirectory scratch;
  errno = ENOSPC;  // of another call, earlier
  EXPECT_EQ(refusal(scratch / "missing.h5"),
            (scratch / "missing.h5").string() +
                " cannot be read: No such file or directory; expected a run directory, which dikkat train creates, or a checkpoint in it");
}

TEST(Grouped, PutsCommas) {
  EXPECT_EQ(grouped_digits(0), "0");
  EXPECT_EQ(grouped_digits(999), "999");
  EXPECT_EQ(grouped_digits(1234567), "1,234,567");
  EXPECT_EQ(grouped_digits(-123456), "-123,456");
}

}  // namespace
}  // namespace dikkat
