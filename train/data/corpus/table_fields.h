#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "train/config/data_config.h"

namespace dikkat {

/// The fields of texts or examples that the columns of a table become.
struct TableFields {
  std::vector<std::string> of_columns{};  // the field of each column; empty for one that is not read
  std::string note{};                     // for the user: which columns are read
};

/// Chooses the fields of columns: only those of names.columns, or else columns with usual names, such as "question" and "answer"; the
/// others keep their names. Throws BadTable (train/text/table_reader.h) if columns are missing, and InputError for an invalid
/// names.columns.
TableFields table_fields(const std::vector<std::string>& columns, const FieldNames& names);

/// Returns an object with only the fields of names.columns, or all of `object` if it has none of them.
nlohmann::ordered_json with_field_names(nlohmann::ordered_json object, const FieldNames& names);

}  // namespace dikkat
