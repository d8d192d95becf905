#pragma once

#include <string>
#include <string_view>

#include "train/config/config.h"
#include "train/exchange/family.h"
#include "train/system/json.h"

namespace dikkat {

/// Reads values of a JSON object of Hugging Face. Error messages begin with the object's name. Object and name must outlive the reader.
class HfReader {
 public:
  HfReader(const nlohmann::json& object, const std::string& name) : object_(object), name_(name) {}

  /// Returns the value of a key, or null if it is absent or null.
  const nlohmann::json* find(std::string_view key) const;

  /// Sets a key of [model] to a JSON value. Throws InputError for a value that the key does not accept.
  void set(Config& config, std::string_view ours, std::string_view theirs, const nlohmann::json& value, Form form = Form::same) const;

  const nlohmann::json& object() const { return object_; }
  const std::string& name() const { return name_; }

 private:
  const nlohmann::json& object_;
  const std::string& name_;
};

}  // namespace dikkat
