#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "train/parallel/engine.h"
#include "train/parallel/ownership.h"

namespace dikkat {

/// An error that ends all ranks in order, because all know of it: what the first says, which is the text of the rank that met it.
class Agreed : public Error {
 public:
  Agreed(const std::string& what, bool is_input_error) : Error(what), is_input_error_(is_input_error) {}
  bool is_input_error() const { return is_input_error_; }

 private:
  bool is_input_error_;
};

/// The same on the other ranks, which say nothing.
class EndedByFirst : public Error {
 public:
  explicit EndedByFirst(bool is_input_error = false) : Error("the first rank has ended the run"), is_input_error_(is_input_error) {}
  bool is_input_error() const { return is_input_error_; }

 private:
  bool is_input_error_;
};

/// Another rank has not answered for as long as the timeout says.
class SilentRank : public Error {
 public:
  using Error::Error;
};

/// The processes that train one model. Every rank calls the same functions in the same order; each returns when this rank's part is done. Additions are a fixed
/// tree over the ranks. Rank 0 is the first: it alone reads and writes the run directory, and speaks.
class Ranks {
 public:
  /// This process alone.
  Ranks() = default;
  /// `timeout`: seconds without an answer after which a function throws SilentRank, which names it.
  Ranks(std::unique_ptr<Engine> engine, double timeout);

  int rank() const { return engine_ ? engine_->rank() : 0; }
  int size() const { return engine_ ? engine_->size() : 1; }
  bool is_first() const { return rank() == 0; }
  Engine* engine() const { return engine_.get(); }
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
  void share(std::span<const Owned> parts, T* elements) {
    move(parts, reinterpret_cast<std::byte*>(elements), sizeof(T), Receiver::all);
  }
  /// Each rank's elements become known to the first.
  template <class T>
  void gather(std::span<const Owned> parts, T* elements) {
    move(parts, reinterpret_cast<std::byte*>(elements), sizeof(T), Receiver::first);
  }
  /// Each owner's elements become the sum of all ranks': (0 + 1) + (2 + 3) + ... The others' are left as they are. The ranks are a power of two.
  void sum(std::span<const Owned> parts, float* elements);

  /// `values` has an equal number for each rank, of which this rank's are set; the others' are received.
  template <class T>
  void share_equally(std::span<T> values) {
    if (!engine_) {
      return;
    }
    const auto each = static_cast<index>(values.size()) / size();
    std::vector<Owned> parts;
    for (int rank = 0; rank < size(); ++rank) {
      parts.push_back({rank * each, (rank + 1) * each, rank});
    }
    share<T>(parts, values.data());
  }
  /// Whether it holds on any rank.
  bool any(bool mine);
  /// Does something that may fail, and in which nothing is exchanged but by another together(). If it fails on any rank, the first throws Agreed, and the others EndedByFirst. Alone: throws
  /// what it throws.
  void together(const std::function<void()>& work);
  /// Fails as together() does, and names the rank, unless this text is the same on all ranks. `what` it is: "corpus".
  void require_same(const std::string& what, const std::string& text);
  /// The first's text, on all ranks.
  std::string from_first(std::string text);

 private:
  enum class Receiver { all, first };
  using Messages = std::vector<std::pair<Engine::Message, int>>;  // with the other rank
  void move(std::span<const Owned> parts, std::byte* elements, std::size_t size_of_element, Receiver receiver);
  void wait(Messages& messages);

  std::unique_ptr<Engine> engine_;
  std::chrono::duration<double> timeout_{};
  double exchange_seconds_ = 0;
  std::vector<std::string> names_{"rank 0"}, hosts_{""};
  Messages messages_;
  std::vector<float> partials_;
};

}  // namespace dikkat
