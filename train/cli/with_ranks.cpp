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
#include "train/cli/terminal/streams.h"
#include "train/run/trainer.h"
#include "train/system/foreign_failure.h"

namespace dikkat {
namespace {

// The time that the launcher needs to read and print a message. When a rank aborts, it may drop messages that it has not read.
constexpr auto kToBeRead = std::chrono::milliseconds(500);

const char* environment_variable(const char* name) { return std::getenv(name); }  // NOLINT(concurrency-mt-unsafe)

/// Ends this rank, which cannot be connected, so that the launcher ends the others, which wait for it. Open MPI's launcher does so when a
/// rank exits, MPICH's only when a signal ends it.
[[noreturn]] void end_unconnected(const std::string& reason) {
  char host[256] = "";
  ::gethostname(host, sizeof(host) - 1);
  const std::string what = concat("rank ", rank_by_launcher(environment_variable), " on ", host, ": ", reason);
  if (environment_variable("PMI_SIZE") != nullptr) {
    warn("dikkat: " + what);
    std::this_thread::sleep_for(kToBeRead);
    ::kill(::getpid(), SIGKILL);
  }
  fail_input(what);
}

}  // namespace

int with_ranks(const std::function<int(const std::shared_ptr<Ranks>&)>& command) {
  // If all ranks exit cleanly, the job's exit code is that of the first. Open MPI's launcher kills all ranks when one exits with a code
  // other than 0, and may then drop messages.
  constexpr int kLeftToFirst = 0, kFailure = 1, kBadInput = 2;
  constexpr double kSecondsToStart = 600;  // the timeout until the configuration is known; reading a corpus takes long

  // Connect the ranks.
  std::unique_ptr<Transport> transport;
  try {
    transport = connect_ranks();
  } catch (const LaunchError& failure) {
    if (failure.whose() == LaunchError::Whose::job || !is_first_to_fail(failure)) {
      throw;
    }
    end_unconnected(failure.what());
  } catch (const InputError& failure) {
    end_unconnected(failure.what());
  }
  if (!transport) {
    return command(std::make_shared<Ranks>());
  }
  const auto ranks = std::make_shared<Ranks>(std::move(transport), kSecondsToStart, [](const std::string& sentence) {
    if (!is_quiet()) {
      warn("dikkat: " + sentence);
    }
  });
  if (!ranks->is_first()) {
    be_quiet();
  }

  // Ranks of one machine share its cores, unless each is bound to its own.
  const auto all_cores = static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN));
  if (const int share = std::max(1, all_cores / ranks->on_this_host());
      environment_variable("OMP_NUM_THREADS") == nullptr && thread_count() == usable_cores() && thread_count() > share) {
    set_thread_count(share);
  }

  // Run the command. An error that all ranks know about ends them cleanly; any other error aborts them.
  const auto report = [&](const std::exception& failure) {
    warn(concat("dikkat: ", ranks->is_first() ? "" : ranks->name_of(ranks->rank()) + ": ", sentence_about(failure, running_command())));
  };
  try {
    const int code = command(ranks);
    return ranks->is_first() ? code : kLeftToFirst;
  } catch (const ExitQuietly&) {
    return kLeftToFirst;
  } catch (const CollectiveError& failure) {
    report(failure);
    return failure.is_input_error() ? kBadInput : kFailure;
  } catch (const Diverged& failure) {
    report(failure);
    return kFailure;
  } catch (const std::exception& failure) {
    report(failure);
    const int code = dynamic_cast<const InputError*>(&failure) != nullptr ? kBadInput : kFailure;
    std::this_thread::sleep_for(kToBeRead);
    ranks->abort(code);
  }
}

void require_one_process(const char* command) {
  if (launcher(environment_variable)) {
    throw LaunchError(concat(command, " runs in one process: start it without mpirun or srun"));
  }
}

bool is_first_to_fail(const LaunchError& failure) {
  return (failure.whose() == LaunchError::Whose::job ? rank_by_launcher(environment_variable)
                                                     : rank_on_host_by_launcher(environment_variable)) == 0;
}

}  // namespace dikkat
