#pragma once

#include <optional>
#include <vector>

#include "train/grammar/schema_place.h"

namespace dikkat {

/// Throws SchemaError, with the path of the keyword oneOf, unless no answer that the grammar of one of the schemas has matches another one.
/// `types_beside` are the types that the keywords next to oneOf allow; absent: no such keyword limits a value. `comparisons` counts the
/// work for all schemas of one form, which has a limit. This header is only for the sources of this project.
void require_apart(const std::vector<SchemaPlace>& schemas, const std::string& path, std::optional<unsigned> types_beside,
                   std::size_t& comparisons);

}  // namespace dikkat
