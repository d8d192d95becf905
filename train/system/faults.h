#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "autograd/base/index.h"

namespace dikkat {

/// The system calls of a save, and the call that locks a folder.
enum class Operation : std::uint8_t { open, allocate, write, truncate, read, sync, close, rename, sync_directory, size, lock };

constexpr const char* name_of(Operation operation) {
  switch (operation) {
    case Operation::open: return "open";
    case Operation::allocate: return "reserve space";
    case Operation::write: return "write";
    case Operation::truncate: return "truncate";
    case Operation::read: return "read back";
    case Operation::sync: return "sync";
    case Operation::close: return "close";
    case Operation::rename: return "rename";
    case Operation::sync_directory: return "sync directory";
    case Operation::size: return "get the size";
    case Operation::lock: return "lock";
  }
  return "?";
}

/// A failure that a test injects. There is none unless `nth` is set.
struct FaultPlan {
  enum class Effect : std::uint8_t {
    error,        ///< the call fails with `error` and does nothing
    short_count,  ///< a read or write moves only half of its bytes; other calls are not affected
    kill,         ///< SIGKILL arrives just before the call
  };
  std::optional<Operation> operation = std::nullopt;  ///< only these calls count; nullopt: all calls count
  index nth = 0;                                      ///< the first call that fails, counted from 1
  bool for_ever = false;                              ///< whether all calls after it fail too
  Effect effect = Effect::error;
  int error = 0;  ///< errno
};

/// Counts system calls, and decides by a plan which of them fail. Thread-safe.
class Faults {
 public:
  explicit Faults(const FaultPlan& plan) : plan_(plan) {}

  /// Returns whether the next system call must fail. Call this once before each system call.
  bool strikes(Operation operation) {
    if (plan_.nth == 0 || (plan_.operation && *plan_.operation != operation)) {
      return false;
    }
    const index count = ++count_;
    return count == plan_.nth || (plan_.for_ever && count > plan_.nth);
  }
  const FaultPlan& plan() const { return plan_; }
  /// Returns whether the planned failure has happened.
  bool struck() const { return plan_.nth > 0 && count_ >= plan_.nth; }

 private:
  FaultPlan plan_;
  std::atomic<index> count_ = 0;
};

}  // namespace dikkat
