#pragma once

#include <cstdint>

#include "autograd/base/buffer_pool.h"
#include "autograd/base/dtype.h"
#include "autograd/base/packed_matrix.h"
#include "autograd/base/shape.h"

namespace dikkat {

class Tape;

/// The time that an op's result stays in memory: until the tape is reset, or until one op has consumed it (Tape::release()). The second is
/// for results that neither backward nor any other op needs.
enum class Lifetime : bool { until_reset, until_consumed };

/// Holds where a parameter's gradient lies, and whether it was written since the last optimizer step.
struct ParameterGradient {
  void* data = nullptr;
  bool written = false;
  int uses = 0;  // nodes of a recording tape that read the parameter, and whose backward part is still to come
};

/// The record that a Tensor points to. Only the tape, the parameter store and ops look inside.
struct TensorRecord {
  Shape shape;
  DType dtype = DType::f32;
  bool needs_gradient = false;
  std::uint32_t generation = 0;            // how many tensors had this record before (TensorRecords); 0 for a parameter
  void* data = nullptr;                    // shape.size() elements, contiguous, row-major; or packed
  Tape* tape = nullptr;                    // null for a parameter
  ParameterGradient* parameter = nullptr;  // null for anything else
  Buffer* gradient = nullptr;              // during backward, once a gradient has arrived
  bool released = false;                   // it has been consumed (Lifetime::until_consumed)
  PackedType packing = PackedType::f32;    // packing of data: a weight (rows, cols) that is not trained may be packed
  bool keeps_f32 = false;                  // PackedMatrix::keeps_f32 of packed data
  Buffer* storage = nullptr;               // holds the data with Lifetime::until_consumed; null: the data are in the tape's arena
};

namespace detail {

// Errors of Tensor, which are not inline, so that its accessors are short.
[[noreturn]] void fail_of_missing_tensor(const TensorRecord* record);
[[noreturn]] void fail_of_data(const TensorRecord& record, DType asked);

}  // namespace detail

/// A value that may take part in a computation: two words, copied freely, immutable once the op that made it has returned. It lives until
/// its tape is reset or destroyed, a parameter as long as its store. Tensor{} is absent. Accessors and ops throw Error for an absent
/// tensor, and for one whose tape has been reset or destroyed.
class Tensor {
 public:
  Tensor() = default;
  explicit Tensor(TensorRecord* record) : record_(record), generation_(record == nullptr ? 0 : record->generation) {}

  explicit operator bool() const { return record_ != nullptr; }
  const Shape& shape() const { return existing().shape; }
  DType dtype() const { return existing().dtype; }
  index size() const { return existing().shape.size(); }
  bool needs_gradient() const { return existing().needs_gradient; }
  /// Returns the tape that made it; null for a parameter.
  Tape* tape() const { return existing().tape; }

  /// Returns the number in a tensor of one element, whatever its type. Throws Error for another size.
  double item() const;

  /// Returns whether it is a weight that is stored in fewer bytes. Its element type is then the one in which ops compute with it.
  bool is_packed() const { return existing().packing != PackedType::f32; }
  /// Returns a packed weight's numbers.
  PackedMatrix packed() const {
    const TensorRecord& record = existing();
    return {.packing = record.packing,
            .rows = record.shape[0],
            .cols = record.shape[1],
            .data = static_cast<const std::byte*>(record.data),
            .keeps_f32 = record.keeps_f32};
  }

  /// Throws Error when T is not the element type, for a packed weight, and for a parameter before ParameterStore::allocate().
  template <class T>
  const T* data() const {
    return mutable_data<T>();
  }
  /// Returns the elements to write, for the op that computes the tensor.
  template <class T>
  T* mutable_data() const {
    const TensorRecord& record = existing();
    if (record.dtype != kDType<T> || record.packing != PackedType::f32 || (record.data == nullptr && record.parameter != nullptr))
        [[unlikely]] {
      detail::fail_of_data(record, kDType<T>);
    }
    return static_cast<T*>(record.data);
  }

  TensorRecord* record() const { return record_; }
  bool operator==(const Tensor&) const = default;

 private:
  const TensorRecord& existing() const {
    if (record_ == nullptr || record_->generation != generation_) [[unlikely]] {
      detail::fail_of_missing_tensor(record_);
    }
    return *record_;
  }

  TensorRecord* record_ = nullptr;
  std::uint32_t generation_ = 0;  // generation of the record, when it was this tensor's
};

}  // namespace dikkat
