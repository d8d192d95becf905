#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "autograd/tape/tape.h"
#include "train/library/array.h"

namespace dikkat {

/// Makes batches of rows of one or several arrays: row i of each belongs to sample i. Each epoch takes every row once, in an order that is
/// a function of (seed, epoch). So a loader that is restored to a state continues with the same batches:
///
///   ArrayLoader loader({images, labels}, {.batch_size = 64, .seed = 1});
///   const ArrayLoader::Batch batch = loader.next();
///   Tensor x = batch.tensor(tape, 0), targets = batch.tensor(tape, 1);
class ArrayLoader {
 public:
  struct Options {
    index batch_size = 32;
    std::uint64_t seed = 0;
    bool shuffle = true;     // false: the order of the arrays
    bool drop_last = false;  // leaves out the last batch of an epoch if it has fewer rows
  };

  /// The rows of a batch. It is valid until the next call of next(), and while the loader lives.
  class Batch {
   public:
    index size() const { return std::ssize(rows_); }
    /// Returns the indices of the rows in the arrays.
    std::span<const index> rows() const { return rows_; }
    /// Returns the batch's rows of an array: (size(), ...), of the array's element type.
    Tensor tensor(Tape& tape, std::size_t array) const;

   private:
    friend class ArrayLoader;
    Batch(const ArrayLoader& loader, std::span<const index> rows) : loader_(&loader), rows_(rows) {}
    const ArrayLoader* loader_;
    std::span<const index> rows_;
  };

  /// Keeps the arrays, without copying their numbers. Throws Error if there are none, their numbers of rows differ, or an epoch would have
  /// no batch.
  ArrayLoader(std::vector<Array> arrays, const Options& options);
  ArrayLoader(const ArrayLoader&) = delete;
  ArrayLoader& operator=(const ArrayLoader&) = delete;

  /// Returns the next batch. After the last batch of an epoch comes the first one of the next.
  Batch next();

  index rows() const { return arrays_.front().rows(); }
  index batches_per_epoch() const;
  /// Returns the epoch of the next batch, counted from 0, and how many of its rows were taken.
  index epoch() const { return epoch_; }
  index position() const { return position_; }

  /// The state for save(): epoch, position, and the number of rows and the seed, which restore() compares.
  using State = std::array<index, 4>;
  State state() const { return {epoch_, position_, rows(), static_cast<index>(options_.seed)}; }
  /// Continues from a state. Throws InputError if it belongs to other data or another seed. The batch size may differ.
  void restore(const State& state);

 private:
  bool is_over(index position) const;

  std::vector<Array> arrays_;
  Options options_;
  index epoch_ = 0, position_ = 0;
  std::vector<index> batch_;  // the rows of the last batch
};

}  // namespace dikkat
