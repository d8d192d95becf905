#include "train/cli/with_ranks.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <thread>

#include <unistd.h>

#include "autograd/base/cores.h"
#include "autograd/base/error.h"
#include "autograd/base/parallel.h"
#include "train/cli/streams.h"
#include "train/loop/trainer.h"
#include "train/parallel/launcher.h"

namespace dikkat {
namespace {

int all_cores() { return static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN)); }

}  // namespace

int with_ranks(const std::function<int(std::shared_ptr<Ranks>)>& command) {
  constexpr int kFailure = 1, kBadInput = 2;
  constexpr auto kToBeRead = std::chrono::milliseconds(500);  // by the launcher, which passes messages on, and may drop what it has not read when it aborts
  constexpr double kSecondsToStart = 600;  // until the configuration says another timeout: reading a corpus takes its time
  std::unique_ptr<Engine> engine;
  try {
    engine = connect_ranks();
  } catch (const InputError&) {  // which all meet, and the first tells
    if (number_by_launcher([](const char* name) -> const char* { return std::getenv(name); }) > 0) {  // NOLINT(concurrency-mt-unsafe): nobody sets variables
      return kBadInput;
    }
    throw;
  }
  if (!engine) {
    return command(nullptr);
  }
  const auto ranks = std::make_shared<Ranks>(std::move(engine), kSecondsToStart, [](const std::string& sentence) {
    if (!is_quiet()) {
      warn("dikkat: " + sentence);
    }
  });
  if (!ranks->is_first()) {
    be_quiet();
  }
  // Ranks that are not bound to cores of their own share those of their machine.
  if (const int share = std::max(1, all_cores() / ranks->on_this_host()); 
      std::getenv("OMP_NUM_THREADS") == nullptr && thread_count() == usable_cores() && thread_count() > share) {  // NOLINT(concurrency-mt-unsafe)
    set_thread_count(share);
  }
  const auto say = [&](const std::exception& failure) {
    warn(concat("dikkat: ", ranks->is_first() ? "" : ranks->name_of(ranks->rank()) + ": ", failure.what()));
  };
  try {
    return command(ranks);
  } catch (const EndedByFirst& end) {
    return end.is_input_error() ? kBadInput : kFailure;
  } catch (const Agreed& failure) {  // all ranks know, and end in order
    say(failure);
    return failure.is_input_error() ? kBadInput : kFailure;
  } catch (const Diverged& failure) {
    say(failure);
    return kFailure;
  } catch (const std::exception& failure) {
    say(failure);
    const int code = dynamic_cast<const InputError*>(&failure) != nullptr ? kBadInput : kFailure;
    std::this_thread::sleep_for(kToBeRead);
    ranks->engine()->abort(code);
    return code;
  }
}

}  // namespace dikkat
