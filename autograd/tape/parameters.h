#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "autograd/base/pages.h"
#include "autograd/tape/tensor.h"

namespace dikkat {

/// How a parameter begins.
struct Init {
  enum class Kind { zeros, ones, normal } kind = Kind::zeros;
  double std = 0;

  static constexpr Init zeros() { return {Kind::zeros, 0}; }
  static constexpr Init ones() { return {Kind::ones, 0}; }
  static constexpr Init normal(double std) { return {Kind::normal, std}; }
};

/// Whether weight decay pulls at it.
enum class Decay : bool { no, yes };

/// What a parameter is in its model. Optimizers and optim.groups choose by it.
enum class Role {
  vector,     // biases, gains of norms: anything that is no matrix
  hidden,     // a matrix between two hidden layers
  embedding,  // a table with a row for each token or position; also where it is the output layer's weight at the same time
  head,       // the output layer's weight, when it is a parameter of its own
};

/// A weight with a name. Converts to a Tensor that has no tape.
class Parameter {
 public:
  Parameter() = default;
  operator Tensor() const { return Tensor(record_); }  // NOLINT(google-explicit-constructor): a parameter is a tensor
  explicit operator bool() const { return record_ != nullptr; }
  const Shape& shape() const { return record_->shape; }

 private:
  friend class ParameterStore;
  explicit Parameter(TensorRecord* record) : record_(record) {}
  TensorRecord* record_ = nullptr;
};

/// All weights of a model, sorted by (decay, path), in one slab; gradients in another of the same layout.
///
///   ParameterStore store;            // layers name their parameters while they are built
///   store.allocate(seed);            // then they get their places and first values
class ParameterStore {
 public:
  explicit ParameterStore(DType dtype = DType::f32) : dtype_(dtype) {}
  ParameterStore(const ParameterStore&) = delete;
  ParameterStore& operator=(const ParameterStore&) = delete;

  struct Entry {
    std::string path;
    Init init;
    Decay decay = Decay::no;
    Role role = Role::vector;
    std::vector<index> row_parts;  // of a matrix that is several below one another (q | k | v): the rows of each; empty: it is one
    index offset = 0;              // in the slab
    TensorRecord record;
    ParameterGradient gradient;

    Tensor tensor() { return Tensor(&record); }
    const Shape& shape() const { return record.shape; }
    index size() const { return record.shape.size(); }
  };

  /// row_parts: see Entry. Throws Error for a path that exists already, for parts that are not all rows of a matrix, and once reserve()
  /// was called.
  Parameter add(std::string_view path, Shape shape, Init init, Decay decay, Role role, std::vector<index> row_parts = {});

  /// Gives every parameter its place and its first values: reserve() and initialise().
  void allocate(std::uint64_t seed) {
    reserve();
    initialise(seed);
  }
  /// Gives every parameter its place, which is mapped and not touched. Throws Error when there is no memory, or when called twice.
  void reserve();
  /// Gives every parameter its first values, a function of (seed, path). Throws Error before reserve().
  void initialise(std::uint64_t seed);

  DType dtype() const { return dtype_; }
  /// Elements of all parameters.
  index parameter_count() const;
  /// In the order of the slab.
  const std::vector<Entry*>& entries() const { return sorted_; }
  /// Throws Error when there is none of that path.
  Entry& entry(std::string_view path) const;

  /// Elements of the slab: those of the parameters, each rounded up to 64 bytes. What is between them is zero.
  index slab_size() const { return slab_size_; }
  /// The first element of those that decay; they reach to the slab's end.
  index decay_begin() const { return decay_begin_; }
  template <class T>
  T* weights() {
    return static_cast<T*>(slab(weights_, kDType<T>));
  }
  /// Sums since the last clear_gradients(). Call complete_gradients() before: what no backward pass has written holds anything.
  template <class T>
  T* gradients() {
    return static_cast<T*>(slab(gradients_, kDType<T>));
  }

  /// What no backward pass has written counts as zero: makes it so.
  void complete_gradients();
  /// The next backward pass overwrites.
  void clear_gradients();
  /// Frozen parameters need no gradient.
  void set_needs_gradient(std::string_view path, bool needs) { entry(path).record.needs_gradient = needs; }

 private:
  void* slab(const Pages& pages, DType asked) const;

  DType dtype_;
  std::deque<Entry> entries_;  // addresses stay
  std::vector<Entry*> sorted_;
  Pages weights_, gradients_;
  index slab_size_ = 0;
  index decay_begin_ = 0;
  bool allocated_ = false;
};

}  // namespace dikkat
