#include "layers/key_value_cache.h"

#include <algorithm>
#include <cstring>

namespace dikkat {

KeyValueCache::KeyValueCache(index layers, index sequences, index max_positions, index width, DType dtype, index first_positions)
    : layers_(layers),
      max_positions_(max_positions),
      capacity_(first_positions == 0 ? max_positions : std::min(first_positions, max_positions)),
      row_bytes_(static_cast<std::size_t>(2 * width) * size_of(dtype)),
      dtype_(dtype),
      lengths_(static_cast<std::size_t>(sequences)),
      memory_(static_cast<std::size_t>(layers * sequences * capacity_) * row_bytes_, "the cache of keys and values") {}

std::byte* KeyValueCache::row(index layer, index sequence) const {
  return memory_.data() + static_cast<std::size_t>((layer * sequences() + sequence) * capacity_) * row_bytes_;
}

std::span<const std::int32_t> KeyValueCache::first(index sequences) const {
  require(0 <= sequences && sequences <= this->sequences(), "cache: ", sequences, " sequences, expected at most ", this->sequences());
  return std::span(lengths_).first(static_cast<std::size_t>(sequences));
}

index KeyValueCache::length(index sequence) const {
  require(0 <= sequence && sequence < sequences(), "cache: sequence ", sequence, ", expected 0 to ", sequences() - 1);
  return lengths_[static_cast<std::size_t>(sequence)];
}

Tensor KeyValueCache::lengths(Tape& tape, index sequences) const { return tape.input<std::int32_t>({sequences}, first(sequences)); }

index KeyValueCache::longest(index sequences) const {
  const auto some = first(sequences);
  return some.empty() ? 0 : *std::max_element(some.begin(), some.end());
}

AttentionCache KeyValueCache::layer(index i) const {
  require(0 <= i && i < layers_, "cache: layer ", i, ", expected 0 to ", layers_ - 1);
  return {.dtype = dtype_, .data = row(i, 0), .batch = sequences(), .max_positions = capacity_, .lengths = lengths_.data()};
}

void KeyValueCache::reserve(index positions) {
  require(0 <= positions && positions <= max_positions_, "cache: room for ", positions, " positions, expected at most ", max_positions_);
  if (positions <= capacity_) {
    return;
  }
  KeyValueCache larger(layers_, sequences(), max_positions_, width() / 2, dtype_, std::max(positions, 2 * capacity_));
  for (index sequence = 0; sequence < sequences(); ++sequence) {
    larger.copy_sequence(sequence, *this, sequence);
  }
  *this = std::move(larger);
}

void KeyValueCache::advance(index sequences, index time) {
  const index left = capacity_ - longest(sequences);
  require(0 <= time && time <= left, "cache: ", time, " more positions, expected at most ", left);
  for (index i = 0; i < sequences; ++i) {
    lengths_[static_cast<std::size_t>(i)] += static_cast<std::int32_t>(time);
  }
}

void KeyValueCache::clear() { std::fill(lengths_.begin(), lengths_.end(), 0); }

void KeyValueCache::truncate(index sequence, index length) {
  require(0 <= length && length <= this->length(sequence), "cache: sequence ", sequence, " has ", this->length(sequence),
          " positions, expected at least ", length, " to keep");
  lengths_[static_cast<std::size_t>(sequence)] = static_cast<std::int32_t>(length);
}

void KeyValueCache::copy_sequence(index to, const KeyValueCache& from, index of) {
  require(from.layers_ == layers_ && from.max_positions_ == max_positions_ && from.row_bytes_ == row_bytes_ && from.dtype_ == dtype_,
          "cache: a sequence of another size, expected ", layers_, " layers and ", max_positions_, " positions of ", row_bytes_, " bytes");
  require(0 <= to && to < sequences() && 0 <= of && of < from.sequences(), "cache: copy of sequence ", of, " of ", from.sequences(),
          " to sequence ", to, " of ", sequences(), ", expected numbers from 0");
  const index length = from.length(of);
  reserve(length);
  lengths_[static_cast<std::size_t>(to)] = static_cast<std::int32_t>(length);
  if (from.row(0, of) != row(0, to)) {
    for (index i = 0; i < layers_; ++i) {
      std::memcpy(row(i, to), from.row(i, of), static_cast<std::size_t>(length) * row_bytes_);
    }
  }
}

void KeyValueCache::set_rows(index i, index sequence, Tensor keys_and_values) {
  const Shape& shape = keys_and_values.shape();
  require(0 <= i && i < layers_ && 0 <= sequence && sequence < sequences(), "cache: layer ", i, " of sequence ", sequence,
          ", expected one of ", layers_, " layers and of ", sequences(), " sequences");
  require(shape == Shape{1, std::min(shape[1], capacity_), width()} && keys_and_values.dtype() == dtype_, "cache: keys and values are ",
          keys_and_values.dtype(), " ", shape, ", expected ", dtype_, " (1, up to ", capacity_, ", ", width(), ")");
  std::memcpy(row(i, sequence), keys_and_values.record()->data, static_cast<std::size_t>(shape[1]) * row_bytes_);
}

Tensor KeyValueCache::rows(Tape& tape, index i) const { return tape.borrow({sequences(), capacity_, width()}, dtype_, layer(i).data); }

}  // namespace dikkat
