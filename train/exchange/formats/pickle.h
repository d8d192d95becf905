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

/// A value in a pickle. Texts are views into the pickle; tuples, lists, dicts and tensors are in the Pickle, at place `at`.
struct PickleValue {
  enum class Kind : std::uint8_t {
    none,
    boolean,
    integer,
    real,
    text,
    tuple,
    list,
    dict,     ///< also an OrderedDict
    global,   ///< a name of a module, such as a type of storage
    storage,  ///< what a persistent id stands for
    tensor,
  };
  Kind kind = Kind::none;
  std::int64_t integer = 0;    ///< an integer or boolean; of a float its bits
  std::uint64_t at = 0;        ///< of a text its length
  const char* text = nullptr;  ///< the characters of a text

  double real() const { return std::bit_cast<double>(integer); }
  std::string_view string() const { return kind == Kind::text ? std::string_view(text, at) : std::string_view(); }
};

/// A tensor as torch.save describes it: where it is in a storage, a file of the archive.
struct PickledTensor {
  std::string_view storage_type;  ///< "FloatStorage"
  std::string_view storage_key;   ///< the storage's file is data/<key>
  index storage_elements = 0;
  index offset = 0;  ///< in elements
  std::vector<index> shape{};
  std::vector<index> strides{};  ///< in elements, as many as the shape has
};

/// The contents of a pickle that torch.save wrote: numbers, texts, tuples, lists, dicts and tensors.
struct Pickle {
  PickleValue root{};
  std::vector<std::vector<PickleValue>> items{};  ///< of tuples and lists; of dicts key, value, key, value ...
  std::vector<PickledTensor> tensors{};
};

/// Reads a pickle of protocol 2 to 5 without running anything: of the names that a pickle can call, it knows those of OrderedDict, of a
/// tensor and of the types of storage, and it knows what these mean. Throws InputError, beginning with `name`, for any other name or
/// instruction, each by its name, and for a pickle that is damaged. The result has views of the bytes.
Pickle read_pickle(std::span<const std::byte> bytes, const std::string& name);

}  // namespace dikkat
