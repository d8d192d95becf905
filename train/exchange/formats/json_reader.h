#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "autograd/base/error.h"

namespace dikkat {

/// Reads JSON as a stream of events, in the order of the text. Nothing is stored, so a hostile text uses no memory and no stack, and a name
/// that occurs twice can be found.
class JsonReader {
 public:
  /// Messages begin "<name>: <what> ".
  JsonReader(std::string name, const char* what) : name_(std::move(name)), what_(what) {}
  virtual ~JsonReader() = default;
  JsonReader(const JsonReader&) = delete;
  JsonReader& operator=(const JsonReader&) = delete;

  /// Throws InputError if the text is not valid JSON in UTF-8.
  void read(std::string_view text);

  // The events. They throw InputError for anything unexpected.
  virtual void on_object() = 0;
  virtual void on_key(std::string_view key) = 0;
  virtual void on_object_end() = 0;
  virtual void on_array() = 0;
  virtual void on_array_end() = 0;
  virtual void on_string(std::string_view text) = 0;
  /// A number; nullopt if it is not an integer from 0 to 2^64 - 1.
  virtual void on_number(std::optional<std::uint64_t> number) = 0;
  /// true, false or null.
  virtual void on_other() = 0;

 protected:
  std::string about() const { return concat(name_, ": ", what_, " "); }
  template <class... Parts>
  void check(bool ok, const Parts&... parts) const {
    if (!ok) [[unlikely]] {
      fail_input(about(), parts...);
    }
  }

 private:
  std::string name_;
  const char* what_;
};

/// Returns the text as a JSON string with quotation marks. Throws InputError, beginning with `path`, if it is not UTF-8.
std::string json_text(const std::string& text, const std::string& path);

}  // namespace dikkat
