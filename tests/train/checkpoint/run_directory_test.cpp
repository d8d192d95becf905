#include "train/checkpoint/run_directory.h"

#include <chrono>
#include <csignal>
#include <functional>
#include <thread>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/throws.h"
#include "tests/train/checkpoint/sample.h"
#include "train/system/missing_guard.h"

namespace dikkat {
namespace {

using testing::names;

using FileNames = std::set<std::string>;

SavedCheckpoint save_step(const RunDirectory& run, index step) { return save_checkpoint(run.checkpoints_path(), Sample(step).snapshot); }

std::vector<index> steps_of(const RunDirectory& run) {
  std::vector<index> steps;
  for (const CheckpointEntry& entry : run.checkpoints()) {
    steps.push_back(entry.step);
  }
  return steps;
}

void damage(const std::filesystem::path& path) {
  std::string bytes = read_file(path);
  bytes[5000] ^= 1;
  write_file(path, bytes);
}

TEST(RunDirectoryCreate, MakesFoldersAndTakesEmptyOnes) {
  const ScratchDirectory scratch;
  {
    const RunDirectory run = RunDirectory::create(scratch / "a/b");
    EXPECT_EQ(names_in(scratch / "a/b"), (FileNames{".lock", "checkpoints"}));
    EXPECT_FALSE(run.newest().has_value());
    EXPECT_FALSE(run.best().has_value());
  }
  RunDirectory::create(scratch / "a/b");  // the rest of a start that failed
  std::filesystem::create_directory(scratch / "empty");
  RunDirectory::create(scratch / "empty");
}

TEST(RunDirectoryCreate, CanBeAskedBeforehand) {
  const ScratchDirectory scratch;
  RunDirectory::require_free(scratch / "a/b");
  EXPECT_TRUE(names_in(scratch.path()).empty()) << "it makes nothing";
  write_file(scratch / "file", "text");
  const std::string file = text_of<InputError>([&] { RunDirectory::require_free(scratch / "file"); });
  EXPECT_TRUE(names(file, {(scratch / "file").string(), "a file", "folder", "--out"}));
  {
    save_step(RunDirectory::create(scratch / "model"), 0);
  }
  const std::string model = text_of<InputError>([&] { RunDirectory::require_free(scratch / "model"); });
  EXPECT_TRUE(names(model, {(scratch / "model").string(), "not empty", "(it has checkpoints)", "--out"}));
  EXPECT_EQ(model.find("dikkat resume"), std::string::npos) << "there is no run to continue: " << model;
  write_file(scratch / "model/metrics.jsonl", "{}");
  const std::string run = text_of<InputError>([&] { RunDirectory::require_free(scratch / "model"); });
  EXPECT_TRUE(names(run, {"`dikkat resume " + (scratch / "model").string() + "`"}));
  const RunDirectory held = RunDirectory::create(scratch / "held");
  write_file(scratch / "held/config.toml", "a run that begins");
  RunDirectory::require_free(scratch / "held");  // create() reports which process has it
}

TEST(RunDirectoryCreate, RefusesAFolderInUseAndDoesNotChangeIt) {
  const ScratchDirectory scratch;
  std::filesystem::create_directory(scratch / "full");
  for (const char* name : {"a", "b", "c", "d"}) {
    write_file(scratch.path() / "full" / name, name);
  }
  const std::string text = text_of<InputError>([&] { RunDirectory::create(scratch / "full"); });
  EXPECT_TRUE(names(text, {(scratch / "full").string(), "not empty", "a, b, c, ...", "--out"}));
  EXPECT_EQ(names_in(scratch / "full"), (FileNames{"a", "b", "c", "d"}));

  write_file(scratch / "full/.lock", "of another program");
  EXPECT_TRUE(names(text_of<InputError>([&] { RunDirectory::create(scratch / "full"); }), {(scratch / "full").string(), "not empty"}));
  EXPECT_EQ(read_file(scratch / "full/.lock"), "of another program");

  write_file(scratch / "file", "");
  EXPECT_TRUE(names(text_of<InputError>([&] { RunDirectory::create(scratch / "file"); }), {(scratch / "file").string(), "a file"}));
  EXPECT_TRUE(names(text_of<InputError>([&] { RunDirectory::create("/proc/no/such"); }), {"/proc/no/such", "created"}));
  EXPECT_NE(text_of<InputError>([&] { RunDirectory::create(scratch / "file/below"); }), "");

  save_step(RunDirectory::create(scratch / "done"), 1);
  write_file(scratch / "done/metrics.jsonl", "{}");
  const std::string of_a_run = text_of<InputError>([&] { RunDirectory::create(scratch / "done"); });
  EXPECT_TRUE(names(of_a_run, {"--out", "`dikkat resume " + (scratch / "done").string() + "`"}));

  const RunDirectory run = RunDirectory::create(scratch / "run");
  save_step(run, 1);
  EXPECT_TRUE(names(text_of<InputError>([&] { RunDirectory::create(scratch / "run"); }),
                    {(scratch / "run").string(), concat("process ", ::getpid())}));
}

TEST(RunDirectoryOpen, RefusesFoldersThatAreNotRuns) {
  const ScratchDirectory scratch;
  EXPECT_TRUE(names(text_of<InputError>([&] { RunDirectory::open(scratch / "missing"); }), {(scratch / "missing").string(), "not exist"}));
  EXPECT_TRUE(
      names(text_of<InputError>([&] { RunDirectory::open(scratch.path()); }), {scratch.path().string(), "folder named checkpoints"}));
  EXPECT_TRUE(names_in(scratch.path()).empty());
  write_file(scratch / "checkpoints", "a list of them");
  EXPECT_TRUE(
      names(text_of<InputError>([&] { RunDirectory::open(scratch.path()); }), {scratch.path().string(), "folder named checkpoints"}));
  EXPECT_EQ(names_in(scratch.path()).size(), 1) << "not even a lock is left in somebody else's folder";
}

TEST(RunDirectoryOpen, HasOneWriter) {
  const ScratchDirectory scratch;
  const auto refused = [&] { return text_of<InputError>([&] { RunDirectory::open(scratch / "run"); }); };
  {
    RunDirectory run = RunDirectory::create(scratch / "run");
    EXPECT_TRUE(names(refused(), {(scratch / "run").string(), concat("process ", ::getpid())}));
    const RunDirectory moved = std::move(run);
    EXPECT_NE(refused(), "");
  }
  EXPECT_EQ(refused(), "");

  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const RunDirectory run = RunDirectory::open(scratch / "run");
    if (::write(ready[1], "x", 1) == 1) {
      ::pause();
    }
    ::_exit(1);
  }
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  EXPECT_TRUE(names(refused(), {(scratch / "run").string(), concat("process ", child)}));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_EQ(refused(), "");
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST(RunDirectoryOpen, WaitsForAMomentForSomebodyWhoIsRefused) {
  const ScratchDirectory scratch;
  std::optional<RunDirectory> other = RunDirectory::create(scratch / "run");
  std::thread leaves([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    other.reset();
  });
  EXPECT_NO_THROW(RunDirectory::open(scratch / "run"));
  leaves.join();
}

TEST(RunDirectoryOpen, CleansTemporaries) {
  const ScratchDirectory scratch;
  const std::filesystem::path checkpoints = RunDirectory::create(scratch / "run").checkpoints_path();
  write_file(checkpoints / ".tmp-700-123", "half");
  write_file(checkpoints / "notes.txt", "mine");
  write_file(scratch / "run/.tmp-metrics.jsonl-123", "half");
  write_file(scratch / "run/metrics.jsonl", "whole");
  RunDirectory::open(scratch / "run");
  EXPECT_EQ(names_in(checkpoints), FileNames{"notes.txt"});
  EXPECT_EQ(names_in(scratch / "run"), (FileNames{".lock", "checkpoints", "metrics.jsonl"}));
}

TEST(RunDirectoryCreate, TakesTheFolderOfAKilledStart) {
  const ScratchDirectory scratch;
  RunDirectory::create(scratch / "run");
  write_file(scratch / "run/.tmp-config.toml-123", "half");
  write_file(scratch / "run/checkpoints/.tmp-0-123", "half");
  RunDirectory::create(scratch / "run");
  EXPECT_EQ(names_in(scratch / "run"), (FileNames{".lock", "checkpoints"}));
  EXPECT_EQ(names_in(scratch / "run/checkpoints"), FileNames{});
  // With its configuration, only the same run begins there again.
  write_file(scratch / "run/config.toml", "mine");
  write_file(scratch / "run/metrics.jsonl", "half");
  write_file(scratch / "run/reference.json", "{}");
  EXPECT_TRUE(names(text_of<InputError>([&] { RunDirectory::create(scratch / "run"); }), {(scratch / "run").string(), "--out"}));
  const auto create = [&](bool is_own) { return RunDirectory::create(scratch / "run", nullptr, [=](const auto&) { return is_own; }); };
  EXPECT_NE(text_of<InputError>([&] { create(false); }), "");
  create(true);
  EXPECT_EQ(names_in(scratch / "run"), (FileNames{".lock", "checkpoints", "config.toml"}));
  write_file(scratch / "run/notes.txt", "somebody's");
  EXPECT_TRUE(names(text_of<InputError>([&] { create(true); }), {"notes.txt"}));
  std::filesystem::remove(scratch / "run/notes.txt");
  write_file(scratch / "run/checkpoints/step-000000001.h5", "a checkpoint");
  EXPECT_NE(text_of<InputError>([&] { create(true); }), "");
}

TEST(RunDirectoryList, SortsByStepAndTakesOnlyCheckpoints) {
  const ScratchDirectory scratch;
  const RunDirectory run = RunDirectory::create(scratch / "run");
  for (const char* name : {"step-1000000000.h5", "step-000000020.h5", "step-000000003.h5", "step-3.h5", "step-000000004.h5.aside",
                           "step-0000000005.h5", "step--00000001.h5", "step-99999999999999999999.h5", "best", "x"}) {
    write_file(run.checkpoints_path() / name, "");
  }
  EXPECT_EQ(steps_of(run), (std::vector<index>{3, 20, 1000000000}));
  EXPECT_EQ(run.newest()->path.filename(), "step-1000000000.h5");
}

TEST(Retain, KeepsTheLastAndTheBest) {
  const ScratchDirectory scratch;
  RunDirectory run = RunDirectory::create(scratch / "run");
  for (index step = 1; step <= 4; ++step) {
    save_step(run, step * 10);
  }
  const SavedCheckpoint newest = save_step(run, 50);
  EXPECT_THROW(run.retain(newest, 0, -1), Error);
  run.retain(newest, 9, -1);
  EXPECT_EQ(steps_of(run), (std::vector<index>{10, 20, 30, 40, 50}));
  run.retain(newest, 2, 20);
  EXPECT_EQ(steps_of(run), (std::vector<index>{20, 40, 50}));
  run.retain(newest, 1, 50);
  EXPECT_EQ(steps_of(run), (std::vector<index>{50}));
}

TEST(Retain, NeverRemovesTheLastSavedCheckpointNorNewerFiles) {
  const ScratchDirectory scratch;
  RunDirectory run = RunDirectory::create(scratch / "run");
  save_step(run, 90);
  save_step(run, 80);
  save_step(run, 10);
  const SavedCheckpoint saved = save_step(run, 20);
  run.retain(saved, 1, -1);
  EXPECT_EQ(steps_of(run), (std::vector<index>{20, 80, 90}));
}

TEST(Best, IsFoundByReaders) {
  const ScratchDirectory scratch;
  RunDirectory run = RunDirectory::create(scratch / "run");
  save_step(run, 10);
  EXPECT_TRUE(names(text_of<InputError>([&] { open_checkpoint(run.path(), CheckpointChoice::best); }),
                    {run.path().string(), "no best checkpoint"}));
  save_step(run, 20);
  run.record_best(20);
  run.record_best(10);
  EXPECT_EQ(run.best()->step, 10);
  EXPECT_EQ(open_checkpoint(run.path(), CheckpointChoice::best).state().step, 10);
  EXPECT_EQ(open_checkpoint(run.path()).state().step, 20);
  EXPECT_EQ(read_file(run.checkpoints_path() / "best"), "step-000000010.h5\n");

  for (const char* bad : {"", "10\n", "step-000000010.h5", "../../x\n"}) {
    write_file(run.checkpoints_path() / "best", bad);
    EXPECT_TRUE(names(text_of<InputError>([&] { run.best(); }), {"checkpoints/best", "one line"})) << bad;
  }
  write_file(run.checkpoints_path() / "best", "step-000000030.h5\n");
  EXPECT_TRUE(names(text_of<InputError>([&] { run.best(); }), {"checkpoints/best", "step-000000030.h5", "not exist"}));
}

TEST(RunDirectoryTest, ALinkThatCannotBeFollowedIsNotMissing) {
  const ScratchDirectory scratch;
  RunDirectory run = RunDirectory::create(scratch / "run");
  save_step(run, 10);
  std::filesystem::create_symlink("best", run.checkpoints_path() / "best");  // a link to itself
  EXPECT_TRUE(names(text_of<Error>([&] { run.best(); }), {"best (a link to best)", describe_errno(ELOOP)}));
}

TEST(RunDirectoryTest, ALockFileThatIsRemovedIsMadeAgain) {
  const ScratchDirectory scratch;
  RunDirectory run = RunDirectory::create(scratch / "run");
  const SavedCheckpoint saved = save_step(run, 10);
  std::filesystem::remove(scratch / "run/.lock");
  run.retain(saved, 1, -1);
  EXPECT_EQ(read_file(scratch / "run/.lock"), concat(::getpid(), '\n'));
  EXPECT_TRUE(names(text_of<InputError>([&] { RunDirectory::open(scratch / "run"); }),
                    {(scratch / "run").string(), concat("process ", ::getpid())}));

  std::filesystem::remove(scratch / "run/.lock");
  EXPECT_TRUE(names(text_of<InputError>([&] { RunDirectory::open(scratch / "run"); }), {(scratch / "run").string(), "in use"}));
  EXPECT_FALSE(std::filesystem::exists(scratch / "run/.lock")) << "a refused process has made a lock file, which may be in the run's way";
  run.require_held();
}

// The lock does not depend on a name that anybody can remove.
TEST(RunDirectoryTest, IsHeldEvenIfItsLockFileAndItsNameChange) {
  const ScratchDirectory scratch;
  const RunDirectory run = RunDirectory::create(scratch / "run");
  const auto expect_held = [](const std::filesystem::path& path) {
    EXPECT_TRUE(is_locked(path)) << path;
    EXPECT_TRUE(names(text_of<InputError>([&] { RunDirectory::open(path); }), {path.string(), "in use"}));
  };
  expect_held(scratch / "run");
  std::filesystem::remove(scratch / "run/.lock");
  expect_held(scratch / "run");
  write_file(scratch / "run/.lock", "1\n");  // for example a copy that a backup has restored
  expect_held(scratch / "run");
  std::filesystem::create_directory_symlink(scratch / "run", scratch / "link");
  expect_held(scratch / "link");
  std::filesystem::rename(scratch / "run", scratch / "elsewhere");
  expect_held(scratch / "elsewhere");
}

TEST(RunDirectoryTest, IsRemovedBeforeItIsGivenBack) {
  const ScratchDirectory scratch;
  RunDirectory run = RunDirectory::create(scratch / "run");
  save_step(run, 10);
  std::move(run).remove();
  EXPECT_EQ(names_in(scratch.path()), FileNames{});
}

TEST(RunDirectoryCreate, ManyAtOnceGetNumbers) {
  const ScratchDirectory scratch;
  std::filesystem::create_symlink("/not/mounted", scratch / "run-3");
  constexpr int kMany = 6;
  std::vector<std::optional<RunDirectory>> runs(kMany);
  std::vector<std::thread> threads;
  for (int i = 0; i < kMany; ++i) {
    threads.emplace_back([&, i] { runs[static_cast<std::size_t>(i)].emplace(RunDirectory::create(NewRunPath(scratch / "run", true))); });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  std::set<std::string> names;
  for (const auto& run : runs) {
    names.insert(run->path().filename().string());
  }
  EXPECT_EQ(names, (FileNames{"run", "run-2", "run-4", "run-5", "run-6", "run-7"}));
  EXPECT_EQ(NewRunPath(scratch / "run", true).free_now(), scratch / "run-8");
}

/// Collects the warnings about file systems while it exists.
struct MissingGuards {
  MissingGuards() {
    on_missing_guard([this](const std::string& sentence) { sentences.push_back(sentence); });
  }
  MissingGuards(const MissingGuards&) = delete;
  MissingGuards& operator=(const MissingGuards&) = delete;
  ~MissingGuards() { on_missing_guard(nullptr); }
  std::vector<std::string> sentences{};
};

// Examples are NFS without a lock daemon, and Lustre without -o flock.
TEST(RunDirectoryTest, AFileSystemWithoutLocksIsWarnedOfAndUsed) {
  for (const int error : {ENOLCK, ENOSYS, EOPNOTSUPP, EINVAL}) {
    const ScratchDirectory scratch;
    MissingGuards missing;
    Faults faults({.operation = Operation::lock, .nth = 1, .for_ever = true, .error = error});
    {
      RunDirectory run = RunDirectory::create(scratch / "run", &faults);
      EXPECT_FALSE(run.is_guarded());
      run.require_held();
      save_step(run, 10);
    }
    EXPECT_FALSE(RunDirectory::open(scratch / "run", &faults).is_guarded());
    ASSERT_EQ(missing.sentences.size(), 1U) << describe_errno(error);
    EXPECT_TRUE(names(missing.sentences[0], {(scratch / "run").string(), "locks"}));
  }
}

TEST(RunDirectoryTest, ALockThatFailsIsAnError) {
  for (const int error : {EIO, ESTALE, ENOMEM, EBADF}) {
    const ScratchDirectory scratch;
    MissingGuards missing;
    Faults faults({.operation = Operation::lock, .nth = 2, .error = error});  // the second is that of the lock file
    const std::string text = text_of<Error>([&] { RunDirectory::create(scratch / "run", &faults); });
    EXPECT_NE(text.find(describe_errno(error)), std::string::npos) << text;
    EXPECT_EQ(missing.sentences.size(), 0U);
  }
  const ScratchDirectory scratch;
  Faults faults({.operation = Operation::lock, .nth = 1, .error = EINTR});
  EXPECT_TRUE(RunDirectory::create(scratch / "run", &faults).is_guarded());
}

TEST(OpenCheckpoint, TheLatestGoodDoesNotPassOverOnesThatCannotBeOpened) {
  const ScratchDirectory scratch;
  RunDirectory run = RunDirectory::create(scratch / "run");
  save_step(run, 10);
  const std::filesystem::path newest = run.checkpoints_path() / "step-000000020.h5";
  const auto expect_not_passed_over = [&](const std::string& reason) {
    for (const CheckpointChoice choice : {CheckpointChoice::newest, CheckpointChoice::latest_good}) {  // both must treat it alike
      const std::string text = text_of<InputError>([&] { open_checkpoint(run.path(), choice); });
      EXPECT_TRUE(names(text, {"step-000000020.h5", reason, "no older checkpoint"}));
      EXPECT_EQ(text.find("--latest-good"), std::string::npos) << "gives advice that would be refused: " << text;
    }
    std::filesystem::remove(newest);
  };
  std::filesystem::create_symlink("/not/mounted", newest);
  expect_not_passed_over("(a link to /not/mounted)");
  std::filesystem::create_symlink(newest, newest);
  expect_not_passed_over("Too many levels of symbolic links");
  std::filesystem::create_symlink(scratch / "run/.lock/below", newest);
  expect_not_passed_over("Not a directory");
  std::filesystem::create_directory(newest);  // something is there, but it is not a checkpoint
  EXPECT_TRUE(names(text_of<InputError>([&] { open_checkpoint(run.path()); }), {"step-000000020.h5", "--latest-good"}));
  EXPECT_EQ(open_checkpoint(run.path(), CheckpointChoice::latest_good).state().step, 10);
}

TEST(OpenCheckpoint, AnErrnoNeverMeansDamaged) {
  for (const int error : {ENOENT, ENOTDIR, ELOOP, ENAMETOOLONG, EACCES, EPERM, ENXIO, EINVAL, EROFS}) {
    EXPECT_THROW(require_path(error, "x"), PathError) << describe_errno(error);
  }
  for (const int error : {EIO, ESTALE, EMFILE, ENFILE, ENOMEM, ETIMEDOUT, ENOLCK, EAGAIN, EINTR, EOVERFLOW}) {
    EXPECT_EQ(text_of<InputError>([&] {
                try {
                  require_path(error, "x");
                } catch (const InputError&) {
                  throw;
                } catch (const Error&) {
                }
              }),
              "")
        << describe_errno(error);
  }
}

TEST(OpenCheckpoint, TakesARunOrAFile) {
  const ScratchDirectory scratch;
  const RunDirectory run = RunDirectory::create(scratch / "run");
  EXPECT_TRUE(names(text_of<InputError>([&] { open_checkpoint(run.path()); }), {run.path().string(), "no checkpoint"}));
  EXPECT_NE(text_of<InputError>([&] { open_checkpoint(scratch / "missing"); }), "");
  save_step(run, 10);
  save_step(run, 20);
  EXPECT_EQ(open_checkpoint(run.path()).state().step, 20);
  EXPECT_EQ(open_checkpoint(run.checkpoints_path() / "step-000000010.h5").state().step, 10);
}

TEST(RunDirectoryTest, AFolderThatWasMovedAwayIsNotWrittenToByItsOldName) {
  const ScratchDirectory scratch;
  RunDirectory moved = RunDirectory::create(scratch / "run");
  const SavedCheckpoint saved = save_step(moved, 10);
  moved.require_held();
  const auto expect_told = [&] {
    for (const auto& write : std::vector<std::function<void()>>{[&] { moved.require_held(); }, [&] { moved.record_best(10); },
                                                                [&] { moved.retain(saved, 1, -1); }}) {
      EXPECT_TRUE(names(text_of<Error>(write), {(scratch / "run").string(), "moved"}));
    }
  };
  std::filesystem::rename(scratch / "run", scratch / "elsewhere");
  expect_told();
  RunDirectory next = RunDirectory::create(scratch / "run");  // a new run: the lock is not in its way
  save_step(next, 5);
  expect_told();
  EXPECT_EQ(steps_of(next), std::vector<index>{5}) << "the other run would have removed some";
  EXPECT_FALSE(next.best());
  next.require_held();
  std::filesystem::remove_all(scratch / "run");
  EXPECT_NE(text_of<Error>([&] { next.require_held(); }), "");
}

TEST(OpenCheckpoint, NamesADamagedNewestAndTheWholeOlderOnes) {
  const ScratchDirectory scratch;
  RunDirectory run = RunDirectory::create(scratch / "run");
  for (index step = 1; step <= 4; ++step) {
    save_step(run, step * 10);
  }
  damage(run.checkpoints_path() / "step-000000040.h5");
  damage(run.checkpoints_path() / "step-000000020.h5");
  const std::string text = text_of<InputError>([&] { open_checkpoint(run.path()); });
  EXPECT_TRUE(names(text, {"step-000000040.h5 was altered", "intact", "step-000000030.h5, step-000000010.h5", "--latest-good"}));
  EXPECT_EQ(text.find("step-000000020.h5"), std::string::npos) << "it is damaged too: " << text;
  std::vector<std::string> damaged;
  EXPECT_EQ(open_checkpoint(run.path(), CheckpointChoice::latest_good, &damaged).state().step, 30);
  ASSERT_EQ(damaged.size(), 1U);
  EXPECT_TRUE(names(damaged[0], {"step-000000040.h5", "altered"}));

  const auto aside = run.set_aside_after(30);
  ASSERT_EQ(aside.size(), 1U);
  EXPECT_EQ(aside[0].filename(), "step-000000040.h5.aside");
  EXPECT_EQ(steps_of(run), (std::vector<index>{10, 20, 30}));
  save_step(run, 40);
  EXPECT_EQ(run.set_aside_after(30)[0].filename(), "step-000000040.h5.aside-2");

  for (const char* name : {"step-000000010.h5", "step-000000030.h5"}) {
    damage(run.checkpoints_path() / name);
  }
  EXPECT_TRUE(names(text_of<InputError>([&] { open_checkpoint(run.path()); }), {"step-000000030.h5", "no other"}));
  EXPECT_NE(text_of<InputError>([&] { open_checkpoint(run.path(), CheckpointChoice::latest_good); }), "");
}

/// A file that cannot be opened while this lives, because of a temporary error: somebody has a lease on it.
class Leased {
 public:
  explicit Leased(const std::filesystem::path& path) : before_(::signal(SIGIO, SIG_IGN)), file_(::open(path.c_str(), O_RDWR | O_CLOEXEC)) {
    EXPECT_EQ(::fcntl(file_, F_SETLEASE, F_WRLCK), 0) << describe_errno(errno);
  }
  Leased(const Leased&) = delete;
  Leased& operator=(const Leased&) = delete;
  ~Leased() {
    ::close(file_);
    ::signal(SIGIO, before_);
  }

 private:
  sighandler_t before_;
  int file_;
};

TEST(OpenCheckpoint, DoesNotPassOverOnesThatCannotBeReadJustNow) {
  const ScratchDirectory scratch;
  RunDirectory run = RunDirectory::create(scratch / "run");
  save_step(run, 10);
  save_step(run, 20);
  const Leased leased(run.newest()->path);
  const std::string text = text_of<Error>([&] {
    try {
      open_checkpoint(run.path(), CheckpointChoice::latest_good);
    } catch (const InputError& error) {
      FAIL() << "taken for damaged: " << error.what();
    }
  });
  EXPECT_TRUE(names(text, {"step-000000020.h5", "no older checkpoint"}));
}

/// No file can be opened while this lives.
class NoDescriptorLeft {
 public:
  NoDescriptorLeft() {
    // clang's sanitizer checks the type of an object with a pipe, which it could not open; it remembers the types that it has checked.
    (void)std::error_code(EMFILE, std::system_category()).message();
    (void)std::error_code(EMFILE, std::generic_category()).message();
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const int next = ::dup(STDIN_FILENO);
    ::close(next);
    const rlimit low{.rlim_cur = static_cast<rlim_t>(next), .rlim_max = before_.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &low);
  }
  NoDescriptorLeft(const NoDescriptorLeft&) = delete;
  NoDescriptorLeft& operator=(const NoDescriptorLeft&) = delete;
  ~NoDescriptorLeft() { ::setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

// A failing disk is a failure (exit code 1), which may pass, and not bad input (2), which never will.
TEST(RunDirectoryTest, AFolderThatCannotBeListedJustNowIsNotBadInput) {
  const ScratchDirectory scratch;
  RunDirectory run = RunDirectory::create(scratch / "run");
  save_step(run, 10);
  const auto expect_failure = [&](const char* what, const std::function<void()>& act) {
    std::exception_ptr failure;  // inspected when there are descriptors again: the sanitizer needs some to check the type
    {
      const NoDescriptorLeft none;
      try {
        act();
      } catch (...) {
        failure = std::current_exception();
      }
    }
    std::string text;
    try {
      if (failure) {
        std::rethrow_exception(failure);
      }
    } catch (const InputError& error) {
      text = concat("taken for bad input: ", error.what());
    } catch (const Error& error) {
      text = error.what();
    }
    EXPECT_TRUE(names(text, {"Too many open files"})) << what;
    EXPECT_EQ(text.find("taken for bad input"), std::string::npos) << what << ": " << text;
  };
  // Every function that lists the folder is tried.
  expect_failure("newest", [&] { run.newest(); });
  expect_failure("open_checkpoint", [&] { open_checkpoint(run.path()); });
  expect_failure("clean_temporaries", [&] { run.clean_temporaries(); });
  expect_failure("open", [&] { RunDirectory::open(run.path()); });
  expect_failure("create", [&] { RunDirectory::create(scratch / "other"); });
}

TEST(RunDirectoryTest, ALockFileThatIsNotAFileIsNamed) {
  const ScratchDirectory scratch;
  const std::filesystem::path run = scratch / "run";
  const std::filesystem::path lock = run / ".lock";
  RunDirectory::create(run);
  const auto expect_named = [&](const char* kind) {
    const std::string text = text_of<InputError>([&] { RunDirectory::open(run); });
    EXPECT_TRUE(names(text, {lock.string(), kind, "lock file", "remove"}));
    std::filesystem::remove(lock);
  };
  std::filesystem::remove(lock);
  ASSERT_EQ(::mkfifo(lock.c_str(), 0600), 0);
  expect_named("a pipe");
  std::filesystem::create_directory(lock);
  expect_named("a folder");
  std::filesystem::create_symlink(scratch / "elsewhere", lock);
  expect_named("a link");
  EXPECT_FALSE(std::filesystem::exists(scratch / "elsewhere"));
  RunDirectory::open(run);
}

TEST(RunDirectoryCreate, LeavesNoFolderBehindThatItCannotUse) {
  const ScratchDirectory scratch;
  std::filesystem::permissions(scratch.path(), std::filesystem::perms::all);
  const pid_t child = ::fork();
  if (child == 0) {
    constexpr uid_t kNobody = 65534;  // root may do everything
    const bool somebody_else = ::getuid() != 0 || ::setuid(kNobody) == 0;
    ::umask(0777);
    int refused = 0;
    for (const char* name : {"run", "a/b/run"}) {
      refused += text_of<InputError>([&] { RunDirectory::create(scratch / name); }).find("Permission denied") != std::string::npos ? 1 : 0;
    }
    ::_exit(somebody_else && refused == 2 ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(names_in(scratch.path()), FileNames{});
}

}  // namespace
}  // namespace dikkat
