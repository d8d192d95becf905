#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "autograd/base/error.h"
#include "autograd/base/index.h"
#include "train/data/corpus/object_form.h"

namespace dikkat {

/// Thrown for a text that is not an array, or has an object that does not end. The message continues a sentence that begins with the place.
class BrokenObjects : public InputError {
 public:
  using InputError::InputError;
};

/// Cuts a text that arrives in parts into its objects. It finds only where each begins and ends; the caller parses it.
class ObjectReader {
 public:
  /// Appends more text to its argument. Returns false at the end of the text.
  using Source = std::function<bool(std::string&)>;

  /// `form` must not be `none`.
  ObjectReader(ObjectForm form, Source source) : form_(form), source_(std::move(source)) {}

  /// Returns the next object, valid until the next call; nullopt at the end. Blank lines of JSONL are skipped. Throws
  /// BrokenObjects.
  std::optional<std::string_view> next();

  /// Returns the place of the object that next() returned: "FILE: line 7" in JSONL, otherwise "FILE: object 7".
  std::string place(const std::string& file) const;
  /// Returns the number of that line or object, from 1.
  index number() const { return number_; }

 private:
  bool read_more();
  char skip_space();
  std::string_view cut_value();
  std::optional<std::string_view> next_line();
  std::optional<std::string_view> next_value();

  ObjectForm form_;
  Source source_;
  std::string text_;
  std::size_t at_ = 0;  // the text before it has been returned
  index number_ = 0;
  bool has_begun_ = false, has_ended_ = false;  // whether the text has begun, and has ended
  bool is_over_ = false;                        // the array has ended
};

}  // namespace dikkat
