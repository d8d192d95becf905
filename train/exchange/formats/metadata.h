#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "autograd/base/index.h"

namespace dikkat {

/// The types of values in a weight file: GGUF's, in the order of their ids in the file, and Python's None.
enum class MetaType : std::uint8_t { u8, i8, u16, i16, u32, i32, f32, boolean, string, array, u64, i64, f64, none };

/// Returns "u32", "string" ...
std::string_view name_of(MetaType type);
inline void append_to(std::string& out, MetaType type) { out += name_of(type); }

/// Returns the bytes of a value in a GGUF file; 0 for strings, arrays and none, which have no fixed length.
index bytes_of(MetaType type);

/// An array as a GGUF file stores it: little-endian numbers, booleans as bytes 0 and 1, or strings as a u64 length and their bytes. A
/// vocabulary is therefore a view into the mapped file.
struct MetaArray {
  MetaType element = MetaType::none;  ///< any type except array and none
  index count = 0;
  std::span<const std::byte> bytes{};

  /// Returns views of the strings, valid while the file is open; nullopt for other elements.
  std::optional<std::vector<std::string_view>> strings() const;
  /// Returns the elements of an array of integers or booleans (as 0 and 1); nullopt for others, and if one does not fit into an index.
  std::optional<std::vector<index>> integers() const;
  /// Returns the elements of an array of numbers, as f64; nullopt for others.
  std::optional<std::vector<double>> numbers() const;
};

template <class T>
concept MetaNumber =
    std::same_as<T, std::uint8_t> || std::same_as<T, std::int8_t> || std::same_as<T, std::uint16_t> || std::same_as<T, std::int16_t> ||
    std::same_as<T, std::uint32_t> || std::same_as<T, std::int32_t> || std::same_as<T, std::uint64_t> || std::same_as<T, std::int64_t> ||
    std::same_as<T, float> || std::same_as<T, double> || std::same_as<T, bool>;

template <MetaNumber T>
constexpr MetaType meta_type_of() {
  if constexpr (std::same_as<T, bool>) {
    return MetaType::boolean;
  } else if constexpr (std::floating_point<T>) {
    return sizeof(T) == 4 ? MetaType::f32 : MetaType::f64;
  } else if constexpr (std::unsigned_integral<T>) {
    return sizeof(T) == 1 ? MetaType::u8 : sizeof(T) == 2 ? MetaType::u16 : sizeof(T) == 4 ? MetaType::u32 : MetaType::u64;
  } else {
    return sizeof(T) == 1 ? MetaType::i8 : sizeof(T) == 2 ? MetaType::i16 : sizeof(T) == 4 ? MetaType::i32 : MetaType::i64;
  }
}

/// A value in a weight file: a number, a boolean, a string, an array of these, or none.
class MetaValue {
 public:
  MetaValue() = default;  ///< none
  template <MetaNumber T>
  explicit MetaValue(T value) : type_(meta_type_of<T>()) {
    if constexpr (std::floating_point<T>) {
      real_ = static_cast<double>(value);
    } else {
      bits_ = static_cast<std::uint64_t>(value);  // NOLINT(bugprone-signed-char-misuse): negative numbers keep their sign
    }
  }
  explicit MetaValue(std::string text) : type_(MetaType::string), text_(std::move(text)) {}
  explicit MetaValue(std::string_view text) : MetaValue(std::string(text)) {}
  explicit MetaValue(const char* text) : MetaValue(std::string(text)) {}
  /// The bytes must outlive the value.
  explicit MetaValue(const MetaArray& array) : type_(MetaType::array), array_(array) {}
  /// Makes an array that the value owns.
  explicit MetaValue(std::span<const std::string> strings);
  template <MetaNumber T>
    requires(!std::same_as<T, bool>)
  explicit MetaValue(std::span<const T> numbers)
      : MetaValue(meta_type_of<T>(), static_cast<index>(numbers.size()),
                  std::string(reinterpret_cast<const char*>(numbers.data()), numbers.size_bytes())) {}
  template <MetaNumber T>
    requires(!std::same_as<T, bool>)
  explicit MetaValue(const std::vector<T>& numbers) : MetaValue(std::span<const T>(numbers)) {}

  MetaType type() const { return type_; }
  /// Returns the value of an integer that fits into an index; nullopt for other values.
  std::optional<index> integer() const;
  /// Returns the value of a number; nullopt for other values.
  std::optional<double> number() const;
  std::optional<bool> boolean() const;
  std::optional<std::string_view> string() const;
  /// Returns the array; null for other values.
  const MetaArray* array() const { return type_ == MetaType::array ? &array_ : nullptr; }
  /// Returns whether the value is none, 0, false, or an empty string or array.
  bool says_nothing() const;
  /// Returns the bits of an integer or boolean, sign-extended.
  std::uint64_t bits() const { return bits_; }
  /// Returns the value for messages: "12", "none", "\"gpt2\"", "an array of 50257 strings".
  std::string text() const;

 private:
  MetaValue(MetaType element, index count, std::string bytes);

  MetaType type_ = MetaType::none;
  std::uint64_t bits_ = 0;
  double real_ = 0;
  std::string text_{};
  MetaArray array_{};
  std::shared_ptr<const std::string> owned_{};
};

struct MetaEntry {
  std::string key;
  MetaValue value{};
};

}  // namespace dikkat
