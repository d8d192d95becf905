#include "train/cli/with_ranks.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <thread>

#include <unistd.h>

#include "autograd/base/cores.h"
#include "autograd/base/error.h"
#include "autograd/base/parallel.h"
#include "train/cli/command_line.h"
#include "train/cli/streams.h"
#include "train/parallel/launcher.h"
#include "train/run/trainer.h"
#include "train/system/foreign_failure.h"

namespace dikkat {
namespace {

constexpr auto kToBeRead =
    std::chrono::milliseconds(500);  // by the launcher, which passes messages on, and may drop what it has not read when it aborts

int all_cores() { return static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN)); }

const char* variable(const char* name) { return std::getenv(name); }  // NOLINT(concurrency-mt-unsafe)

/// This rank cannot be connected, and the others wait for it. Open MPI's launcher ends them when it exits, and MPICH's only when a signal
/// ends it.
[[noreturn]] void leave_the_others(const std::string& reason) {
  char host[256] = "";
  ::gethostname(host, sizeof(host) - 1);
  const std::string what = concat("rank ", number_by_launcher(variable), " on ", host, ": ", reason);
  if (variable("PMI_SIZE") != nullptr) {
    warn("dikkat: " + what);
    std::this_thread::sleep_for(kToBeRead);
    ::kill(::getpid(), SIGKILL);
  }
  fail_input(what);
}

}  // namespace

int with_ranks(const std::function<int(std::shared_ptr<Ranks>)>& command) {
  // Where all ranks end in order, the first one's exit code is the job's. Open MPI's launcher kills all at the first code that is not 0,
  // and may drop what was said.
  constexpr int kLeftToFirst = 0, kFailure = 1, kBadInput = 2;
  constexpr double kSecondsToStart = 600;  // until the configuration says another timeout: reading a corpus takes its time
  std::unique_ptr<Transport> transport;
  try {
    transport = connect_ranks();
  } catch (const LaunchError&) {
    if (number_by_launcher(variable) > 0) {
      return kLeftToFirst;
    }
    throw;
  } catch (const InputError& failure) {
    leave_the_others(failure.what());
  }
  if (!transport) {
    return command(nullptr);
  }
  const auto ranks = std::make_shared<Ranks>(std::move(transport), kSecondsToStart, [](const std::string& sentence) {
    if (!is_quiet()) {
      warn("dikkat: " + sentence);
    }
  });
  if (!ranks->is_first()) {
    be_quiet();
  }
  // Ranks that are not bound to cores of their own share those of their machine.
  if (const int share = std::max(1, all_cores() / ranks->on_this_host());
      variable("OMP_NUM_THREADS") == nullptr && thread_count() == usable_cores() && thread_count() > share) {
    set_thread_count(share);
  }
  const auto say = [&](const std::exception& failure) {
    warn(concat("dikkat: ", ranks->is_first() ? "" : ranks->name_of(ranks->rank()) + ": ", sentence_about(failure, running_command())));
  };
  try {
    const int code = command(ranks);
    return ranks->is_first() ? code : kLeftToFirst;
  } catch (const ExitQuietly&) {
    return kLeftToFirst;
  } catch (const CollectiveError& failure) {  // all ranks know, and end in order
    say(failure);
    return failure.is_input_error() ? kBadInput : kFailure;
  } catch (const Diverged& failure) {
    say(failure);
    return kFailure;
  } catch (const std::exception& failure) {
    say(failure);
    const int code = dynamic_cast<const InputError*>(&failure) != nullptr ? kBadInput : kFailure;
    std::this_thread::sleep_for(kToBeRead);
    ranks->transport()->abort(code);
    return code;
  }
}

}  // namespace dikkat
