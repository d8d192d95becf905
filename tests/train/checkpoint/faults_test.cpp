#include "train/system/faults.h"

#include <cerrno>
#include <csignal>
#include <tuple>
#include <utility>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/throws.h"
#include "tests/train/checkpoint/sample.h"
#include "train/checkpoint/run_directory.h"

/// The HDF5 library loses a few hundred bytes whenever it fails to read: not our leak.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() { return "leak:libhdf5"; }

namespace dikkat {
namespace {

using testing::names;

using FileNames = std::set<std::string>;
const std::string kOld = "step-000000001.h5";
const std::string kNew = "step-000000002.h5";

/// A folder with a good checkpoint of step 1, into which step 2 is saved while calls fail.
class Faulty : public ::testing::Test {
 protected:
  Faulty() {
    old_bytes_ = read_file(save_checkpoint(scratch_.path(), old_.snapshot).path());
    const ScratchDirectory elsewhere;
    expected_ = read_file(save_checkpoint(elsewhere.path(), new_.snapshot).path());
  }

  void expect_old_is_good() const { EXPECT_TRUE(read_file(scratch_ / kOld) == old_bytes_); }

  /// Lets the first call fail, then the second, ... until a save has fewer calls. `attempt(plan)` saves and returns whether the fault came.
  template <class Attempt>
  static void at_every_call(FaultPlan plan, Attempt&& attempt) {
    for (plan.nth = 1; attempt(plan); ++plan.nth) {
      ASSERT_LT(plan.nth, 1000);
    }
    EXPECT_GT(plan.nth, 20);  // a save has more calls than that: otherwise the injector does not see them
  }

  bool fails(const FaultPlan& plan) {
    Faults faults(plan);
    const std::string text = text_of<Error>([&] { save_checkpoint(scratch_.path(), new_.snapshot, &faults); });
    if (!faults.struck()) {
      EXPECT_EQ(text, "");
      return false;
    }
    EXPECT_TRUE(names(text, {(scratch_ / kNew).string(), describe_errno(plan.error)})) << plan.nth;
    EXPECT_EQ(names_in(scratch_.path()), FileNames{kOld}) << text;
    expect_old_is_good();
    return true;
  }

  bool succeeds(const FaultPlan& plan) {
    Faults faults(plan);
    save_checkpoint(scratch_.path(), new_.snapshot, &faults);
    EXPECT_EQ(names_in(scratch_.path()), (FileNames{kOld, kNew}));
    EXPECT_TRUE(read_file(scratch_ / kNew) == expected_);
    std::filesystem::remove(scratch_ / kNew);
    return faults.struck();
  }

  ScratchDirectory scratch_;
  Sample old_{1};
  Sample new_{2};
  std::string old_bytes_, expected_;
};

TEST_F(Faulty, AnErrorAtAnyCallFailsTheSaveAndLeavesNothing) {
  for (const int error : {ENOSPC, EIO, EDQUOT}) {
    for (const bool for_ever : {false, true}) {
      at_every_call({.for_ever = for_ever, .error = error}, [&](const FaultPlan& plan) { return fails(plan); });
      std::filesystem::remove(scratch_ / kNew);
    }
  }
}

TEST_F(Faulty, AnErrorOfEachKindIsNamed) {
  for (const Operation operation : {Operation::open, Operation::allocate, Operation::write, Operation::truncate, Operation::read,
                                    Operation::sync, Operation::close, Operation::rename, Operation::sync_directory, Operation::size}) {
    Faults faults({.operation = operation, .nth = 1, .error = EIO});
    const std::string text = text_of<Error>([&] { save_checkpoint(scratch_.path(), new_.snapshot, &faults); });
    EXPECT_TRUE(names(text, {std::string(name_of(operation)), "Input/output error"}));
  }
}

// A save continues if the file system lacks a guard. Any other call that fails with such an errno ends the save.
TEST_F(Faulty, AFileSystemMayLackGuardsAndNothingElse) {
  for (const int error : {ENOSYS, EOPNOTSUPP, EINVAL}) {
    for (const Operation guard : {Operation::allocate, Operation::sync, Operation::sync_directory}) {
      EXPECT_TRUE(succeeds({.operation = guard, .nth = 1, .for_ever = true, .error = error})) << name_of(guard);
    }
    for (const Operation needed :
         {Operation::open, Operation::write, Operation::truncate, Operation::read, Operation::close, Operation::rename, Operation::size}) {
      EXPECT_TRUE(fails({.operation = needed, .nth = 1, .for_ever = true, .error = error})) << name_of(needed);
    }
  }
}

TEST_F(Faulty, AFailingReadOfThousandsOfTensorsIsAnError) {  // which HDF5 may keep in another form than a few
  for (int i = 0; i < 2500; ++i) {
    new_.add(concat("optimizer/m/h.", i, ".ln_1.weight"), {1});
  }
  int read = 1, next = 2, tried = 0;  // the first call reads everything, later ones less and less
  for (; fails({.operation = Operation::read, .nth = read, .error = EIO}); ++tried) {
    std::tie(read, next) = std::pair(next, tried < 5 ? next + 1 : read + next);
  }
  EXPECT_GT(tried, 8);
}

TEST_F(Faulty, AnInterruptionAtAnyCallDoesNoHarm) {
  at_every_call({.error = EINTR}, [&](const FaultPlan& plan) { return succeeds(plan); });
}

TEST_F(Faulty, InterruptionsWithoutEndAreAnErrorAndNoHang) {
  for (const Operation operation :
       {Operation::open, Operation::allocate, Operation::write, Operation::read, Operation::sync, Operation::size}) {
    EXPECT_TRUE(fails({.operation = operation, .nth = 1, .for_ever = true, .error = EINTR})) << name_of(operation);
  }
}

TEST_F(Faulty, ShortReadsAndWritesDoNoHarm) {
  for (const bool for_ever : {false, true}) {
    at_every_call({.for_ever = for_ever, .effect = FaultPlan::Effect::short_count}, [&](const FaultPlan& plan) { return succeeds(plan); });
  }
}

/// Runs `act` in a child process and returns whether SIGKILL ended it.
template <class Act>
bool killed(Act&& act) {
  const pid_t child = ::fork();
  if (child == 0) {
    act();
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) || WTERMSIG(status) == SIGKILL);
  return WIFSIGNALED(status);
}

TEST_F(Faulty, AKillAtAnyCallLeavesTheOldOrTheNewCheckpoint) {
  const std::filesystem::path run = scratch_ / "run";
  const std::filesystem::path checkpoints = RunDirectory::create(run).checkpoints_path();
  std::filesystem::copy(scratch_ / kOld, checkpoints / kOld);
  int with_new = 0, with_temporary = 0;
  at_every_call({.effect = FaultPlan::Effect::kill}, [&](const FaultPlan& plan) {
    const bool struck = killed([&] {
      const RunDirectory mine = RunDirectory::open(run);
      Faults faults(plan);
      save_checkpoint(checkpoints, new_.snapshot, &faults);
    });
    const auto left = names_in(checkpoints);
    with_temporary += left.contains(kOld) && left.size() == (left.contains(kNew) ? 3U : 2U) ? 1 : 0;
    RunDirectory::open(run);  // the killed process's lock is gone, its temporary file is cleaned
    const auto names = names_in(checkpoints);
    EXPECT_TRUE((names == FileNames{kOld} || names == FileNames{kOld, kNew}));
    EXPECT_TRUE(read_file(checkpoints / kOld) == old_bytes_);
    if (names.contains(kNew)) {
      ++with_new;
      EXPECT_TRUE(read_file(checkpoints / kNew) == expected_);
      std::filesystem::remove(checkpoints / kNew);
    }
    return struck;
  });
  EXPECT_GE(with_new, 2);  // killed between rename and the folder's sync; and the last one, which was not killed
  EXPECT_GT(with_temporary, 10);
}

TEST_F(Faulty, AReplacedFileIsTheOldOrTheNewOneAndWhole) {
  const std::filesystem::path file = scratch_ / "mine.h5";
  const std::string before = read_file(replace_checkpoint(file, old_.snapshot).path());
  EXPECT_TRUE(before == old_bytes_);  // only the name differs
  int with_new = 0;
  at_every_call({.error = EIO}, [&](const FaultPlan& plan) {
    Faults faults(plan);
    const std::string text = text_of<Error>([&] { replace_checkpoint(file, new_.snapshot, &faults); });
    EXPECT_EQ(names_in(scratch_.path()), (FileNames{kOld, "mine.h5"})) << plan.nth;
    const std::string now = read_file(file);
    EXPECT_EQ(names(text, {file.string(), "Input/output error"}), faults.struck()) << text;
    EXPECT_TRUE(now == before || now == expected_) << plan.nth;
    with_new += now == expected_ ? 1 : 0;
    replace_checkpoint(file, old_.snapshot);
    return faults.struck();
  });
  EXPECT_EQ(with_new, 2);  // the one that could not sync the folder, and the last one, which did not fail
}

TEST_F(Faulty, AReallyFullFileIsAnError) {
  const bool was_killed = killed([&] {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{6000, 6000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    const std::string text = text_of<Error>([&] { save_checkpoint(scratch_.path(), new_.snapshot); });
    ::_exit(text.find("File too large") != std::string::npos && names_in(scratch_.path()) == FileNames{kOld} ? 0 : (::raise(SIGKILL), 1));
  });
  EXPECT_FALSE(was_killed);
}

}  // namespace
}  // namespace dikkat
