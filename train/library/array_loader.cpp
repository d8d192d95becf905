#include "train/library/array_loader.h"

#include <algorithm>
#include <utility>

#include "train/data/samples/permutation.h"

namespace dikkat {

ArrayLoader::ArrayLoader(std::vector<Array> arrays, const Options& options) : arrays_(std::move(arrays)), options_(options) {
  require(!arrays_.empty(), "array loader: no arrays, expected 1 or more");
  for (const Array& array : arrays_) {
    require(array.rows() == rows(), "array loader: arrays ", arrays_.front().shape(), " and ", array.shape(),
            ", expected equal first extents, which count the rows");
  }
  require(options.batch_size >= 1 && rows() >= 1 && (!options.drop_last || rows() >= options.batch_size), "array loader: batches of ",
          options.batch_size, " of ", rows(), " rows, expected 1 row or more", options.drop_last ? ", and enough for one batch" : "");
}

index ArrayLoader::batches_per_epoch() const {
  return options_.drop_last ? rows() / options_.batch_size : ceil_div(rows(), options_.batch_size);
}

/// Returns whether an epoch has no batch at or after this position.
bool ArrayLoader::is_over(index position) const {
  return position >= rows() || (options_.drop_last && rows() - position < options_.batch_size);
}

ArrayLoader::Batch ArrayLoader::next() {
  if (is_over(position_)) {  // the state is of a loader with another batch size
    ++epoch_;
    position_ = 0;
  }
  const index count = std::min(options_.batch_size, rows() - position_);
  batch_.resize(static_cast<std::size_t>(count));
  const Permutation order(rows(), options_.seed, static_cast<std::uint64_t>(epoch_));
  for (index i = 0; i < count; ++i) {
    batch_[static_cast<std::size_t>(i)] = options_.shuffle ? order(position_ + i) : position_ + i;
  }
  position_ += count;
  if (is_over(position_)) {
    ++epoch_;
    position_ = 0;
  }
  return {*this, batch_};
}

void ArrayLoader::restore(const State& state) {
  const auto [epoch, position, count, seed] = state;
  require_input(count == rows() && seed == static_cast<index>(options_.seed), "array loader: a state of ", count, " rows with seed ",
                static_cast<std::uint64_t>(seed), ", expected ", rows(), " rows with seed ", options_.seed);
  require_input(epoch >= 0 && position >= 0 && position < rows(), "array loader: a state at epoch ", epoch, ", row ", position,
                ", expected a row from 0 to ", rows() - 1);
  epoch_ = epoch;
  position_ = position;
}

Tensor ArrayLoader::Batch::tensor(Tape& tape, std::size_t array) const {
  require(array < loader_->arrays_.size(), "array loader: array ", array, " of ", loader_->arrays_.size(), ", expected one that is there");
  const Array& from = loader_->arrays_[array];
  std::array<index, Shape::kMaxRank> extents{};
  std::ranges::copy(from.shape().extents(), extents.begin());
  extents[0] = size();
  tape.begin("array loader");
  const Tensor y = tape.make(Shape(std::span(extents).first(static_cast<std::size_t>(from.shape().rank()))), from.dtype());
  const auto copy = [&](auto zero) {
    using T = decltype(zero);
    const index width = from.shape().size() / from.rows();
    const T* const x = from.values<T>().data();
    T* out = y.mutable_data<T>();
    for (const index row : rows_) {
      out = std::copy_n(x + row * width, width, out);
    }
  };
  from.dtype() == DType::i32 ? copy(std::int32_t{}) : for_float(from.dtype(), "array loader", copy);
  return y;
}

}  // namespace dikkat
