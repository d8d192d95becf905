#pragma once

#include <string>
#include <string_view>
#include <type_traits>

#include "train/config/config.h"
#include "train/config/schema.h"

namespace dikkat {

/// A value for a key of the configuration, from code instead of --set.
class ConfigEdit {
 public:
  /// `key` is "section.name". `text` is the value as --set takes it; if it is empty, it is made from the value. Throws Error if there is no
  /// such key, or if it does not accept the value.
  ConfigEdit(std::string_view key, schema::Value value, std::string_view text = {});
  template <class E>
    requires std::is_enum_v<E>
  ConfigEdit(std::string_view key, E value) : ConfigEdit(key, schema::Value(std::string(name_of(value)))) {}
  /// Reads "section.name=value". Throws InputError if there is no such key, or if it does not accept the value.
  static ConfigEdit read(std::string_view assignment);

  const schema::Key& key() const { return *key_; }
  const schema::Value& value() const { return value_; }
  /// Returns "section.name=value". An edit that was read has the same value as text.
  std::string assignment() const;
  void apply(Config& config) const { key_->set(config, value_); }

 private:
  ConfigEdit(const schema::Key& key, schema::Value value, std::string_view text);

  const schema::Key* key_;
  schema::Value value_;
  std::string text_;
};

}  // namespace dikkat
