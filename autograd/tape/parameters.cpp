#include "autograd/tape/parameters.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <tuple>
#include <utility>

#include "autograd/tape/initial_values.h"

namespace dikkat {
Parameter ParameterStore::add(std::string_view path, Shape shape, Init init, Decay decay, Role role, std::vector<index> row_parts) {
  require(!laid_out_, "parameters: '", path, "' added after allocate(), expected all parameters to be added before");
  for (const Entry& other : entries_) {
    require(other.path != path, "parameters: '", path, "' exists already, expected a path of its own");
  }
  const bool are_all_rows = shape.rank() == 2 && std::accumulate(row_parts.begin(), row_parts.end(), index{0}) == shape[0] &&
                            std::all_of(row_parts.begin(), row_parts.end(), [](index rows) { return rows > 0; });
  require(row_parts.empty() || are_all_rows, "parameters: the row parts of '", path, "' ", shape,
          " do not add up to its rows, expected them to");
  require(shape.rank() >= 2 || !init.follows_from_shape(), "parameters: '", path, "' ", shape, " with the initial values ",
          name_of(init.kind), ", expected 2 axes or more");
  require(init.kind != Init::Kind::uniform || init.low <= init.high, "parameters: '", path, "' uniform from ", init.low, " to ", init.high,
          ", expected bounds in order");
  require(init.kind != Init::Kind::truncated_normal || init.cut >= 0.5, "parameters: '", path, "' normal, cut at ", init.cut,
          " standard deviations, expected 0.5 or more");
  Entry& entry = entries_.emplace_back();
  entry.path = path;
  entry.init = init;
  entry.decay = decay;
  entry.role = role;
  entry.with_adapters = role == Role::adapter;
  entry.row_parts = std::move(row_parts);
  entry.record.shape = shape;
  entry.record.dtype = dtype_;
  entry.record.needs_gradient = true;
  entry.record.parameter = &entry.gradient;
  sorted_.push_back(&entry);
  return Parameter(&entry.record);
}

void ParameterStore::freeze(std::string_view path, PackedType packing) {
  require(!laid_out_, "parameters: '", path, "': freeze() after lay_out(), expected it before");
  Entry& entry = this->entry(path);
  require(packing == PackedType::f32 || (dtype_ == DType::f32 && entry.shape().rank() == 2), "parameters: '", path, "' ", entry.shape(),
          " of ", dtype_, " as ", name_of(packing), ", expected a matrix of f32");
  entry.frozen = true;
  entry.packing = packing;
  entry.record.needs_gradient = false;
}

void ParameterStore::lay_out() {
  require(!laid_out_, "parameters: already laid out, expected one call of lay_out() or reserve()");
  laid_out_ = true;
  const auto order = [](const Entry* e) { return std::tuple(e->frozen, !e->frozen && e->decay == Decay::yes, std::string_view(e->path)); };
  std::sort(sorted_.begin(), sorted_.end(), [&](const Entry* a, const Entry* b) { return order(a) < order(b); });
  const auto unit = static_cast<index>(64 / size_of(dtype_));
  for (Entry* entry : sorted_) {
    entry->offset = slab_size_;
    slab_size_ += round_up(entry->size(), unit);
    if (!entry->frozen) {
      trainable_size_ = slab_size_;
      ++trainable_;
    }
  }
}

void ParameterStore::reserve() {
  require(!allocated_, "parameters: allocate() called a second time");
  if (!laid_out_) {
    lay_out();
  }
  allocated_ = true;
  const std::size_t element = size_of(dtype_);
  const auto bytes_of = [&](std::size_t count, index size) {  // parameters without elements have memory too: null means that there is none
    return static_cast<std::size_t>(std::max<index>(size, count > 0 ? 1 : 0)) * element;
  };
  weights_ = Pages(bytes_of(sorted_.size(), slab_size_), "weights");
  gradients_ = Pages(bytes_of(trainable_, trainable_size_), "gradients");
  for (Entry* entry : sorted_) {
    entry->values = weights_.data() + static_cast<std::size_t>(entry->offset) * element;
    entry->record.data = entry->values;
    if (!entry->frozen) {
      entry->gradient.data = gradients_.data() + static_cast<std::size_t>(entry->offset) * element;
    }
  }
  for (Entry* entry : sorted_) {
    if (entry->packing != PackedType::f32) {
      keep_packed(*entry, entry->packing);
    }
  }
}

void ParameterStore::initialize(std::uint64_t seed, const Loaded& loaded) {
  require(is_whole_, "parameters: initialize() when some are packed, expected it before");
  for (Entry* entry : sorted_) {
    set_initial_values(*entry, seed);
    if (loaded) {
      loaded(*entry);
    }
  }
}

void ParameterStore::initialize_trained(std::uint64_t seed) {
  for (Entry* entry : trainable()) {
    set_initial_values(*entry, seed);
  }
}

void ParameterStore::set_initial_values(const Entry& entry, std::uint64_t seed) const {
  require(allocated_, "parameters: no memory yet, expected reserve() before");
  for_float(dtype_, "parameters", [&](auto zero) { draw_initial_values<decltype(zero)>(entry, seed); });
}

namespace {

/// Returns the bytes that one packed matrix takes in the slab of packed matrices.
std::size_t packed_slab_bytes(const ParameterStore::Entry& entry, PackedType packing) {
  return static_cast<std::size_t>(round_up(packed_bytes(packing, entry.shape()[0], entry.shape()[1]), 64));
}

}  // namespace

std::byte* ParameterStore::packed_place(const Entry& entry, PackedType packing) {
  require(dtype_ == DType::f32 && entry.shape().rank() == 2 && packing != PackedType::f32 &&
              (packing_ == PackedType::f32 || packing_ == packing),
          "parameters: '", entry.path, "' ", entry.shape(), " of ", dtype_, " as ", name_of(packing), ", expected a matrix of f32",
          packing_ == PackedType::f32 ? "" : concat(", as ", name_of(packing_)));
  std::size_t size = 0, place = 0;
  for (const Entry* other : sorted_) {
    place = other == &entry ? size : place;
    if (other->shape().rank() == 2 && (entry.packing == PackedType::f32 || other->packing != PackedType::f32)) {
      size += packed_slab_bytes(*other, packing);
    }
  }
  if (packing_ == PackedType::f32) {
    packed_ = Pages(size, "packed weights");  // a place that is never filled takes no memory: it is not touched
    packing_ = packing;
  }
  return packed_.data() + place;
}

void ParameterStore::keep_packed(Entry& entry, PackedType packing) {
  entry.record.data = packed_place(entry, packing);
  entry.record.packing = packing;
  entry.record.keeps_f32 = entry.packing != PackedType::f32;
  entry.record.needs_gradient = false;
  is_whole_ = is_whole_ && entry.packing != PackedType::f32;
  weights_.release(static_cast<std::size_t>(entry.offset) * size_of(dtype_), static_cast<std::size_t>(entry.size()) * size_of(dtype_));
}

std::size_t ParameterStore::weight_bytes() const {
  std::size_t bytes = static_cast<std::size_t>(slab_size_) * size_of(dtype_);
  for (const Entry& entry : entries_) {
    if (entry.packing != PackedType::f32) {
      bytes -= static_cast<std::size_t>(entry.size()) * size_of(dtype_);
      bytes += packed_slab_bytes(entry, entry.packing);
    }
  }
  return bytes;
}

bool ParameterStore::has_adapters() const {
  return std::any_of(sorted_.begin(), sorted_.end(), [](const Entry* entry) { return entry->with_adapters; });
}

index ParameterStore::parameter_count() const {
  index count = 0;
  for (const Entry& entry : entries_) {
    count += entry.size();
  }
  return count;
}

ParameterStore::Entry& ParameterStore::entry(std::string_view path) const {
  for (Entry* entry : sorted_) {
    if (entry->path == path) {
      return *entry;
    }
  }
  fail("parameters: none is named '", path, "'");
}

void* ParameterStore::slab(const Pages& pages, DType asked) const {
  require(asked == dtype_, "parameters: hold ", dtype_, ", asked for as ", asked);
  require(allocated_, "parameters: no memory yet, expected allocate() before");
  require(is_whole_, "parameters: some are packed, expected all in the slab");
  return pages.data();
}

void ParameterStore::redirect_gradients(void* slab, bool holds_sums) {
  auto* const first = slab == nullptr ? gradients_.data() : static_cast<std::byte*>(slab);
  for (Entry* entry : trainable()) {
    entry->gradient.data = first + static_cast<std::size_t>(entry->offset) * size_of(dtype_);
    entry->gradient.written = holds_sums;
  }
}

void ParameterStore::complete_gradient(Entry& entry) {
  if (!entry.gradient.written) {
    std::memset(entry.gradient.data, 0, static_cast<std::size_t>(entry.size()) * size_of(dtype_));
    entry.gradient.written = true;
  }
}

void ParameterStore::complete_gradients() {
  for (Entry* entry : trainable()) {
    complete_gradient(*entry);
  }
}

void ParameterStore::forget_uses() {
  for (Entry* entry : trainable()) {
    entry->gradient.uses = 0;
  }
}

void ParameterStore::clear_gradients() {
  for (Entry* entry : trainable()) {
    entry->gradient.written = false;
  }
}

}  // namespace dikkat
