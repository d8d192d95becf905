#pragma once

#include <chrono>
#include <cstring>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "autograd/base/error.h"
#include "train/parallel/transport.h"

namespace dikkat::testing {

/// The messages between ranks that are threads of one process.
class Wires {
 public:
  struct Trouble {
    std::chrono::microseconds longest_delay{0};  // the longest delay of a message; delays differ from message to message
    int silent = -1;                             // a rank whose messages are lost
  };
  Wires(int size, Trouble trouble) : size_(size), trouble_(trouble) {}

  int size() const { return size_; }
  void send(int from, int to, const void* bytes, std::size_t count) {
    const std::lock_guard lock(mutex_);
    if (from == trouble_.silent) {
      return;
    }
    const auto* first = static_cast<const std::byte*>(bytes);
    const auto delay = trouble_.longest_delay.count() == 0
                           ? 0
                           : static_cast<long>(++sent_ * 7919 % static_cast<std::size_t>(trouble_.longest_delay.count()));
    wires_[{from, to}].push_back({std::chrono::steady_clock::now() + std::chrono::microseconds(delay), {first, first + count}});
  }
  bool receive(int from, int to, void* bytes, std::size_t count) {
    const std::lock_guard lock(mutex_);
    auto& wire = wires_[{from, to}];
    if (wire.empty() || wire.front().at > std::chrono::steady_clock::now()) {
      return false;
    }
    require(wire.front().bytes.size() == count, "wires: a message of ", wire.front().bytes.size(), " bytes, expected ", count);
    if (count > 0) {
      std::memcpy(bytes, wire.front().bytes.data(), count);
    }
    wire.pop_front();
    return true;
  }

 private:
  struct Sent {
    std::chrono::steady_clock::time_point at;
    std::vector<std::byte> bytes;
  };
  int size_;
  Trouble trouble_;
  std::mutex mutex_;
  std::map<std::pair<int, int>, std::deque<Sent>> wires_;
  std::size_t sent_ = 0;
};

/// A transport whose ranks are threads.
class ThreadTransport : public Transport {
 public:
  ThreadTransport(Wires& wires, int rank) : wires_(wires), rank_(rank) {}

  int rank() const override { return rank_; }
  int size() const override { return wires_.size(); }
  std::string name() const override { return "threads"; }
  std::string host() const override { return concat("host-", rank_); }
  Message send(int to, const void* from, std::size_t bytes) override {
    wires_.send(rank_, to, from, bytes);
    return nullptr;
  }
  Message receive(int from, void* to, std::size_t bytes) override {
    awaited_[from].push_back(std::make_unique<Awaited>(Awaited{from, to, bytes}));
    return awaited_[from].back().get();
  }
  bool done(Message& message) override {
    if (message == nullptr) {
      return true;
    }
    auto& first = awaited_[static_cast<Awaited*>(message)->from];  // messages arrive in their order
    if (first.front().get() != message || !wires_.receive(first.front()->from, rank_, first.front()->to, first.front()->bytes)) {
      return false;
    }
    first.pop_front();
    message = nullptr;
    return true;
  }
  [[noreturn]] void abort(int exit_code) override { fail("aborted with ", exit_code); }

 private:
  struct Awaited {
    int from;
    void* to;
    std::size_t bytes;
  };
  Wires& wires_;
  int rank_;
  std::map<int, std::deque<std::unique_ptr<Awaited>>> awaited_;
};

inline constexpr Wires::Trouble kDelays{.longest_delay = std::chrono::microseconds(300)};
inline constexpr double kPatient = 60;  // seconds: a timeout that no test reaches

/// Runs f(transport) on a thread for each rank. Rethrows the exception of the first rank that threw.
inline void on_ranks(int size, const std::function<void(std::unique_ptr<Transport>)>& f, Wires::Trouble trouble = {}) {
  Wires wires(size, trouble);
  std::vector<std::exception_ptr> failures(static_cast<std::size_t>(size));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        f(std::make_unique<ThreadTransport>(wires, rank));
      } catch (...) {
        failures[static_cast<std::size_t>(rank)] = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  for (const std::exception_ptr& failure : failures) {
    if (failure) {
      std::rethrow_exception(failure);
    }
  }
}

}  // namespace dikkat::testing
