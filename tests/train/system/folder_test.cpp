#include "train/system/folder.h"

#include <atomic>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/support/temporary_folder.h"
#include "tests/support/throws.h"
#include "train/system/new_folder.h"

namespace dikkat {
namespace {

using testing::error_of;
using testing::names;

TEST(Folder, IsMadeOrReportsWhyNot) {
  const TemporaryFolder folder;
  EXPECT_TRUE(make_folders(folder / "a/b"));
  EXPECT_FALSE(make_folders(folder / "a/b"));
  folder.write("file", "text");
  EXPECT_TRUE(names(input_error_of([&] { make_folders(folder / "file/below"); }), {folder.path("file/below"), "Not a directory"}));
  EXPECT_TRUE(names(input_error_of([&] { make_folders(folder / "file"); }), {folder.path("file"), "created"}));
}

TEST(Folder, ALinkThatLeadsNowhereIsNamed) {
  const TemporaryFolder folder;
  std::filesystem::create_symlink("/not/mounted", folder / "link");
  std::filesystem::create_symlink("loop", folder / "loop");
  const std::string text = input_error_of([&] { is_there(folder / "link"); });
  EXPECT_TRUE(names(text, {folder.path("link"), "/not/mounted", "No such file or directory"}));
  EXPECT_TRUE(names(input_error_of([&] { is_there(folder / "loop"); }), {folder.path("loop"), "(a link to loop)"}));
  EXPECT_FALSE(is_there(folder / "missing"));
}

TEST(Folder, ANameIsTakenOrFreeOrNobodyKnows) {
  const TemporaryFolder folder;
  folder.write("file", "text");
  std::filesystem::create_symlink("/not/mounted", folder / "link");
  std::filesystem::create_symlink("loop", folder / "loop");
  EXPECT_TRUE(is_taken(folder / "file"));
  EXPECT_TRUE(is_taken(folder / "link"));
  EXPECT_TRUE(is_taken(folder / "loop"));
  EXPECT_FALSE(is_taken(folder / "missing"));
  EXPECT_FALSE(is_taken(folder / "file/below"));
  EXPECT_TRUE(names(input_error_of([&] { is_taken(folder / "loop/below"); }), {"cannot be examined", "symbolic links"}));
  EXPECT_TRUE(names(input_error_of([&] { is_taken(folder / std::string(300, 'a')); }), {"cannot be examined", "too long"}));
}

TEST(Folder, ThatIsCurrentMayHaveBeenRemoved) {
  const std::filesystem::path before = std::filesystem::current_path();
  {
    const TemporaryFolder folder;
    std::filesystem::create_directory(folder / "gone");
    ASSERT_EQ(::chdir((folder / "gone").c_str()), 0);
    std::filesystem::remove(folder / "gone");
    EXPECT_TRUE(names(input_error_of([&] { absolute_path("runs"); }), {"current folder", "removed"}));
    EXPECT_EQ(absolute_path("/runs"), "/runs");
    ASSERT_EQ(::chdir(before.c_str()), 0);
  }
}

TEST(NewFile, OverwritesNothingEvenIfAFileAppearsMeanwhile) {
  const TemporaryFolder folder;
  write_new_file(folder / "a/f", "mine");
  EXPECT_EQ(read_bytes(folder / "a/f"), "mine");
  EXPECT_TRUE(names(input_error_of([&] { write_new_file(folder / "a/f", "yours"); }), {folder.path("a/f"), "exist"}));
  std::filesystem::create_symlink("/not/mounted", folder / "link");
  EXPECT_TRUE(names(input_error_of([&] { write_new_file(folder / "link", "yours"); }), {folder.path("link"), "exist"}));
  EXPECT_EQ(read_bytes(folder / "a/f"), "mine");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder / "a"), {}), 1);
}

TEST(NewFile, OneOfManyWritersGetsTheName) {
  const TemporaryFolder folder;
  std::atomic<int> written = 0;
  std::vector<std::thread> writers;
  for (int i = 0; i < 8; ++i) {
    writers.emplace_back([&] { written += error_of([&] { write_new_file(folder / "f", "text"); }).empty() ? 1 : 0; });
  }
  for (std::thread& writer : writers) {
    writer.join();
  }
  EXPECT_EQ(written, 1);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
}

TEST(SetAside, OverwritesNothing) {
  const TemporaryFolder folder;
  folder.write("f.aside", "older");
  std::filesystem::create_symlink("/not/mounted", folder / "f.aside-2");
  folder.write("f", "text");
  EXPECT_EQ(set_aside(folder / "f"), folder / "f.aside-3");
  EXPECT_EQ(read_bytes(folder / "f.aside"), "older");
}

TEST(NewFolder, GetsItsNameWhenItIsComplete) {
  const TemporaryFolder folder;
  folder.write(".tmp-model-1/half", "of a killed program");
  folder.write(".tmp-model-x/mine", "not this program's");
  {
    NewFolder made(std::string(folder / "model") + "/");
    NewFolder at_the_same_time(folder / "model");
    EXPECT_TRUE(is_there(made.path())) << "its writer lives";
    EXPECT_FALSE(is_there(folder / ".tmp-model-1"));
    replace_file(made.path() / "f", "text");
    EXPECT_FALSE(is_there(folder / "model"));
    made.finish();
  }
  EXPECT_EQ(read_bytes(folder / "model/f"), "text");
  EXPECT_EQ(read_bytes(folder / ".tmp-model-x/mine"), "not this program's");
  {
    NewFolder given_up(folder / "other");
  }
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 2);
  std::filesystem::create_directory(folder / "empty");
  NewFolder into_empty(folder / "empty");
  replace_file(into_empty.path() / "f", "text");
  into_empty.finish();
  EXPECT_EQ(read_bytes(folder / "empty/f"), "text");
  NewFolder late(folder / "late");
  folder.write("late/f", "of another program");
  EXPECT_TRUE(names(input_error_of([&] { late.finish(); }), {folder.path("late"), "exist"}));
}

}  // namespace
}  // namespace dikkat
