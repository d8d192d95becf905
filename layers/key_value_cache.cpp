#include "layers/key_value_cache.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace dikkat {

KeyValueCache::KeyValueCache(index layers, index sequences, index max_positions, index width, DType dtype, index first_positions)
    : layers_(layers),
      max_positions_(max_positions),
      capacity_(first_positions == 0 ? max_positions : std::min(first_positions, max_positions)),
      row_bytes_(static_cast<std::size_t>(2 * width) * size_of(dtype)),
      dtype_(dtype),
      lengths_(static_cast<std::size_t>(sequences)),
      dropped_(static_cast<std::size_t>(sequences)),
      memory_(static_cast<std::size_t>(layers * sequences * capacity_) * row_bytes_, "the cache of keys and values") {}

std::byte* KeyValueCache::row(index layer, index sequence) const {
  return memory_.data() + static_cast<std::size_t>((layer * sequences() + sequence) * capacity_) * row_bytes_;
}

index KeyValueCache::length(index sequence) const {
  require(0 <= sequence && sequence < sequences(), "cache: sequence ", sequence, ", expected 0 to ", sequences() - 1);
  return lengths_[static_cast<std::size_t>(sequence)];
}

index KeyValueCache::longest(index sequences) const {
  require(0 <= sequences && sequences <= this->sequences(), "cache: ", sequences, " sequences, expected at most ", this->sequences());
  return sequences == 0 ? 0 : *std::max_element(lengths_.begin(), lengths_.begin() + sequences);
}

CachedRows KeyValueCache::layer(index i, index sequence) const {
  require(0 <= i && i < layers_, "cache: layer ", i, ", expected 0 to ", layers_ - 1);
  return {.data = row(i, sequence), .max_positions = capacity_, .length = length(sequence)};
}

void KeyValueCache::reserve(index positions) {
  require(0 <= positions && positions <= max_positions_, "cache: room for ", positions, " positions, expected at most ", max_positions_);
  if (positions <= capacity_) {
    return;
  }
  index room = capacity_;
  while (room < positions) {
    room *= 2;
  }
  KeyValueCache larger(layers_, sequences(), max_positions_, width() / 2, dtype_, room);
  for (index sequence = 0; sequence < sequences(); ++sequence) {
    larger.copy_sequence(sequence, *this, sequence);
  }
  *this = std::move(larger);
}

void KeyValueCache::advance(index sequence, index time) {
  const index left = capacity_ - length(sequence);
  require(0 <= time && time <= left, "cache: ", time, " more positions, expected at most ", left);
  lengths_[static_cast<std::size_t>(sequence)] += static_cast<std::int32_t>(time);
}

void KeyValueCache::clear() {
  std::fill(lengths_.begin(), lengths_.end(), 0);
  std::fill(dropped_.begin(), dropped_.end(), 0);
}

void KeyValueCache::truncate(index sequence, index length) {
  require(0 <= length && length <= this->length(sequence), "cache: sequence ", sequence, " has ", this->length(sequence),
          " positions, expected at least ", length, " to keep");
  lengths_[static_cast<std::size_t>(sequence)] = static_cast<std::int32_t>(length);
}

void KeyValueCache::drop_oldest(index sequence, index count) {
  const index left = length(sequence) - count;
  require(0 <= count && 0 <= left, "cache: ", count, " positions to drop of a sequence that has ", length(sequence));
  for (index i = 0; i < layers_; ++i) {
    std::memmove(row(i, sequence), row(i, sequence) + static_cast<std::size_t>(count) * row_bytes_,
                 static_cast<std::size_t>(left) * row_bytes_);
  }
  const auto at = static_cast<std::size_t>(sequence);
  lengths_[at] = static_cast<std::int32_t>(left);
  require(count <= std::numeric_limits<std::int32_t>::max() / 2 - dropped_[at], "cache: a text of more than a billion tokens");
  dropped_[at] += static_cast<std::int32_t>(count);
}

void KeyValueCache::copy_sequence(index to, const KeyValueCache& from, index of) {
  require(from.layers_ == layers_ && from.max_positions_ == max_positions_ && from.row_bytes_ == row_bytes_ && from.dtype_ == dtype_,
          "cache: a sequence of another size, expected ", layers_, " layers and ", max_positions_, " positions of ", row_bytes_, " bytes");
  require(0 <= to && to < sequences() && 0 <= of && of < from.sequences(), "cache: copy of sequence ", of, " of ", from.sequences(),
          " to sequence ", to, " of ", sequences(), ", expected numbers from 0");
  const index length = from.length(of);
  reserve(length);
  lengths_[static_cast<std::size_t>(to)] = static_cast<std::int32_t>(length);
  dropped_[static_cast<std::size_t>(to)] = from.dropped_[static_cast<std::size_t>(of)];
  if (from.row(0, of) != row(0, to)) {
    for (index i = 0; i < layers_; ++i) {
      std::memcpy(row(i, to), from.row(i, of), static_cast<std::size_t>(length) * row_bytes_);
    }
  }
}

void KeyValueCache::append_positions(index to, const KeyValueCache& from, index of, index begin, index count) {
  require(from.layers_ == layers_ && from.row_bytes_ == row_bytes_ && from.dtype_ == dtype_, "cache: positions of another size, expected ",
          layers_, " layers of ", row_bytes_, " bytes");
  require(0 <= begin && 0 <= count && begin + count <= from.length(of), "cache: positions ", begin, " to ", begin + count - 1,
          " of a sequence of ", from.length(of), ", expected positions that it has");
  const index length = this->length(to);
  require(length == next_position(to) && from.length(of) == from.next_position(of),
          "cache: positions of a sequence that has dropped its oldest, expected sequences that begin at position 0");
  reserve(length + count);
  for (index i = 0; i < layers_; ++i) {
    std::memcpy(row(i, to) + static_cast<std::size_t>(length) * row_bytes_, from.row(i, of) + static_cast<std::size_t>(begin) * row_bytes_,
                static_cast<std::size_t>(count) * row_bytes_);
  }
  lengths_[static_cast<std::size_t>(to)] = static_cast<std::int32_t>(length + count);
}

void KeyValueCache::set_rows(index i, index sequence, Tensor keys_and_values) {
  const Shape& shape = keys_and_values.shape();
  require(0 <= i && i < layers_ && 0 <= sequence && sequence < sequences(), "cache: layer ", i, " of sequence ", sequence,
          ", expected one of ", layers_, " layers and of ", sequences(), " sequences");
  require(shape == Shape{1, std::min(shape[1], capacity_), width()} && keys_and_values.dtype() == dtype_, "cache: keys and values are ",
          keys_and_values.dtype(), " ", shape, ", expected ", dtype_, " (1, up to ", capacity_, ", ", width(), ")");
  std::memcpy(row(i, sequence), keys_and_values.record()->data, static_cast<std::size_t>(shape[1]) * row_bytes_);
}

Tensor KeyValueCache::rows(Tape& tape, index i) const { return tape.borrow({sequences(), capacity_, width()}, dtype_, layer(i, 0).data); }

CachedSequences::CachedSequences(KeyValueCache& cache, index count) : layers_(cache.layers()), dtype_(cache.dtype()) {
  cache.longest(count);  // throws Error for fewer sequences
  for (index i = 0; i < count; ++i) {
    sequences_.push_back({&cache, i});
  }
}

CachedSequences::CachedSequences(std::span<KeyValueCache* const> caches)
    : layers_(caches.empty() ? 0 : caches.front()->layers()), dtype_(caches.empty() ? DType::f32 : caches.front()->dtype()) {
  for (KeyValueCache* cache : caches) {
    require(cache->layers() == layers_ && cache->dtype() == dtype_ && cache->bytes(1) == caches.front()->bytes(1),
            "cache: ", cache->layers(), " layers of ", cache->dtype(), ", ", cache->bytes(1), " bytes of a position, expected ", layers_,
            " layers of ", dtype_, ", ", caches.front()->bytes(1), " bytes");
    sequences_.push_back({cache, 0});
  }
}

index CachedSequences::longest() const {
  index longest = 0;
  for (const Sequence& one : sequences_) {
    longest = std::max(longest, one.cache->length(one.number));
  }
  return longest;
}

Tensor CachedSequences::next_positions(Tape& tape) const {
  const Tensor positions = tape.make({count()}, DType::i32);
  auto* to = positions.mutable_data<std::int32_t>();
  for (const Sequence& one : sequences_) {
    *to++ = static_cast<std::int32_t>(one.cache->next_position(one.number));
  }
  return positions;
}

void CachedSequences::reserve(index time) {
  for (const Sequence& one : sequences_) {
    one.cache->reserve(one.cache->length(one.number) + time);
  }
  rows_.clear();
  for (index i = 0; i < layers_; ++i) {
    for (const Sequence& one : sequences_) {
      rows_.push_back(one.cache->layer(i, one.number));
    }
  }
}

AttentionCache CachedSequences::layer(index i) const {
  require(0 <= i && i < layers_ && std::ssize(rows_) == layers_ * count(), "cache: layer ", i, ", expected 0 to ", layers_ - 1,
          " of sequences with room for more positions");
  return {.dtype = dtype_, .sequences = std::span(rows_).subspan(static_cast<std::size_t>(i * count()), static_cast<std::size_t>(count()))};
}

void CachedSequences::advance(index time) {
  for (const Sequence& one : sequences_) {
    one.cache->advance(one.number, time);
  }
}

}  // namespace dikkat
