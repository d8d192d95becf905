#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "autograd/base/index.h"
#include "train/text/hugging_face/text_pattern.h"
#include "train/text/unicode.h"

namespace dikkat {

/// The normalizer of a tokenizer.json: steps that change a text before it is split into words. Immutable: threads may share one.
class TextNormalizer {
 public:
  /// Makes one without steps.
  TextNormalizer() = default;
  /// Makes one with normal form C, or without steps.
  explicit TextNormalizer(bool nfc);
  /// Reads the field "normalizer" of a file. Throws InputError, which names it, for a step that this program does not know.
  explicit TextNormalizer(const nlohmann::json& description);

  /// Returns the normalized text. `text` must be valid UTF-8. `marks`, ascending offsets in bytes, become the offsets of the same places.
  std::string operator()(std::string_view text, std::span<index> marks = {}) const;

  bool is_empty() const { return steps_.empty(); }
  /// Returns the text that is put before every text; empty if none is.
  std::string prefix() const;
  /// Returns whether each character becomes the same characters, and at least one, in every text. Sets `ascii_only` to whether this holds
  /// only for ASCII.
  bool is_local(bool& ascii_only) const;

 private:
  enum class Kind : std::uint8_t { form, lowercase, replace, prepend, strip };
  struct Step {
    Kind kind;
    NormalForm form = NormalForm::c;
    TextPattern pattern{};
    std::string content{};
    bool left = false, right = false;
  };

  static std::string apply(const Step& step, std::string_view text, std::span<index> marks);

  std::vector<Step> steps_;
};

}  // namespace dikkat
