#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include <sys/types.h>

#include "autograd/base/index.h"

namespace dikkat {

/// What a child process may use.
struct ChildLimits {
  index memory_bytes = index{64} << 20;  ///< address space beyond what this process has
  index processor_seconds = 10;
  index patience_ms = 60'000;           ///< time to wait for it, much more than it may compute; none goes by while stopped (Ctrl-Z)
  index answer_bytes = index{1} << 20;  ///< the longest answer that is taken
};

/// A copy of this process that does one piece of work, which may crash, hang, eat memory or be taken over by what it reads. It can
/// open, rename and remove nothing, write to no file, start and signal no process (by a filter of system calls where the kernel has them,
/// and by limits anyhow), and has no descriptors but those it is given; it ends with the thread that started it. Ctrl-C is left to this
/// process.
class LimitedChild {
 public:
  struct Answer {
    std::string bytes{};
    std::string trouble{};  ///< empty if the work came to its end, else what happened, as "crashed (signal 11)"
    bool may_pass = false;  ///< it was killed from outside, as where memory is short, or had to wait too long: nothing that the work did
  };

  /// Begins `work(pipe)` in the child, with `descriptors` (two at most) left open; what it writes to the pipe is the answer. Of all
  /// threads the child has only the one that calls, so the work may wait for none, nor for a lock that another can hold. Throws Error
  /// if there can be no further process.
  LimitedChild(const ChildLimits& limits, std::span<const int> descriptors, const std::function<void(int pipe)>& work);
  LimitedChild(const LimitedChild&) = delete;
  LimitedChild& operator=(const LimitedChild&) = delete;
  ~LimitedChild();

  /// Waits for the end of the child, whatever it does. To be called once. Throws Error if the limits could not be set.
  Answer answer();

 private:
  bool more_to_read(std::string& bytes);
  bool ended_in_time();

  ChildLimits limits_;
  pid_t child_ = -1;
  int pipe_ = -1;
  int status_ = 0;
  std::int64_t waited_us_ = 0;
};

/// Writes all of an answer, for the child.
void write_answer(int pipe, std::string_view bytes);

}  // namespace dikkat
