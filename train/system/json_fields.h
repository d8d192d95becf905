#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "autograd/base/index.h"

namespace dikkat {

/// Reads the fields of a JSON object. A field with null counts as missing.
class JsonFields {
 public:
  /// Throws an error about a field. `problem` continues its name: "is 7, expected true or false".
  using Fail = void (*)(const std::string& where, const std::string& name, const std::string& problem);

  /// Keeps a reference to `object`. Unless `fail` throws another error, a wrong field is an InputError: "WHERE: NAME is 7, expected ...".
  JsonFields(const nlohmann::json& object, std::string where, Fail fail = refuse_input);

  const nlohmann::json& object() const { return object_; }
  /// Returns the field's value, or nullptr if it is missing.
  const nlohmann::json* find(std::string_view name) const;

  // Fields that may be missing.
  std::optional<double> number(std::string_view name, double low, double high) const;
  std::optional<index> integer(std::string_view name, index low, index high) const;
  bool flag(std::string_view name, bool by_default = false) const;

  // Fields that must be there.
  std::string text(std::string_view name) const;
  std::vector<std::string> texts(std::string_view name) const;

  /// Fails unless the object has exactly these fields, of which some may be null. An unknown field might change the meaning of others.
  void require_exactly(std::initializer_list<std::string_view> names) const;

  /// Fails: "NAME is 7, expected EXPECTED".
  [[noreturn]] void refuse(std::string_view name, std::string_view expected) const;

 private:
  static void refuse_input(const std::string& where, const std::string& name, const std::string& problem);

  const nlohmann::json& object_;
  std::string where_;
  Fail fail_;
};

}  // namespace dikkat
