#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "train/parallel/ownership.h"
#include "train/parallel/transport.h"

namespace dikkat {

/// An error that every rank knows about, so that all exit cleanly. Rank 0 reports the message of the rank that failed.
class CollectiveError : public Error {
 public:
  CollectiveError(const std::string& what, bool is_input_error) : Error(what), is_input_error_(is_input_error) {}
  bool is_input_error() const { return is_input_error_; }

 private:
  bool is_input_error_;
};

/// Thrown on all other ranks, which exit without a message.
class ExitQuietly : public Error {
 public:
  ExitQuietly() : Error("the first rank has ended the run") {}
};

/// Another rank did not answer before the timeout.
class RankTimeout : public Error {
 public:
  using Error::Error;
};

/// The processes that train one model. A single process is a Ranks too. Every rank calls the same functions in the same order, and each
/// call returns when this rank has done its part. Sums are added by a fixed tree over the ranks. Rank 0, the first, is the only one that
/// reads and writes the run directory and prints messages.
class Ranks {
 public:
  /// Makes a single process, which exchanges nothing.
  Ranks() = default;
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;
  /// If another rank does not answer for `timeout` seconds, functions throw RankTimeout, which names it. Before that, `on_silence` receives
  /// a warning, on the waiting thread.
  Ranks(std::unique_ptr<Transport> transport, double timeout, std::function<void(const std::string&)> on_silence = {});

  int rank() const { return rank_; }
  int size() const { return size_; }
  bool is_first() const { return rank_ == 0; }
  void set_timeout(double seconds) { timeout_ = std::chrono::duration<double>(seconds); }
  /// Returns the seconds that this rank spent in exchanges since the last call, waiting included. Always 0 for a single process.
  double take_exchange_seconds() { return std::exchange(exchange_seconds_, 0.0); }
  /// Returns a rank's name: "rank 3 on node17".
  const std::string& name_of(int rank) const { return names_[static_cast<std::size_t>(rank)]; }
  /// Returns the host of each rank.
  const std::vector<std::string>& hosts() const { return hosts_; }
  /// Returns the number of ranks on this rank's host.
  int on_this_host() const;
  /// Returns the transport's name, "Open MPI 4.1.4"; empty for a single process.
  std::string transport_name() const { return transport_ ? transport_->name() : ""; }
  /// Ends all ranks immediately with this exit code.
  [[noreturn]] void abort(int exit_code);

  /// Copies each rank's elements to all ranks. `parts` cover the exchanged elements, and are equal on all ranks.
  template <class T>
  void share(std::span<const OwnedRange> parts, T* elements) {
    move(parts, reinterpret_cast<std::byte*>(elements), sizeof(T), Receiver::all);
  }
  /// Copies each rank's elements to the first rank.
  template <class T>
  void gather(std::span<const OwnedRange> parts, T* elements) {
    move(parts, reinterpret_cast<std::byte*>(elements), sizeof(T), Receiver::first);
  }

  /// A sum in progress, with the memory that it needs.
  class Sum {
    friend class Ranks;
    std::span<const OwnedRange> parts_;
    float* elements_ = nullptr;
    std::vector<float> partials_;  // other ranks' values of this rank's parts
    std::vector<std::pair<Transport::Message, int>> messages_;
  };
  /// Starts to replace the elements that this rank owns by the sum over all ranks, (0 + 1) + (2 + 3) + ... Other elements keep their
  /// values. Neither elements nor `parts` may change until end_sum() returns. Sums end in the order in which they began. Another thread may
  /// call begin_sum() and end_sum() while the first one calls nothing.
  void begin_sum(Sum& sum, std::span<const OwnedRange> parts, float* elements);
  /// Calls `meanwhile` repeatedly while it waits. That function may begin other sums.
  void end_sum(Sum& sum, const std::function<void()>& meanwhile = [] {});
  /// Makes every later wait for another rank throw, because this rank stops taking part.
  void cancel() { is_canceled_ = true; }

  /// Sends this rank's values and receives the others'. `values` has the same number of elements for each rank.
  template <class T>
  void share_equally(std::span<T> values) {
    const auto each = static_cast<index>(values.size()) / size();
    std::vector<OwnedRange> parts;
    for (int rank = 0; rank < size(); ++rank) {
      parts.push_back({rank * each, (rank + 1) * each, rank});
    }
    share<T>(parts, values.data());
  }
  /// Returns the largest of the ranks' numbers.
  int largest(int mine);
  /// Returns whether the condition holds on any rank.
  bool any(bool mine) { return largest(int{mine}) != 0; }
  /// Runs `work`, which may throw, and must communicate only through a nested call. If it fails on any rank, the first rank throws
  /// CollectiveError and the others ExitQuietly. A single process throws the original error.
  void run_on_all(const std::function<void()>& work);
  /// Runs `work` on the first rank while the others wait. `work` returns whether it was completed. It may call the function that it
  /// receives repeatedly, to learn whether `stop` holds on any rank. All ranks return the result of `work`. If `work` throws, the first
  /// rank throws, and the others return true.
  bool on_first(const std::function<bool(const std::function<bool()>& any_stops)>& work, const std::function<bool()>& stop);
  /// Throws `error` on the first rank and ExitQuietly on the others. Every rank calls it.
  template <class E>
  [[noreturn]] void fail_together(const E& error) const {
    if (!is_first()) {
      throw ExitQuietly();
    }
    throw error;
  }
  /// Fails as run_on_all() does unless text() is equal on all ranks. The message names the rank that differs, and `what`: "corpus". A
  /// single process does not call text().
  void require_same(const std::string& what, const std::function<std::string()>& text);
  /// Returns the first rank's text on all ranks.
  std::string from_first(std::string text);

 private:
  enum class Receiver { all, first };
  using Messages = std::vector<std::pair<Transport::Message, int>>;  // each with the other rank
  void move(std::span<const OwnedRange> parts, std::byte* elements, std::size_t size_of_element, Receiver receiver);
  enum class Waiting { busily, asleep };
  void wait(Messages& messages, Waiting how, const std::function<void()>& meanwhile);
  std::string describe_silence(const Messages& messages, double seconds) const;

  std::unique_ptr<Transport> transport_;  // null for a single process
  int rank_ = 0, size_ = 1;
  std::chrono::duration<double> timeout_{};
  std::function<void(const std::string&)> on_silence_;
  std::atomic<bool> is_canceled_ = false;
  double exchange_seconds_ = 0;
  std::vector<std::string> names_{"rank 0"}, hosts_{""};
  Messages messages_;
};

}  // namespace dikkat
