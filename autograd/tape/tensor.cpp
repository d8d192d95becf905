#include "autograd/tape/tensor.h"

namespace dikkat {
namespace detail {

void fail_of_missing_tensor(const TensorRecord* record) {
  require(record != nullptr, "tensor: is absent (Tensor{}), expected one that a tape or a parameter store has made");
  fail(
      "tensor: its tape has been reset or destroyed, expected a tensor made since then; copy what is needed later, as with item(), before");
}

void fail_of_data(const TensorRecord& record, DType asked) {
  require(record.dtype == asked, "tensor: holds ", record.dtype, ", asked for as ", asked);
  require(record.packing == PackedType::f32, "tensor: is a weight packed as ", name_of(record.packing), ", which this op does not read");
  fail("tensor: is a parameter without memory, expected ParameterStore::allocate() before a layer is called");
}

}  // namespace detail

double Tensor::item() const {
  require(size() == 1, "item: the tensor is ", shape(), ", expected one element");
  switch (dtype()) {
    case DType::f32: return static_cast<double>(*data<float>());
    case DType::f64: return *data<double>();
    case DType::i32: return static_cast<double>(*data<std::int32_t>());
    case DType::bf16: return static_cast<double>(to_float(*data<bf16>()));
  }
  return 0;
}

}  // namespace dikkat
