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

/// An error that ends all ranks in order, because all know of it: what the first says, which is the text of the rank that met it.
class CollectiveError : public Error {
 public:
  CollectiveError(const std::string& what, bool is_input_error) : Error(what), is_input_error_(is_input_error) {}
  bool is_input_error() const { return is_input_error_; }

 private:
  bool is_input_error_;
};

/// The same on the other ranks, which say nothing.
class ExitQuietly : public Error {
 public:
  ExitQuietly() : Error("the first rank has ended the run") {}
};

/// Another rank has not answered for as long as the timeout says.
class RankTimeout : public Error {
 public:
  using Error::Error;
};

/// The processes that train one model. Every rank calls the same functions in the same order; each returns when this rank's part is done.
/// Additions are a fixed tree over the ranks. Rank 0 is the first: it alone reads and writes the run directory, and speaks.
class Ranks {
 public:
  /// This process alone.
  Ranks() = default;
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;
  /// `timeout`: seconds without an answer after which a function throws RankTimeout, which names it. Earlier, `on_silence` gets a sentence
  /// about it, from whichever thread waits.
  Ranks(std::unique_ptr<Transport> transport, double timeout, std::function<void(const std::string&)> on_silence = {});

  int rank() const { return transport_ ? transport_->rank() : 0; }
  int size() const { return transport_ ? transport_->size() : 1; }
  bool is_first() const { return rank() == 0; }
  Transport* transport() const { return transport_.get(); }
  void set_timeout(double seconds) { timeout_ = std::chrono::duration<double>(seconds); }
  /// Seconds that this rank has exchanged, and waited, since the last call.
  double take_exchange_seconds() { return std::exchange(exchange_seconds_, 0.0); }
  /// "rank 3 on node17".
  const std::string& name_of(int rank) const { return names_[static_cast<std::size_t>(rank)]; }
  /// The machine of each rank, and how many of them run on this rank's.
  const std::vector<std::string>& hosts() const { return hosts_; }
  int on_this_host() const;

  /// Each rank's elements become known to all. `parts` cover what is exchanged, in the same way on all ranks.
  template <class T>
  void share(std::span<const OwnedRange> parts, T* elements) {
    move(parts, reinterpret_cast<std::byte*>(elements), sizeof(T), Receiver::all);
  }
  /// Each rank's elements become known to the first.
  template <class T>
  void gather(std::span<const OwnedRange> parts, T* elements) {
    move(parts, reinterpret_cast<std::byte*>(elements), sizeof(T), Receiver::first);
  }

  /// A sum that is under way, and the memory that it needs.
  class Sum {
    friend class Ranks;
    std::span<const OwnedRange> parts_;
    float* elements_ = nullptr;
    std::vector<float> partials_;  // received, of this rank's parts
    std::vector<std::pair<Transport::Message, int>> messages_;
  };
  /// Begins to make each owner's elements the sum of all ranks': (0 + 1) + (2 + 3) + ... The others' are left as they are. None of them,
  /// nor `parts`, may change until end_sum() has returned. Sums end in the order in which they began. Another thread may call these two
  /// while the first one calls nothing.
  void begin_sum(Sum& sum, std::span<const OwnedRange> parts, float* elements);
  /// `meanwhile` is called again and again while it waits, and may begin other sums.
  void end_sum(Sum& sum, const std::function<void()>& meanwhile = [] {});
  /// From now on, whatever waits for another rank throws: this rank gives up.
  void cancel() { is_cancelled_ = true; }

  /// `values` has an equal number for each rank, of which this rank's are set; the others' are received.
  template <class T>
  void share_equally(std::span<T> values) {
    if (!transport_) {
      return;
    }
    const auto each = static_cast<index>(values.size()) / size();
    std::vector<OwnedRange> parts;
    for (int rank = 0; rank < size(); ++rank) {
      parts.push_back({rank * each, (rank + 1) * each, rank});
    }
    share<T>(parts, values.data());
  }
  /// The largest of the numbers that the ranks have.
  int largest(int mine);
  /// Whether it holds on any rank.
  bool any(bool mine) { return largest(int{mine}) != 0; }
  /// Does something that may fail, and in which nothing is exchanged but by another run_on_all(). If it fails on any rank, the first throws
  /// CollectiveError, and the others ExitQuietly. Alone: throws what it throws.
  void run_on_all(const std::function<void()>& work);
  /// Fails as run_on_all() does, and names the rank, unless this text is the same on all ranks. `what` it is: "corpus".
  void require_same(const std::string& what, const std::string& text);
  /// The first's text, on all ranks.
  std::string from_first(std::string text);

 private:
  enum class Receiver { all, first };
  using Messages = std::vector<std::pair<Transport::Message, int>>;  // with the other rank
  void move(std::span<const OwnedRange> parts, std::byte* elements, std::size_t size_of_element, Receiver receiver);
  enum class Waiting { busily, asleep };
  void wait(Messages& messages, Waiting how, const std::function<void()>& meanwhile);
  std::string silence_of(const Messages& messages, double seconds) const;

  std::unique_ptr<Transport> transport_;
  std::chrono::duration<double> timeout_{};
  std::function<void(const std::string&)> on_silence_;
  std::atomic<bool> is_cancelled_ = false;
  double exchange_seconds_ = 0;
  std::vector<std::string> names_{"rank 0"}, hosts_{""};
  Messages messages_;
};

}  // namespace dikkat
