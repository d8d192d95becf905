#pragma once

#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "autograd/base/names.h"
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
template <>
struct Names<Role> {
  static constexpr std::string_view of[] = {"vector", "hidden", "embedding", "head"};
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

/// All weights of a model in one slab: first those that are trained, sorted by (decay, path), then the frozen ones, sorted by path.
/// Gradients lie in another slab, of the trained ones alone and with the same layout.
///
///   ParameterStore store;            // layers name their parameters while they are built
///   store.freeze("wte.weight");      // if it is not to be trained
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
    bool frozen = false;
    index offset = 0;  // in the slab
    TensorRecord record;
    ParameterGradient gradient;

    Tensor tensor() { return Tensor(&record); }
    const Shape& shape() const { return record.shape; }
    index size() const { return record.shape.size(); }
  };

  /// row_parts: see Entry. Throws Error for a path that exists already, for parts that are not all rows of a matrix, and once reserve()
  /// was called.
  Parameter add(std::string_view path, Shape shape, Init init, Decay decay, Role role, std::vector<index> row_parts = {});

  /// The parameter stays as it is: it needs no gradient, has no memory for one, and optimizers do not know it. Throws Error where there is
  /// no such path, and once places are given (lay_out()).
  void freeze(std::string_view path);

  /// Gives every parameter its place and its first values: reserve() and initialise().
  void allocate(std::uint64_t seed) {
    reserve();
    initialise(seed);
  }
  /// Gives every parameter its place (Entry::offset), without memory. Throws Error when called twice.
  void lay_out();
  /// Maps the memory, and touches none of it; with lay_out(), if that was not called. Throws Error when there is none, or when called
  /// twice.
  void reserve();
  /// Gives every parameter its first values, a function of (seed, path). Throws Error before reserve().
  void initialise(std::uint64_t seed);

  DType dtype() const { return dtype_; }
  bool is_laid_out() const { return laid_out_; }
  /// Elements of all parameters.
  index parameter_count() const;
  /// In the order of the slab; before lay_out() in that of their making.
  const std::vector<Entry*>& entries() const { return sorted_; }
  /// Those that are trained, likewise, after lay_out().
  std::span<Entry* const> trainable() const { return {sorted_.data(), trainable_}; }
  /// Throws Error when there is none of that path.
  Entry& entry(std::string_view path) const;

  /// Elements of the slab: those of the parameters, each rounded up to 64 bytes. What is between them is zero.
  index slab_size() const { return slab_size_; }
  /// Elements of its first part, of those that are trained, which is the size of the gradients' slab.
  index trainable_size() const { return trainable_size_; }
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

 private:
  void* slab(const Pages& pages, DType asked) const;

  DType dtype_;
  std::deque<Entry> entries_;  // addresses stay
  std::vector<Entry*> sorted_;
  Pages weights_, gradients_;
  index slab_size_ = 0;
  index trainable_size_ = 0;
  std::size_t trainable_ = 0;  // parameters
  bool laid_out_ = false, allocated_ = false;
};

}  // namespace dikkat
