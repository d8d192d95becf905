#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "train/data/corpus/object_form.h"

namespace dikkat {

/// The beginning of a text that may be JSON, whatever its file is called.
struct JsonBeginning {
  bool is_json = false;                // whether all of it is JSON, as far as it was read
  ObjectForm form = ObjectForm::none;  // how its objects are written; none for JSON without objects at the top
  std::vector<std::string> keys = {};  // keys of the first object, in their order
};

/// The number of bytes at the start of a text that json_beginning() looks at.
inline constexpr std::size_t kJsonBeginning = std::size_t{1} << 20;

/// Judges a text by its first bytes. Only a text that begins with a brace or a bracket counts as JSON.
JsonBeginning json_beginning(std::string_view text);

}  // namespace dikkat
