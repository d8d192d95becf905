#include "train/exchange/formats/metadata.h"

#include <cstring>
#include <limits>
#include <utility>

#include "autograd/base/error.h"
#include "train/exchange/formats/weight_type.h"

namespace dikkat {
namespace {

/// Calls f(T{}) with the C++ type of a number or boolean; returns nullopt for other types.
template <class F>
auto for_number(MetaType type, F&& f) -> decltype(f(float{})) {
  switch (type) {
    case MetaType::u8:
    case MetaType::boolean: return f(std::uint8_t{});
    case MetaType::i8: return f(std::int8_t{});
    case MetaType::u16: return f(std::uint16_t{});
    case MetaType::i16: return f(std::int16_t{});
    case MetaType::u32: return f(std::uint32_t{});
    case MetaType::i32: return f(std::int32_t{});
    case MetaType::f32: return f(float{});
    case MetaType::u64: return f(std::uint64_t{});
    case MetaType::i64: return f(std::int64_t{});
    case MetaType::f64: return f(double{});
    case MetaType::string:
    case MetaType::array:
    case MetaType::none: break;
  }
  return std::nullopt;
}

template <class T>
T number_at(std::span<const std::byte> bytes, index i) {
  T value{};
  std::memcpy(&value, bytes.data() + static_cast<std::size_t>(i) * sizeof(T), sizeof value);
  return value;
}

bool is_integer(MetaType type) {
  switch (type) {
    case MetaType::u8:
    case MetaType::i8:
    case MetaType::u16:
    case MetaType::i16:
    case MetaType::u32:
    case MetaType::i32:
    case MetaType::u64:
    case MetaType::i64: return true;
    case MetaType::f32:
    case MetaType::boolean:
    case MetaType::string:
    case MetaType::array:
    case MetaType::f64:
    case MetaType::none: break;
  }
  return false;
}

constexpr std::uint64_t kLargestIndex = std::numeric_limits<index>::max();

}  // namespace

std::string_view name_of(MetaType type) {
  switch (type) {
    case MetaType::u8: return "u8";
    case MetaType::i8: return "i8";
    case MetaType::u16: return "u16";
    case MetaType::i16: return "i16";
    case MetaType::u32: return "u32";
    case MetaType::i32: return "i32";
    case MetaType::f32: return "f32";
    case MetaType::boolean: return "bool";
    case MetaType::string: return "string";
    case MetaType::array: return "array";
    case MetaType::u64: return "u64";
    case MetaType::i64: return "i64";
    case MetaType::f64: return "f64";
    case MetaType::none: return "none";
  }
  return "?";
}

index bytes_of(MetaType type) {
  const auto bytes = for_number(type, [](auto value) -> std::optional<index> { return index{sizeof value}; });
  return bytes.value_or(0);
}

std::optional<std::vector<std::string_view>> MetaArray::strings() const {
  if (element != MetaType::string) {
    return std::nullopt;
  }
  std::vector<std::string_view> views(static_cast<std::size_t>(count));
  const std::byte* at = bytes.data();
  for (std::string_view& view : views) {
    std::uint64_t length = 0;
    std::memcpy(&length, at, sizeof length);
    view = {reinterpret_cast<const char*>(at) + sizeof length, length};
    at += sizeof length + length;
  }
  return views;
}

std::optional<std::vector<index>> MetaArray::integers() const {
  return for_number(element, [&](auto zero) -> std::optional<std::vector<index>> {
    using T = decltype(zero);
    if constexpr (std::floating_point<T>) {
      return std::nullopt;
    } else {
      std::vector<index> values(static_cast<std::size_t>(count));
      for (index i = 0; i < count; ++i) {
        const T value = number_at<T>(bytes, i);
        if (!std::in_range<index>(value)) {
          return std::nullopt;
        }
        values[static_cast<std::size_t>(i)] = static_cast<index>(value);  // NOLINT(bugprone-signed-char-misuse): i8 is a number here
      }
      return values;
    }
  });
}

std::optional<std::vector<double>> MetaArray::numbers() const {
  if (element == MetaType::boolean) {
    return std::nullopt;
  }
  return for_number(element, [&](auto zero) -> std::optional<std::vector<double>> {
    std::vector<double> values(static_cast<std::size_t>(count));
    for (index i = 0; i < count; ++i) {
      values[static_cast<std::size_t>(i)] = static_cast<double>(number_at<decltype(zero)>(bytes, i));
    }
    return values;
  });
}

MetaValue::MetaValue(MetaType element, index count, std::string bytes)
    : type_(MetaType::array), owned_(std::make_shared<const std::string>(std::move(bytes))) {
  array_ = {.element = element, .count = count, .bytes = std::as_bytes(std::span(*owned_))};
}

MetaValue::MetaValue(std::span<const std::string> strings)
    : MetaValue(MetaType::string, static_cast<index>(strings.size()), [&] {
        std::string bytes;
        for (const std::string& text : strings) {
          const std::uint64_t length = text.size();
          bytes.append(reinterpret_cast<const char*>(&length), sizeof length).append(text);
        }
        return bytes;
      }()) {}

std::optional<index> MetaValue::integer() const {
  const bool fits = is_integer(type_) && (type_ != MetaType::u64 || bits_ <= kLargestIndex);
  return fits ? std::optional(static_cast<index>(bits_)) : std::nullopt;
}

std::optional<double> MetaValue::number() const {
  if (type_ == MetaType::f32 || type_ == MetaType::f64) {
    return real_;
  }
  if (!is_integer(type_)) {
    return std::nullopt;
  }
  return type_ == MetaType::u64 ? static_cast<double>(bits_) : static_cast<double>(static_cast<index>(bits_));
}

std::optional<bool> MetaValue::boolean() const { return type_ == MetaType::boolean ? std::optional(bits_ != 0) : std::nullopt; }

std::optional<std::string_view> MetaValue::string() const {
  return type_ == MetaType::string ? std::optional<std::string_view>(text_) : std::nullopt;
}

bool MetaValue::says_nothing() const {
  return type_ == MetaType::none || number() == 0.0 || boolean() == false || string() == "" || (array() != nullptr && array()->count == 0);
}

std::string MetaValue::text() const {
  if (type_ == MetaType::array) {
    return concat("an array of ", array_.count, " ", array_.element, array_.count == 1 ? "" : "s");
  }
  if (type_ == MetaType::string) {
    return in_quotes(text_);
  }
  if (type_ == MetaType::boolean) {
    return bits_ != 0 ? "true" : "false";
  }
  if (type_ == MetaType::u64) {
    return concat(bits_);
  }
  if (const auto whole = integer()) {
    return concat(*whole);
  }
  return type_ == MetaType::none ? "none" : type_ == MetaType::f32 ? concat(static_cast<float>(real_)) : concat(real_);
}

}  // namespace dikkat
