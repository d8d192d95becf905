#include "train/grammar/matcher.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace dikkat {
namespace {

std::uint64_t mixed(std::uint64_t hash, std::uint64_t value) {
  hash = (hash ^ value) * 0x9E3779B97F4A7C15U;
  return hash ^ (hash >> 29);
}

}  // namespace

std::uint32_t Matcher::Lists::number_of(std::span<const Place> list) {
  std::uint64_t hash = list.size();
  for (const Place place : list) {
    hash = mixed(hash, (std::uint64_t{place.state} << 32) | place.frame);
  }
  const auto [first, last] = by_hash.equal_range(hash);
  for (auto known = first; known != last; ++known) {
    if (std::ranges::equal(this->list(known->second), list)) {
      return known->second;
    }
  }
  const auto number = static_cast<std::uint32_t>(parts.size());
  parts.emplace_back(places.size(), static_cast<std::uint32_t>(list.size()));
  places.insert(places.end(), list.begin(), list.end());
  by_hash.emplace(hash, number);
  return number;
}

Matcher::Matcher(std::shared_ptr<const Automaton> automaton)
    : automaton_(std::move(automaton)), classes_(static_cast<std::size_t>(automaton_->classes())), table_(64), stamps_(64) {
  frames_.number_of({});  // frame 0
  ++stamp_;
  add({automaton_->root().start, 0});
  start_ = close();
}

std::size_t Matcher::memory() const {
  constexpr std::size_t kMapEntry = 48;
  const auto of_lists = [](const Lists& lists) {
    return lists.places.capacity() * sizeof(Place) + lists.parts.capacity() * sizeof(lists.parts[0]) + lists.by_hash.size() * kMapEntry;
  };
  return next_.capacity() * sizeof(State) + infos_.capacity() * sizeof(Info) + of_lists(sets_) + of_lists(frames_);
}

Matcher::State Matcher::step(State state, std::size_t at) {
  const auto byte_class = static_cast<std::uint16_t>(at % classes_);
  ++stamp_;
  for (const Place place : places_of(state)) {
    for (const Automaton::Edge& edge : automaton_->edges(place.state)) {
      if (edge.first <= byte_class && byte_class <= edge.last) {
        add({edge.target, place.frame});
      }
    }
  }
  const State target = found_.empty() ? kDead : close();
  next_[at] = target;
  return target;
}

void Matcher::add(Place place) {
  if (2 * found_.size() >= table_.size()) {
    // Double the table, and add the places found so far again.
    table_.assign(table_.size() * 2, 0);
    stamps_.assign(table_.size(), 0);
    const std::vector<Place> again = std::exchange(found_, {});
    for (const Place one : again) {
      add(one);
    }
  }
  const std::uint64_t key = (std::uint64_t{place.state} << 32) | place.frame;
  std::size_t slot = mixed(0, key) & (table_.size() - 1);
  while (stamps_[slot] == stamp_) {
    if (table_[slot] == key) {
      return;
    }
    slot = (slot + 1) & (table_.size() - 1);
  }
  stamps_[slot] = stamp_;
  table_[slot] = key;
  found_.push_back(place);
}

Matcher::State Matcher::close() {
  bool accepts = false;
  std::size_t done = 0;
  // Follow the jumps, calls and ends of rules from all new places.
  const auto follow_all = [&] {
    for (; done < found_.size(); ++done) {
      const Place place = found_[done];
      for (const Automaton::State to : automaton_->jumps(place.state)) {
        add({to, place.frame});
      }
      for (const Automaton::Call& call : automaton_->calls(place.state)) {
        const Automaton::RuleInfo& rule = automaton_->rule(call.rule);
        std::vector<Place>& returns = returns_[call.rule];
        if (returns.empty()) {
          pending_.emplace_back(rule.rank, call.rule);
          std::ranges::push_heap(pending_, std::greater<>());
        }
        returns.push_back({call.target, place.frame});
        if (rule.is_nullable) {
          add({call.target, place.frame});
        }
      }
      if (automaton_->is_end(place.state)) {
        if (place.frame == 0) {
          accepts = true;
        } else {
          const auto [begin, size] = frames_.parts[place.frame];
          for (std::size_t i = 0; i < size; ++i) {
            add(frames_.places[begin + i]);
          }
        }
      }
    }
  };
  follow_all();
  // Begin the called rules by rank. A rule has a lower rank than those that it calls before any byte, so all its callers are known.
  while (!pending_.empty()) {
    std::ranges::pop_heap(pending_, std::greater<>());
    const std::uint32_t rule = pending_.back().second;
    pending_.pop_back();
    std::vector<Place>& returns = returns_[rule];
    std::ranges::sort(returns);
    returns.erase(std::unique(returns.begin(), returns.end()), returns.end());
    const std::uint32_t frame = frames_.number_of(returns);
    returns.clear();
    add({automaton_->rule(rule).start, frame});
    follow_all();
  }

  // Only places from which a byte leads to others distinguish states.
  std::vector<Place> places;
  for (const Place place : found_) {
    if (!automaton_->edges(place.state).empty()) {
      places.push_back(place);
    }
  }
  found_.clear();
  std::ranges::sort(places);
  return state_of(std::move(places), accepts);
}

Matcher::State Matcher::state_of(std::vector<Place> places, bool accepts) {
  if (places.empty() && !accepts) {
    return kDead;
  }
  constexpr Place kEnd{0, 0xFFFFFFFF};  // no real place has this frame
  const auto size = static_cast<std::uint32_t>(places.size());
  if (accepts) {
    places.push_back(kEnd);
  }
  const std::uint32_t number = sets_.number_of(places);
  if (number == infos_.size()) {
    infos_.push_back({.size = size, .accepts = accepts});
    next_.resize(next_.size() + classes_, kUnknown);
  }
  return static_cast<State>(number);
}

Matcher::State Matcher::adopt(const Matcher& other, State state) {
  // Frames refer only to frames with lower ids, so these are copied first.
  std::unordered_map<std::uint32_t, std::uint32_t> copies{{0, 0}};
  std::vector<std::uint32_t> needed, open;
  const auto need = [&](std::span<const Place> places) {
    for (const Place place : places) {
      if (copies.try_emplace(place.frame, 0).second) {
        needed.push_back(place.frame);
        open.push_back(place.frame);
      }
    }
  };
  // Find all frames that the state needs.
  const std::span<const Place> from = other.places_of(state);
  need(from);
  while (!open.empty()) {
    const std::uint32_t frame = open.back();
    open.pop_back();
    need(other.frames_.list(frame));
  }
  // Copy the frames, then the places.
  const auto copy_of = [&](std::span<const Place> places) {
    std::vector<Place> copy(places.begin(), places.end());
    for (Place& place : copy) {
      place.frame = copies[place.frame];
    }
    std::ranges::sort(copy);
    return copy;
  };
  std::ranges::sort(needed);
  for (const std::uint32_t frame : needed) {
    copies[frame] = frames_.number_of(copy_of(other.frames_.list(frame)));
  }
  return state_of(copy_of(from), other.of(state).accepts);
}

}  // namespace dikkat
