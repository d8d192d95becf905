#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <string>

#include <malloc.h>
#include <signal.h>
#include <unistd.h>

#include "autograd/base/error.h"
#include "autograd/base/parallel.h"
#include "train/cli/command_line.h"
#include "train/cli/environment.h"
#include "train/cli/terminal/signals.h"
#include "train/cli/terminal/stack.h"
#include "train/cli/terminal/streams.h"
#include "train/cli/with_ranks.h"
#include "train/system/foreign_failure.h"
#include "train/system/machine_memory.h"
#include "train/system/missing_guard.h"
#include "train/system/out_of_memory.h"

namespace {

constexpr int kFailure = 1;

/// Prints a message without allocating, since there may be no memory left.
void print_error(const char* text) noexcept {
  char line[512];
  const int size = std::snprintf(line, sizeof line, "dikkat: %s\n", text);
  const auto length = static_cast<std::size_t>(size < 0 ? 0 : size);
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, line, length < sizeof line ? length : sizeof line - 1);
}

void print_out_of_memory(const std::bad_alloc& refused) noexcept {
  char text[128];
  if (const auto* known = dynamic_cast<const dikkat::RefusedMemory*>(&refused)) {
    std::snprintf(text, sizeof text, "out of memory: %zu more bytes (%zu MiB) are not available", known->bytes(), known->bytes() >> 20);
  } else {
    std::snprintf(text, sizeof text, "out of memory: a library asked for more than is available");
  }
  print_error(text);
}

/// Handles exceptions that nothing catches, such as in a library's thread: prints the message instead of dumping core. The run directory is
/// valid whenever the process ends.
[[noreturn]] void end_with_what_failed() noexcept {
  try {
    if (const auto failure = std::current_exception()) {
      std::rethrow_exception(failure);
    }
  } catch (const std::bad_alloc& refused) {
    print_out_of_memory(refused);
    std::_Exit(kFailure);
  } catch (const std::exception& e) {
    print_error(dikkat::sentence_about(e, dikkat::running_command()).c_str());
    std::_Exit(kFailure);
  } catch (...) {
  }
  std::abort();
}

/// Ends the process by SIGPIPE and without a message, as other programs do when their reader leaves (`dikkat --help-config | head`). A
/// shell shows this as exit code 141.
[[noreturn]] void end_as_by_sigpipe() noexcept {
  constexpr int kAsShellsShowIt = 128 + SIGPIPE;
  ::signal(SIGPIPE, SIG_DFL);
  sigset_t pipe{};
  ::sigemptyset(&pipe);
  ::sigaddset(&pipe, SIGPIPE);
  ::raise(SIGPIPE);
  ::pthread_sigmask(SIG_UNBLOCK, &pipe, nullptr);
  std::_Exit(kAsShellsShowIt);
}

/// Lets all threads share one heap if address space is limited (ulimit -v). For another heap the C library would briefly reserve 128 MB,
/// and not every library survives an allocation that fails meanwhile.
void share_one_heap_where_space_is_limited() {
  if (dikkat::machine_memory().address_space != dikkat::kNoLimit) {
    ::mallopt(M_ARENA_MAX, 1);  // NOLINT(concurrency-mt-unsafe): there are no other threads yet
  }
}

}  // namespace

int main(int argc, char** argv) {
  constexpr int kBadInput = 2;
  std::set_terminate(end_with_what_failed);
  dikkat::hold_standard_streams();
  dikkat::wait_briefly(argv);
  try {
    dikkat::ensure_stack();
    share_one_heap_where_space_is_limited();
    dikkat::handle_signals();
    dikkat::on_missing_guard([](const std::string& sentence) { dikkat::warn("warning   " + sentence); });
    dikkat::check_environment();
    return dikkat::run_command_line(argc, argv);
  } catch (const dikkat::ClosedOutput&) {
    end_as_by_sigpipe();
  } catch (const dikkat::LaunchError& e) {
    if (!dikkat::is_first_to_fail(e)) {
      return EXIT_SUCCESS;  // Open MPI's launcher kills all ranks when one exits with another code, and may drop the message
    }
    dikkat::warn(dikkat::concat("dikkat: ", e.what()));
    return kBadInput;
  } catch (const dikkat::InputError& e) {
    dikkat::warn(dikkat::concat("dikkat: ", e.what()));
    return kBadInput;
  } catch (const std::bad_alloc& refused) {
    print_out_of_memory(refused);
  } catch (const std::exception& e) {
    dikkat::warn(dikkat::concat("dikkat: ", dikkat::sentence_about(e, dikkat::running_command())));
  }
  return kFailure;
}
