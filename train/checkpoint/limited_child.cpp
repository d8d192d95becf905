#include "train/checkpoint/limited_child.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "autograd/base/error.h"
#include "train/checkpoint/system_call_filter.h"
#include "train/io/digits.h"
#include "train/io/file.h"

namespace dikkat {

namespace {

constexpr int kLimitsFailed = 120;  // exit statuses of the child
constexpr int kWorkThrew = 121;
constexpr index kSliceMs = 100;

/// All signals are held back while this lives, so that no handler of this process runs in a child that was just made.
class SignalsHeld {
 public:
  SignalsHeld() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  SignalsHeld(const SignalsHeld&) = delete;
  SignalsHeld& operator=(const SignalsHeld&) = delete;
  ~SignalsHeld() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
};

// From here to run_child: in the child, where only one thread is left and nothing may be waited for.

void take_default_signals() {
  struct sigaction action {};
  sigemptyset(&action.sa_mask);
  for (int signal = 1; signal < NSIG; ++signal) {
    // What a terminal or a service manager sends goes to parent and child alike, and it is for the parent to heed.
    const bool for_the_parent = signal == SIGINT || signal == SIGTERM || signal == SIGHUP || signal == SIGQUIT;
    action.sa_handler = for_the_parent ? SIG_IGN : SIG_DFL;
    sigaction(signal, &action, nullptr);  // refused for SIGKILL, SIGSTOP and those of the C library
  }
  sigset_t none;
  sigemptyset(&none);
  pthread_sigmask(SIG_SETMASK, &none, nullptr);
}

/// Bytes of address space in use, 0 if that cannot be found out.
rlim_t address_space() {
  std::array<char, 64> text{};
  const int statm = ::open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  const ssize_t size = statm < 0 ? -1 : ::read(statm, text.data(), text.size() - 1);
  ::close(statm);
  return size <= 0 ? 0 : std::strtoull(text.data(), nullptr, 10) * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE));
}

bool limit(int resource, rlim_t soft, rlim_t hard) {
  rlimit now{};
  if (::getrlimit(static_cast<__rlimit_resource>(resource), &now) != 0) {
    return false;
  }
  const rlimit wanted{.rlim_cur = std::min(soft, now.rlim_max), .rlim_max = std::min(hard, now.rlim_max)};
  return ::setrlimit(static_cast<__rlimit_resource>(resource), &wanted) == 0;
}
bool limit(int resource, rlim_t value) { return limit(resource, value, value); }

/// By hand where the kernel is too old for close_range (before 5.9), or does not let it be used: what /proc lists, since there may be room
/// for a thousand million. Between fork() and the work there is no malloc, so no opendir() either.
void close_between(unsigned first, unsigned last) {
  if (::close_range(first, last, 0) == 0) {
    return;
  }
  struct Entry {  // as getdents64(2) gives it; the name follows
    std::uint64_t inode;
    std::int64_t offset;
    std::uint16_t bytes;
    std::uint8_t type;
  };
  const int list = ::open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  alignas(Entry) std::array<char, 4096> block{};
  for (long size = 0; (size = ::syscall(SYS_getdents64, list, block.data(), block.size())) > 0;) {
    for (long at = 0; at < size;) {
      const auto* entry = reinterpret_cast<const Entry*>(block.data() + at);
      const char* name = block.data() + at + offsetof(Entry, type) + 1;
      if (const auto descriptor = std::strtoul(name, nullptr, 10);
          *name != '.' && first <= descriptor && descriptor <= last && descriptor != static_cast<unsigned long>(list)) {
        ::close(static_cast<int>(descriptor));
      }
      at += entry->bytes;
    }
  }
  ::close(list);
}

void close_all_but(std::array<int, 3> kept) {
  std::sort(kept.begin(), kept.end());
  unsigned next = 0;
  for (const int descriptor : kept) {
    const auto number = static_cast<unsigned>(descriptor);
    if (descriptor >= 0 && number >= next) {
      if (number > next) {
        close_between(next, number - 1);
      }
      next = number + 1;
    }
  }
  close_between(next, std::numeric_limits<unsigned>::max());
}

bool set_limits(const ChildLimits& limits, pid_t parent) {
  const rlim_t in_use = address_space();
  const auto seconds = static_cast<rlim_t>(limits.processor_seconds);
  return ::prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && ::getppid() == parent && in_use > 0 &&
         limit(RLIMIT_AS, in_use + static_cast<rlim_t>(limits.memory_bytes)) && limit(RLIMIT_CPU, seconds, seconds + 1) &&
         limit(RLIMIT_FSIZE, 0) && limit(RLIMIT_CORE, 0) && limit(RLIMIT_NPROC, 0) && limit(RLIMIT_NOFILE, 0);
}

[[noreturn]] void run_child(const ChildLimits& limits, pid_t parent, std::span<const int> descriptors, int pipe,
                            const std::function<void(int pipe)>& work) {
  take_default_signals();
  std::array<int, 3> kept{-1, -1, pipe};
  std::copy(descriptors.begin(), descriptors.end(), kept.begin());
  close_all_but(kept);
  if (!set_limits(limits, parent)) {
    ::_exit(kLimitsFailed);
  }
  // Where the kernel has none, the limits must do: no file is worth losing because of it.
  static_cast<void>(keep_computing_calls_only());
  try {
    work(pipe);
  } catch (...) {
    ::_exit(kWorkThrew);
  }
  ::_exit(0);
}

/// How a child ended, as waitpid tells it; empty for a good end.
std::string trouble_of(int status, const ChildLimits& limits) {
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    if (signal == SIGXCPU) {
      return concat("took more than ", limits.processor_seconds, " s of processor time");
    }
    return concat("crashed (signal ", signal, ")");
  }
  const int exit_status = WEXITSTATUS(status);
  return exit_status == 0 ? "" : concat("ended too early (status ", exit_status, ")");
}

}  // namespace

LimitedChild::LimitedChild(const ChildLimits& limits, std::span<const int> descriptors, const std::function<void(int pipe)>& work)
    : limits_(limits) {
  require(descriptors.size() <= 2, "a limited child keeps ", descriptors.size(), " descriptors, expected at most 2");
  std::array<int, 2> ends{};
  require(::pipe2(ends.data(), O_CLOEXEC) == 0, "cannot make a pipe: ", errno_text);
  const pid_t parent = ::getpid();
  int error = 0;
  {
    const SignalsHeld held;
    child_ = ::fork();
    error = errno;
    if (child_ == 0) {
      run_child(limits, parent, descriptors, ends[1], work);
    }
  }
  ::close(ends[1]);
  pipe_ = ends[0];
  if (child_ < 0) {
    ::close(pipe_);
    fail("cannot start a process to parse the file in: ", describe_errno(error));
  }
}

LimitedChild::~LimitedChild() {
  ::close(pipe_);
  if (child_ > 0) {
    ::kill(child_, SIGKILL);
    while (::waitpid(child_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
}

/// Waits for a slice of time at most. False at the end of the pipe.
bool LimitedChild::more_to_read(std::string& bytes) {
  pollfd ready{.fd = pipe_, .events = POLLIN, .revents = 0};
  if (::poll(&ready, 1, static_cast<int>(kSliceMs)) <= 0) {
    return true;
  }
  std::array<char, std::size_t{1} << 16> buffer{};
  const ssize_t count = ::read(pipe_, buffer.data(), buffer.size());
  if (count > 0) {
    bytes.append(buffer.data(), static_cast<std::size_t>(count));
  }
  return count > 0 || (count < 0 && errno == EINTR);
}

/// A child can close its pipe and live on: it is not waited for without end.
bool LimitedChild::ended_in_time() {
  for (useconds_t pause = 50;; pause = std::min(2 * pause, useconds_t{10'000})) {
    const pid_t ended = ::waitpid(child_, &status_, WNOHANG);
    if (ended == child_ || (ended < 0 && errno == ECHILD)) {  // ECHILD: SIGCHLD is ignored here, and how it ended is not told
      child_ = -1;
      return true;
    }
    if (waited_us_ > limits_.patience_ms * 1000) {
      return false;
    }
    ::usleep(pause);
    waited_us_ += pause;
  }
}

void write_answer(int pipe, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(pipe, bytes.data(), bytes.size());
    if (count > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(count));
    } else if (count < 0 && errno != EINTR) {
      return;  // nobody is there to read it
    }
  }
}

LimitedChild::Answer LimitedChild::answer() {
  using Clock = std::chrono::steady_clock;
  Answer answer;
  const auto too_late = [&] {
    return Answer{.trouble = concat("came to no end within ", static_cast<double>(limits_.patience_ms) / 1000, " s"), .may_pass = true};
  };
  for (bool more = true; more;) {
    const auto before = Clock::now();
    more = more_to_read(answer.bytes);
    // Of a long while in which this process was stopped no more than a slice counts.
    const auto passed = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - before).count();
    waited_us_ += std::min<std::int64_t>(passed, kSliceMs * 1000);
    if (static_cast<index>(answer.bytes.size()) > limits_.answer_bytes) {
      return {.trouble = concat("gave an answer of more than ", grouped_digits(limits_.answer_bytes), " bytes")};
    }
    if (more && waited_us_ > limits_.patience_ms * 1000) {
      return too_late();
    }
  }
  if (!ended_in_time()) {
    return too_late();
  }
  require(!WIFEXITED(status_) || WEXITSTATUS(status_) != kLimitsFailed,
          "cannot limit the process that is to parse the file (is /proc mounted?)");
  answer.may_pass = WIFSIGNALED(status_) && WTERMSIG(status_) == SIGKILL;
  answer.trouble = answer.may_pass ? "was killed, as where memory is short" : trouble_of(status_, limits_);
  return answer;
}

}  // namespace dikkat
