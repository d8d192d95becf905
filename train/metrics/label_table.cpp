#include "train/metrics/label_table.h"

#include <nlohmann/json.hpp>

namespace dikkat {

nlohmann::ordered_json to_json(const LabelTable& table) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (index row = 0; row < std::ssize(table.labels); ++row) {
    nlohmann::ordered_json& cells = rows.emplace_back(nlohmann::ordered_json::array());
    for (index column = 0; column < table.columns(); ++column) {
      cells.push_back(table.at(row, column));
    }
  }
  return {{"labels", table.labels}, {table.several ? "several" : "confusion", std::move(rows)}};
}

LabelTable label_table_of(const nlohmann::json& object) {
  LabelTable table;
  if (!object.is_object() || !object.contains("labels") || !object["labels"].is_array()) {
    return {};
  }
  for (const auto& label : object["labels"]) {
    table.labels.push_back(label.is_string() ? label.get<std::string>() : "");
  }
  table.several = object.contains("several");
  const auto rows = object.find(table.several ? "several" : "confusion");
  if (rows == object.end() || !rows->is_array() || rows->size() != table.labels.size()) {
    return {};
  }
  for (const auto& row : *rows) {
    if (!row.is_array() || std::ssize(row) != table.columns()) {
      return {};
    }
    for (const auto& cell : row) {
      table.counts.push_back(cell.is_number_unsigned() ? cell.get<index>() : 0);
    }
  }
  return table;
}

}  // namespace dikkat
