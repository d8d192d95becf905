#include "train/parallel/ranks.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <set>
#include <thread>
#include <utility>

#include "autograd/base/seconds_since.h"
#include "train/parallel/add.h"

namespace dikkat {
namespace {

constexpr index kAtOnce = 1 << 24;  // about how many elements are in flight; limits the memory for received values

/// Calls f for groups of consecutive parts with about kAtOnce elements each.
template <class F>
void for_windows(std::span<const OwnedRange> parts, F&& f) {
  for (std::size_t begin = 0; begin < parts.size();) {
    std::size_t end = begin;
    for (index elements = 0; end < parts.size() && (end == begin || elements + parts[end].size() <= kAtOnce); ++end) {
      elements += parts[end].size();
    }
    f(parts.subspan(begin, end - begin));
    begin = end;
  }
}

/// Adds its lifetime to `seconds`.
class Timed {
 public:
  explicit Timed(double& seconds) : seconds_(seconds) {}
  ~Timed() { seconds_ += seconds_since(start_); }
  Timed(const Timed&) = delete;
  Timed& operator=(const Timed&) = delete;

 private:
  double& seconds_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace

Ranks::Ranks(std::unique_ptr<Transport> transport, double timeout, std::function<void(const std::string&)> on_silence)
    : transport_(std::move(transport)),
      rank_(transport_->rank()),
      size_(transport_->size()),
      timeout_(timeout),
      on_silence_(std::move(on_silence)) {
  require(std::has_single_bit(static_cast<unsigned>(size())), "ranks: ", size(), ", expected a power of two");
  constexpr std::size_t kName = 64;
  std::vector<char> hosts(static_cast<std::size_t>(size()) * kName);
  hosts_.clear();
  const std::string host = transport_->host().substr(0, kName - 1);
  std::copy(host.begin(), host.end(), hosts.begin() + rank() * static_cast<std::ptrdiff_t>(kName));
  names_.clear();
  for (int rank = 0; rank < size(); ++rank) {
    names_.push_back(concat("rank ", rank));  // the name until the hosts are known
  }
  share_equally<char>(hosts);
  for (int rank = 0; rank < size(); ++rank) {
    hosts_.emplace_back(&hosts[static_cast<std::size_t>(rank) * kName]);
    names_[static_cast<std::size_t>(rank)] = concat("rank ", rank, " on ", hosts_.back());
  }
}

int Ranks::on_this_host() const {
  return static_cast<int>(std::count(hosts_.begin(), hosts_.end(), hosts_[static_cast<std::size_t>(rank())]));
}

void Ranks::abort(int exit_code) {
  if (transport_) {
    transport_->abort(exit_code);
  }
  std::_Exit(exit_code);
}

/// Returns "rank 2 on node17 and rank 3 on node18 have not answered for 30 seconds", with the ranks whose messages are missing. A rank in
/// the list may itself be waiting for another one.
std::string Ranks::describe_silence(const Messages& messages, double seconds) const {
  constexpr std::size_t kNamed = 3;
  std::set<int> silent;
  for (const auto& message : messages) {
    silent.insert(message.second);
  }
  std::string names;
  std::size_t count = 0;
  for (const int rank : silent) {
    if (++count > kNamed) {
      names += concat(" and ", silent.size() - kNamed, " more");
      break;
    }
    names += concat(count == 1 ? "" : count == silent.size() ? " and " : ", ", name_of(rank));
  }
  return concat(names, silent.size() == 1 ? " has" : " have", " not answered for ", seconds, " seconds");
}

void Ranks::wait(Messages& messages, Waiting how, const std::function<void()>& meanwhile) {
  using Clock = std::chrono::steady_clock;
  // MPI moves at most one fragment in each call, and a nap may take milliseconds when all cores compute. So this naps only after several
  // calls in a row that returned too fast to have moved anything.
  constexpr std::chrono::microseconds kNap(50), kMoved(5);
  constexpr int kIdleCalls = 4;
  int idle_calls = 0;
  const auto warn_after = std::min<std::chrono::duration<double>>(std::chrono::seconds(30), timeout_ / 2);
  auto last = Clock::now();
  bool has_warned = false;
  while (!messages.empty()) {
    meanwhile();
    const auto call = Clock::now();
    const auto arrived = std::remove_if(messages.begin(), messages.end(), [&](auto& message) { return transport_->done(message.first); });
    if (arrived != messages.end()) {
      messages.erase(arrived, messages.end());
      last = Clock::now();
      continue;
    }
    require(!is_canceled_, "an exchange with ", name_of(messages.front().second), " was canceled");
    const std::chrono::duration<double> silence = Clock::now() - last;
    if (silence > timeout_) {
      throw RankTimeout(describe_silence(messages, timeout_.count()) + " (train.rank_timeout)");
    }
    if (silence > warn_after && !has_warned && on_silence_) {
      has_warned = true;
      on_silence_(
          concat(describe_silence(messages, warn_after.count()), "; the run ends after ", timeout_.count(), " (train.rank_timeout)"));
    }
    idle_calls = Clock::now() - call < kMoved ? idle_calls + 1 : 0;
    if (how == Waiting::busily) {
      std::this_thread::yield();
    } else if (idle_calls >= kIdleCalls) {
      std::this_thread::sleep_for(kNap);
    }
  }
}

void Ranks::move(std::span<const OwnedRange> parts, std::byte* elements, std::size_t size_of_element, Receiver receiver) {
  if (size() == 1) {
    return;
  }
  const Timed timed(exchange_seconds_);
  for_windows(parts, [&](std::span<const OwnedRange> window) {
    for (const OwnedRange& part : window) {
      std::byte* const at = elements + static_cast<std::size_t>(part.begin) * size_of_element;
      const std::size_t bytes = static_cast<std::size_t>(part.size()) * size_of_element;
      const int others = receiver == Receiver::first ? 1 : size();
      if (part.owner == rank()) {
        for (int distance = 1; distance < size(); ++distance) {
          if (const int to = (rank() + distance) % size(); to < others) {
            messages_.emplace_back(transport_->send(to, at, bytes), to);
          }
        }
      } else if (rank() < others) {
        messages_.emplace_back(transport_->receive(part.owner, at, bytes), part.owner);
      }
    }
    wait(messages_, Waiting::busily, [] {});
  });
}

void Ranks::begin_sum(Sum& sum, std::span<const OwnedRange> parts, float* elements) {
  sum.parts_ = parts;
  sum.elements_ = elements;

  // Receive the other ranks' values of the parts that this rank owns.
  index own = 0;
  for (const OwnedRange& part : parts) {
    own += part.owner == rank() ? part.size() : 0;
  }
  sum.partials_.resize(static_cast<std::size_t>(own * (size() - 1)));
  float* to = sum.partials_.data();
  for (const OwnedRange& part : parts) {
    for (int from = 0; part.owner == rank() && from < size(); ++from) {
      if (from != rank()) {
        sum.messages_.emplace_back(transport_->receive(from, to, static_cast<std::size_t>(part.size()) * sizeof(float)), from);
        to += part.size();
      }
    }
  }

  // Send the parts of the other owners. Each rank begins with its right neighbor, so that not all send to one rank at once.
  for (int distance = 1; distance < size(); ++distance) {
    const int owner = (rank() + distance) % size();
    for (const OwnedRange& part : parts) {
      if (part.owner == owner) {
        sum.messages_.emplace_back(transport_->send(owner, elements + part.begin, static_cast<std::size_t>(part.size()) * sizeof(float)),
                                   owner);
      }
    }
  }
}

void Ranks::end_sum(Sum& sum, const std::function<void()>& meanwhile) {
  wait(sum.messages_, Waiting::asleep, meanwhile);
  std::vector<float*> of_rank(static_cast<std::size_t>(size()));
  float* to = sum.partials_.data();
  for (const OwnedRange& part : sum.parts_) {
    if (part.owner != rank()) {
      continue;
    }
    float* const own = sum.elements_ + part.begin;
    for (int from = 0; from < size(); ++from) {
      of_rank[static_cast<std::size_t>(from)] = from == rank() ? own : std::exchange(to, to + part.size());
    }
    for (int distance = 1; distance < size(); distance *= 2) {
      for (int left = 0; left < size(); left += 2 * distance) {
        add_here(part.size(), of_rank[static_cast<std::size_t>(left + distance)], of_rank[static_cast<std::size_t>(left)]);
      }
    }
    if (rank() != 0) {
      std::copy_n(of_rank[0], part.size(), own);
    }
  }
}

int Ranks::largest(int mine) {
  std::vector<int> all(static_cast<std::size_t>(size()));
  all[static_cast<std::size_t>(rank())] = mine;
  share_equally<int>(all);
  return *std::max_element(all.begin(), all.end());
}

void Ranks::run_on_all(const std::function<void()>& work) {
  if (size() == 1) {
    work();
    return;
  }
  constexpr std::size_t kText = 2048;  // bytes for a rank's error: its kind, the message and a zero
  std::vector<char> texts(static_cast<std::size_t>(size()) * kText);
  const auto of_rank = [&](int rank) { return texts.data() + static_cast<std::size_t>(rank) * kText; };
  const auto keep = [&](char kind, const char* what) {
    *of_rank(rank()) = kind;
    std::strncpy(of_rank(rank()) + 1, what, kText - 2);
  };
  try {
    work();
  } catch (const CollectiveError&) {
    throw;
  } catch (const ExitQuietly&) {
    throw;
  } catch (const InputError& error) {
    keep('i', error.what());
  } catch (const std::exception& error) {
    keep('e', error.what());
  }

  // If any rank failed, all throw: the first rank with the message of the lowest rank that failed.
  share_equally<char>(texts);
  for (int rank = 0; rank < size(); ++rank) {
    if (const char kind = *of_rank(rank); kind != 0) {
      fail_together(CollectiveError(concat(rank == 0 ? "" : name_of(rank) + ": ", of_rank(rank) + 1), kind == 'i'));
    }
  }
}

bool Ranks::on_first(const std::function<bool(const std::function<bool()>& any_stops)>& work, const std::function<bool()>& stop) {
  if (size() == 1) {
    return work(stop);
  }
  // In each exchange, a rank contributes one of these, and all receive the largest. The last exchange has one of the last two.
  enum : int { kContinues, kStops, kCompleted, kStopped };
  const auto exchange_stop = [&] { return largest(stop() ? kStops : kContinues); };
  if (!is_first()) {
    int message = kContinues;
    while (message < kCompleted) {
      message = exchange_stop();
    }
    return message == kCompleted;
  }
  bool completed = true;
  try {
    completed = work([&] { return exchange_stop() == kStops; });
  } catch (const RankTimeout&) {
    throw;
  } catch (...) {
    largest(kCompleted);
    throw;
  }
  largest(completed ? kCompleted : kStopped);
  return completed;
}

void Ranks::require_same(const std::string& what, const std::function<std::string()>& text) {
  if (size() == 1) {
    return;
  }
  const std::string own = text();
  const std::string first = from_first(own);
  run_on_all([&] {
    require_input(own == first, "has another ", what, " than ", name_of(0), ": ", own, ", expected ", first,
                  "; all ranks need the same program, processor, configuration and texts");
  });
}

std::string Ranks::from_first(std::string text) {
  auto size = static_cast<index>(text.size());
  share<index>(std::vector<OwnedRange>{{0, 1, 0}}, &size);
  text.resize(static_cast<std::size_t>(size));
  constexpr index kMost = 1 << 24;
  std::vector<OwnedRange> parts;
  for (index begin = 0; begin < size; begin += kMost) {
    parts.push_back({begin, std::min(size, begin + kMost), 0});
  }
  share<char>(parts, text.data());
  return text;
}

}  // namespace dikkat
