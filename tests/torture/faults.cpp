// Every system call of a save fails in every way, once or permanently: the save must report it and harm nothing, or succeed.
#include "train/system/faults.h"

#include <cerrno>

#include <sys/wait.h>
#include <unistd.h>

#include "tests/torture/program.h"
#include "tests/torture/tally.h"
#include "tests/train/checkpoint/sample.h"
#include "train/checkpoint/run_directory.h"

namespace dikkat::torture {
namespace {

using Names = std::set<std::string>;
using Effect = FaultPlan::Effect;

const std::string kOld = "step-000000001.h5";
const std::string kNew = "step-000000002.h5";

enum class Verdict { absorbed, failed_loudly };

class Save {
 public:
  explicit Save(index elements) {
    for (Sample* sample : {&old_, &new_}) {
      for (const char* path : {"model/more", "optimizer/m/more", "optimizer/v/more"}) {
        sample->add(path, {elements});
      }
    }
    old_bytes_ = read_file(save_checkpoint(scratch_.path(), old_.snapshot).path());
    const ScratchDirectory elsewhere;
    expected_ = read_file(save_checkpoint(elsewhere.path(), new_.snapshot).path());
  }

  /// Whether the planned call was reached; if so, the case is counted.
  bool strike(Tally& tally, const FaultPlan& plan, Verdict expected, const std::string& name) {
    if (plan.effect == Effect::kill) {
      return kill(tally, plan, name);
    }
    Faults faults(plan);
    std::string text;
    try {
      save_checkpoint(scratch_.path(), new_.snapshot, &faults);
    } catch (const Error& error) {
      text = error.what();
    } catch (const std::exception& error) {
      tally.fail(name + ": another error than dikkat's: " + error.what());
    }
    const bool came = faults.struck();
    if (came) {
      ++tally.cases;
      const bool is_loud = text.find((scratch_ / kNew).string()) != std::string::npos &&
                           (plan.effect != Effect::error || text.find(describe_errno(plan.error)) != std::string::npos);
      if (text.empty() != (expected == Verdict::absorbed) || (!text.empty() && !is_loud)) {
        tally.fail(name + ": " + (text.empty() ? "nothing was said" : text));
      } else if (names_in(scratch_.path()) != (text.empty() ? Names{kOld, kNew} : Names{kOld})) {
        tally.fail(name + ": other files than expected are there");
      } else if (read_file(scratch_ / kOld) != old_bytes_ || (text.empty() && read_file(scratch_ / kNew) != expected_)) {
        tally.fail(name + ": a checkpoint has other bytes");
      } else {
        ++(text.empty() ? tally.survived : tally.refused);
      }
    }
    std::filesystem::remove(scratch_ / kNew);
    return came;
  }

 private:
  bool kill(Tally& tally, const FaultPlan& plan, const std::string& name) {
    const std::filesystem::path run = scratch_ / "run";
    const std::filesystem::path checkpoints = RunDirectory::create(run).checkpoints_path();
    std::filesystem::copy(scratch_ / kOld, checkpoints / kOld);
    const pid_t child = ::fork();
    if (child == 0) {
      const RunDirectory mine = RunDirectory::open(run);
      Faults faults(plan);
      save_checkpoint(checkpoints, new_.snapshot, &faults);
      ::_exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    const bool came = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    if (came) {
      ++tally.cases;
      RunDirectory::open(run);  // cleans
      const Names names = names_in(checkpoints);
      const bool has_new = names.contains(kNew);
      if (names != (has_new ? Names{kOld, kNew} : Names{kOld}) || read_file(checkpoints / kOld) != old_bytes_ ||
          (has_new && read_file(checkpoints / kNew) != expected_)) {
        tally.fail(name + ": neither the old nor the new checkpoint");
      } else {
        ++tally.survived;
      }
    } else if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
      tally.fail(name + ": the child crashed");
    }
    std::filesystem::remove_all(run);
    return came;
  }

  ScratchDirectory scratch_;
  Sample old_{1};
  Sample new_{2};
  std::string old_bytes_, expected_;
};

int run(index elements) {
  Save save(elements);
  Tally tally;
  const auto at_every_call = [&](const char* name, FaultPlan plan, Verdict expected) {
    for (plan.nth = 1; save.strike(tally, plan, expected, concat(name, plan.for_ever ? " for ever, call " : ", call ", plan.nth));
         ++plan.nth) {
    }
    if (plan.nth < 20) {
      tally.fail(concat(name, ": only ", plan.nth, " calls were struck, a save has more"));
    }
  };
  for (const bool for_ever : {false, true}) {
    at_every_call("ENOSPC", {.for_ever = for_ever, .error = ENOSPC}, Verdict::failed_loudly);
    at_every_call("EIO", {.for_ever = for_ever, .error = EIO}, Verdict::failed_loudly);
    at_every_call("EDQUOT", {.for_ever = for_ever, .error = EDQUOT}, Verdict::failed_loudly);
    at_every_call("short count", {.for_ever = for_ever, .effect = Effect::short_count}, Verdict::absorbed);
  }
  at_every_call("EINTR", {.error = EINTR}, Verdict::absorbed);
  for (const Operation operation :
       {Operation::open, Operation::allocate, Operation::write, Operation::read, Operation::sync, Operation::size}) {
    save.strike(tally, {.operation = operation, .nth = 1, .for_ever = true, .error = EINTR}, Verdict::failed_loudly,
                concat("EINTR permanently, ", name_of(operation)));
  }
  at_every_call("kill", {.effect = Effect::kill}, Verdict::absorbed);
  tally.print();
  return 0;
}

}  // namespace
}  // namespace dikkat::torture

int main(int argc, char** argv) {
  using namespace dikkat::torture;
  return run_program("faults [ELEMENTS]", [&] { return run(argc > 1 ? std::stoll(argv[1]) : 0); });
}
