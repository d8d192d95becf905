#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "autograd/base/index.h"

namespace dikkat {

/// A value in a pickle. A string is a view into the pickle. A tuple, list, dict or tensor is element `at` of a vector in Pickle.
struct PickleValue {
  enum class Kind : std::uint8_t {
    none,
    boolean,
    integer,
    real,
    text,
    tuple,
    list,
    dict,     ///< a dict or OrderedDict
    global,   ///< a name in a module, such as a type of storage
    storage,  ///< a storage that a persistent id names
    tensor,
  };
  Kind kind = Kind::none;
  std::int64_t integer = 0;    ///< an integer, a boolean, or a float's bits
  std::uint64_t at = 0;        ///< a place in Pickle, or a string's length
  const char* text = nullptr;  ///< a string's characters

  double real() const { return std::bit_cast<double>(integer); }
  std::string_view string() const { return kind == Kind::text ? std::string_view(text, at) : std::string_view(); }
};

/// A tensor as torch.save describes it: its place in a storage, which is a file of the archive.
struct PickledTensor {
  std::string_view storage_type;  ///< "FloatStorage"
  std::string_view storage_key;   ///< the storage's file is data/<key>
  index storage_elements = 0;
  index offset = 0;  ///< in elements
  std::vector<index> shape{};
  std::vector<index> strides{};  ///< in elements, one for each extent
};

/// The contents of a pickle that torch.save wrote: numbers, strings, tuples, lists, dicts and tensors.
struct Pickle {
  PickleValue root{};
  std::vector<std::vector<PickleValue>> items{};  ///< items of tuples and lists; key, value, key, value ... of dicts
  std::vector<PickledTensor> tensors{};
};

/// Reads a pickle of protocol 2 to 5 without running anything in it. Only OrderedDict, tensors and types of storage may be named. Throws
/// InputError, beginning with `name`, for any other name or instruction, which the message names, and for a damaged pickle. The result has
/// views into the bytes, which must outlive it.
Pickle read_pickle(std::span<const std::byte> bytes, const std::string& name);

}  // namespace dikkat
