#include "train/system/write_file.h"

#include <cerrno>
#include <fstream>
#include <iterator>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/temporary_folder.h"
#include "tests/support/throws.h"
#include "train/system/file.h"

namespace dikkat {
namespace {

using testing::error_of;
using testing::names;

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

/// 5 MB in pieces of odd lengths.
void produce_pieces(ByteSink& sink) {
  for (int i = 0; i < 1000; ++i) {
    sink.put(bytes_of(std::string(5003, static_cast<char>('a' + i % 26))));
  }
}
constexpr index kBytes = index{5003} * 1000;

TEST(WriteFile, PiecesFollowOneAnother) {
  const TemporaryFolder folder;
  int runs = 0;
  write_file(folder / "f", kBytes, [&](ByteSink& sink) {
    ++runs;
    produce_pieces(sink);
  });
  EXPECT_EQ(runs, 2) << "once to write, once to compare";
  const std::string text = read_bytes(folder / "f");
  ASSERT_EQ(static_cast<index>(text.size()), kBytes);
  for (std::size_t i = 0; i < text.size(); i += 1001) {
    ASSERT_EQ(text[i], 'a' + static_cast<int>(i / 5003 % 26)) << i;
  }
}

/// The message of write_file, which must name its file. The old file must still be there, and no other.
std::string failure(index bytes, const std::function<void(ByteSink&)>& produce, Faults* faults = nullptr) {
  const TemporaryFolder folder;
  const std::string path = folder.write("f", "old");
  const std::string text = error_of([&] { write_file(path, bytes, produce, faults); });
  EXPECT_EQ(read_bytes(path), "old");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
  EXPECT_TRUE(names(text, {path}));
  return text;
}

TEST(WriteFile, AFileThatDiffersTheSecondTimeIsNotKept) {
  int runs = 0;
  EXPECT_TRUE(names(failure(3, [&](ByteSink& sink) { sink.put(bytes_of(++runs == 1 ? "abc" : "abd")); }), {"read back", "differs"}));
}

TEST(WriteFile, AnotherLengthThanAnnouncedIsAnError) {
  EXPECT_TRUE(names(failure(4, [](ByteSink& sink) { sink.put(bytes_of("abc")); }), {"3 bytes", "4"}));
  EXPECT_TRUE(names(failure(2, [](ByteSink& sink) { sink.put(bytes_of("abc")); }), {"more", "2"}));
  EXPECT_TRUE(names(failure(index{1} << 62, [](ByteSink&) {}), {"4,611,686,018,427,387,904 bytes"}));
}

TEST(WriteFile, AnInputErrorOfTheProducerStaysOne) {
  const TemporaryFolder folder;
  EXPECT_EQ(input_error_of([&] { write_file(folder / "f", 1, [](ByteSink&) { fail_input("no"); }); }), "no");
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(WriteFile, EverySystemCallMayFail) {
  for (const Operation operation :
       {Operation::open, Operation::write, Operation::sync, Operation::size, Operation::read, Operation::close, Operation::rename}) {
    Faults faults({.operation = operation, .nth = 1, .error = EIO});
    EXPECT_TRUE(names(failure(kBytes, produce_pieces, &faults), {std::string(name_of(operation)), "Input/output error"}));
    EXPECT_TRUE(faults.struck()) << name_of(operation);
  }
}

TEST(WriteFile, ShortWritesAreContinued) {
  const TemporaryFolder folder;
  Faults faults({.operation = std::nullopt, .nth = 2, .for_ever = true, .effect = FaultPlan::Effect::short_count});
  write_file(folder / "f", 3, [](ByteSink& sink) { sink.put(bytes_of("abc")); }, &faults);
  EXPECT_EQ(read_bytes(folder / "f"), "abc");
}

}  // namespace
}  // namespace dikkat
