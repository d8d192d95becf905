#pragma once

#include <deque>
#include <functional>
#include <numbers>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "autograd/base/names.h"
#include "autograd/base/pages.h"
#include "autograd/tape/tensor.h"

namespace dikkat {

/// Describes how a parameter is initialized. Values are a function of (seed, path), not of the order in which parameters are added.
///
/// xavier_*, kaiming_* and orthogonal() are for parameters of 2 axes or more, (out, in, ...). fan_in is in times the extents after it, and
/// fan_out is out times these. A matrix that stacks several (row parts) is initialized part by part.
struct Init {
  enum class Kind {
    zeros,
    ones,
    normal,
    uniform,
    truncated_normal,
    xavier_uniform,
    xavier_normal,
    kaiming_uniform,
    kaiming_normal,
    orthogonal,
  } kind = Kind::zeros;
  double std = 0;            // for normal and truncated_normal
  double low = 0, high = 0;  // for uniform
  double cut = 2;            // for truncated_normal
  double gain = 1;           // for those that follow from the shape

  static constexpr Init zeros() { return {.kind = Kind::zeros}; }
  static constexpr Init ones() { return {.kind = Kind::ones}; }
  /// Draws normal numbers; with a standard deviation of 0, it is zeros().
  static constexpr Init normal(double std) { return std == 0 ? zeros() : Init{.kind = Kind::normal, .std = std}; }
  /// Draws uniform numbers of [low, high).
  static constexpr Init uniform(double low, double high) { return {.kind = Kind::uniform, .low = low, .high = high}; }
  /// Draws normal numbers of at most cut * std, the others drawn again. cut is 0.5 or more.
  static constexpr Init truncated_normal(double std, double cut = 2) { return {.kind = Kind::truncated_normal, .std = std, .cut = cut}; }
  /// Draws numbers of standard deviation gain * sqrt(2 / (fan_in + fan_out)) (Glorot and Bengio, AISTATS 2010).
  static constexpr Init xavier_uniform(double gain = 1) { return {.kind = Kind::xavier_uniform, .gain = gain}; }
  static constexpr Init xavier_normal(double gain = 1) { return {.kind = Kind::xavier_normal, .gain = gain}; }
  /// Draws numbers of standard deviation gain / sqrt(fan_in) (He et al., arXiv 1502.01852). The gain is that of ReLU, unless it is given.
  static constexpr Init kaiming_uniform(double gain = std::numbers::sqrt2) { return {.kind = Kind::kaiming_uniform, .gain = gain}; }
  static constexpr Init kaiming_normal(double gain = std::numbers::sqrt2) { return {.kind = Kind::kaiming_normal, .gain = gain}; }
  /// Draws PyTorch's default for linear and convolutional layers: uniform in +-1 / sqrt(fan_in).
  static constexpr Init fan_in_uniform() { return kaiming_uniform(std::numbers::inv_sqrt3); }
  /// Draws gain times a matrix (out, in * ...) with orthonormal rows, or orthonormal columns if it has more rows (Saxe et al., arXiv
  /// 1312.6120).
  static constexpr Init orthogonal(double gain = 1) { return {.kind = Kind::orthogonal, .gain = gain}; }

  /// Returns whether it needs 2 axes or more.
  constexpr bool follows_from_shape() const { return kind >= Kind::xavier_uniform; }
};
template <>
struct Names<Init::Kind> {
  static constexpr std::string_view of[] = {"zeros",          "ones",          "normal",          "uniform",        "truncated_normal",
                                            "xavier_uniform", "xavier_normal", "kaiming_uniform", "kaiming_normal", "orthogonal"};
};

/// Whether weight decay applies to a parameter.
enum class Decay : bool { no, yes };

/// The purpose of a parameter. Optimizers and optim.groups select parameters by it.
enum class Role {
  vector,     // biases and gains of norms: everything that is not a matrix
  hidden,     // a matrix between two hidden layers
  embedding,  // a table with a row for each token or position, even if the output layer shares it
  head,       // the output layer's weight, if the embedding does not share it
  adapter,    // a factor of the product that is added to a matrix (LoRA)
};
template <>
struct Names<Role> {
  static constexpr std::string_view of[] = {"vector", "hidden", "embedding", "head", "adapter"};
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

/// All weights of a model in one slab: first the trained ones, sorted by (decay, path), then the frozen ones, sorted by path. Gradients are
/// in a second slab, which has the same layout but no place for the frozen ones.
///
///   ParameterStore store;            // layers add their parameters while they are built
///   store.freeze("wte.weight");      // a parameter that is not trained
///   store.allocate(seed);            // sets up their memory and initial values
class ParameterStore {
 public:
  /// `dtype` is the element type: the type of weights and gradients in memory. It is f32 for training, and f64 for checking gradients. The
  /// type that sums are accumulated in belongs to each kernel (its Sum parameter), and not to the store.
  explicit ParameterStore(DType dtype = DType::f32) : dtype_(dtype) {}
  ParameterStore(const ParameterStore&) = delete;
  ParameterStore& operator=(const ParameterStore&) = delete;

  struct Entry {
    std::string path;
    Init init;
    Decay decay = Decay::no;
    Role role = Role::vector;
    std::vector<index> row_parts;  // rows of each matrix that is stacked in this one (q, k, v); empty: it is one matrix
    bool frozen = false;
    bool with_adapters = false;  // stored with the model's adapters, not with their base: a factor, or a parameter trained in full
    PackedType packing = PackedType::f32;  // after reserve(), a frozen matrix is packed in this form
    index offset = 0;                      // in the slab
    void* values = nullptr;  // its part of the slab: for a frozen packed matrix, where the numbers are loaded that pack() reads
    TensorRecord record;
    ParameterGradient gradient;

    Tensor tensor() { return Tensor(&record); }
    const Shape& shape() const { return record.shape; }
    index size() const { return record.shape.size(); }
  };

  /// Called for a parameter whose values have just been loaded.
  using Loaded = std::function<void(Entry&)>;

  /// Adds a parameter. row_parts: see Entry. Throws Error for a path that exists already, for parts that do not add up to the matrix's
  /// rows, for an Init that the shape or its numbers do not allow, and after lay_out().
  Parameter add(std::string_view path, Shape shape, Init init, Decay decay, Role role, std::vector<index> row_parts = {});

  /// Freezes a parameter: it is not trained, and has no gradient and no optimizer state. With a packing it must be a matrix. After
  /// reserve() it is packed, as zeros until pack() is called for the numbers in Entry::values. Gradients flow through it, and products of
  /// f32 with it are computed in f32. Throws Error for an unknown path, and after lay_out().
  void freeze(std::string_view path, PackedType packing = PackedType::f32);

  /// Marks a parameter as stored with the adapters (Entry::with_adapters), as those of Role::adapter always are. Throws Error if there is
  /// no such path.
  void keep_with_adapters(std::string_view path) { entry(path).with_adapters = true; }

  /// Sets up the memory and the initial values of all parameters: reserve() and initialize().
  void allocate(std::uint64_t seed) {
    reserve();
    initialize(seed);
  }
  /// Sorts the parameters and sets their offsets (Entry::offset); maps no memory. Throws Error when called twice.
  void lay_out();
  /// Maps the memory without touching it. Calls lay_out() if nobody has. Throws Error when there is not enough memory, or when called
  /// twice.
  void reserve();
  /// Initializes all parameters in their order, with values that depend only on (seed, path). `loaded` must pack the matrices that were
  /// frozen with a packing. Throws Error before reserve(), and if another matrix is packed.
  void initialize(std::uint64_t seed, const Loaded& loaded = {});
  /// Initializes only the trained parameters: the others are loaded.
  void initialize_trained(std::uint64_t seed);

  /// Returns the memory for a matrix that will be packed, packed_bytes() of zeros. It comes from a slab for all matrices; or, if the matrix
  /// was frozen with a packing, from a slab for those. Throws Error for a vector, for a packing that differs from that of the others, and
  /// if the store does not hold f32.
  std::byte* packed_place(const Entry& entry, PackedType packing);
  /// Replaces the matrix by the contents of its packed_place(), as PackedMatrix describes; it is not trained. The memory of its part of the
  /// slab goes back to the system. Ops that multiply by it or look up its rows work as before.
  void keep_packed(Entry& entry, PackedType packing);

  DType dtype() const { return dtype_; }
  bool is_laid_out() const { return laid_out_; }
  /// Returns whether some parameters are stored as adapters, so that all others belong to their base.
  bool has_adapters() const;
  /// Returns the number of elements of all parameters.
  index parameter_count() const;
  /// Returns all parameters in the order of the slab; before lay_out(), in the order in which they were added.
  const std::vector<Entry*>& entries() const { return sorted_; }
  /// Returns the trained parameters in the order of the slab. Only after lay_out().
  std::span<Entry* const> trainable() const { return {sorted_.data(), trainable_}; }
  /// Throws Error when no parameter has that path.
  Entry& entry(std::string_view path) const;

  /// Returns the number of elements of the slab. Each parameter is padded to a multiple of 64 bytes; the padding is zero.
  index slab_size() const { return slab_size_; }
  /// Returns the bytes of all weights as they are stored in the end: packed_bytes() for packed matrices, their part of the slab for others.
  std::size_t weight_bytes() const;
  /// Returns the number of elements of the first part of the slab, that of the trained parameters. The slab of gradients has the same size.
  index trainable_size() const { return trainable_size_; }
  /// Throws Error when T is not the element type, before reserve(), and if a matrix is packed that was not frozen with a packing
  /// (freeze()).
  template <class T>
  const T* weights() const {
    return static_cast<const T*>(slab(weights_, kDType<T>));
  }
  template <class T>
  T* weights() {
    return static_cast<T*>(slab(weights_, kDType<T>));
  }
  /// Returns the gradients summed since the last clear_gradients(). Call complete_gradients() before reading: memory that no backward pass
  /// has written is undefined.
  template <class T>
  T* gradients() {
    return static_cast<T*>(slab(gradients_, kDType<T>));
  }

  /// Makes later backward passes write gradients to `slab`, of trainable_size() elements, or to the store's own if it is null.
  /// `holds_sums`: they add to its contents.
  void redirect_gradients(void* slab, bool holds_sums = false);
  /// Sets gradients that no backward pass has written to zero.
  void complete_gradients();
  void complete_gradient(Entry& entry);
  /// Forgets uses of parameters (ParameterGradient::uses) from an earlier pass that was abandoned. Call it before a forward pass.
  void forget_uses();
  /// Makes the next backward pass overwrite the gradients.
  void clear_gradients();

 private:
  void* slab(const Pages& pages, DType asked) const;
  void set_initial_values(const Entry& entry, std::uint64_t seed) const;

  DType dtype_;
  std::deque<Entry> entries_;  // a deque: addresses of entries do not change
  std::vector<Entry*> sorted_;
  Pages weights_, gradients_;
  Pages packed_;  // taken by packed_place()
  PackedType packing_ = PackedType::f32;
  index slab_size_ = 0;
  index trainable_size_ = 0;
  std::size_t trainable_ = 0;  // number of trained parameters
  bool laid_out_ = false, allocated_ = false;
  bool is_whole_ = true;  // all packed matrices were frozen with a packing
};

}  // namespace dikkat
