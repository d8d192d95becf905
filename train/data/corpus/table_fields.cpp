#include "train/data/corpus/table_fields.h"

#include <algorithm>
#include <cctype>
#include <span>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "train/chat/text_pair_keys.h"
#include "train/text/table_reader.h"

namespace dikkat {
namespace {

/// A field of an example, and the usual names of its column, the preferred ones first.
struct UsualColumn {
  std::string_view field;
  std::vector<std::string_view> columns;
  bool is_required = true;
};

/// Returns the forms of examples and texts (read_conversation.h, read_preference.h), the most special ones first.
const std::vector<std::vector<UsualColumn>>& usual_forms() {
  using Names = std::vector<std::string_view>;
  static const Names questions = {"prompt", "question", "query", "input", "user", "human"};
  static const Names answers = {"completion", "answer", "response", "output", "reply", "assistant"};
  static const std::vector<std::vector<UsualColumn>> forms = {
      {{"chosen", {"chosen", "preferred"}}, {"rejected", {"rejected"}}, {"prompt", questions, false}},
      {{"instruction", {"instruction"}}, {"output", answers}, {"input", {"input", "context"}, false}},
      {{"instruction", questions}, {"output", answers}, {"system", {"system", "system_prompt"}}},
      {{"prompt", questions}, {"completion", answers}},
      {{"text", {"text"}}}};
  return forms;
}

/// Returns the form of pairs of texts (text_pair_keys.h).
const std::vector<std::vector<UsualColumn>>& form_of_text_pairs() {
  const auto column = [](const auto& keys, bool is_required) {
    return UsualColumn{.field = keys[0], .columns = {std::begin(keys), std::end(keys)}, .is_required = is_required};
  };
  static const std::vector<std::vector<UsualColumn>> forms = {
      {column(kAnchorKeys, true), column(kPositiveKeys, true), column(kNegativeKeys, false)}};
  return forms;
}

using Choice = std::vector<std::pair<std::string, std::string>>;  // fields, each with its column

/// Returns the columns of a form; none if one is missing. Case does not matter.
Choice find_form(std::span<const UsualColumn> form, const std::vector<std::string>& columns) {
  const auto lower = [](unsigned char c) { return std::tolower(c); };
  Choice choice;
  for (const UsualColumn& one : form) {
    auto found = columns.end();
    for (std::size_t i = 0; i < one.columns.size() && found == columns.end(); ++i) {
      const auto is_named = [&](const std::string& column) { return std::ranges::equal(column, one.columns[i], {}, lower); };
      found = std::ranges::find_if(columns, is_named);
    }
    if (found != columns.end()) {
      choice.emplace_back(one.field, *found);
    } else if (one.is_required) {
      return {};
    }
  }
  return choice;
}

/// Returns the columns with usual names; none if there are no such columns. A text field that the user names is preferred, as in
/// read_conversation().
Choice usual_choice(const std::vector<std::string>& columns, const FieldNames& names) {
  Choice choice;
  if (!names.pairs && names.text != "text" && std::ranges::find(columns, names.text) != columns.end()) {
    choice = {{names.text, names.text}};
  }
  const auto& forms = names.pairs ? form_of_text_pairs() : usual_forms();
  for (std::size_t i = 0; i < forms.size() && choice.empty(); ++i) {
    choice = find_form(forms[i], columns);
  }
  return choice;
}

/// Returns whether a reader uses this field of an object.
bool is_known(std::string_view field, const FieldNames& names) {
  constexpr std::string_view kOthers[] = {"messages", "conversations", "tools", "history", "label", "class", "weight", "train", "loss"};
  const auto has_field = [&](const auto& form) { return std::ranges::find(form, field, &UsualColumn::field) != form.end(); };
  return names.pairs ? is_text_pair_key(field)
                     : field == names.text || std::ranges::find(kOthers, field) != std::end(kOthers) ||
                           (field != "text" && std::ranges::any_of(usual_forms(), has_field));
}

Choice own_choice(const FieldNames& names) {
  Choice choice;
  for (const std::string& one : names.columns) {
    const std::size_t mark = std::min(one.find('='), one.size());
    const auto& [field, column] = choice.emplace_back(one.substr(0, mark), one.substr(std::min(mark + 1, one.size())));
    const bool is_new = std::ranges::count(choice, field, &Choice::value_type::first) == 1 &&
                        std::ranges::count(choice, column, &Choice::value_type::second) == 1;
    require_input(!field.empty() && !column.empty() && is_new, "data.columns (--columns) has \"", one,
                  "\", expected FIELD=COLUMN with other fields and columns than before, such as prompt=question,completion=answer");
    require_input(is_known(field, names), "data.columns (--columns) has \"", one, "\", but \"", field, "\" is not a field of ",
                  names.pairs ? "pairs of texts, expected anchor, positive or negative"
                              : concat("texts or examples, expected a name such as prompt, completion or ", names.text,
                                       is_text_pair_key(field) ? "; pairs of texts need --objective embedding" : ""));
  }
  return choice;
}

}  // namespace

TableFields table_fields(const std::vector<std::string>& columns, const FieldNames& names) {
  const bool is_own = !names.columns.empty();
  const Choice choice = is_own ? own_choice(names) : usual_choice(columns, names);
  const auto refuse_columns = [&](const auto&... parts) {
    constexpr std::size_t kShown = 20;
    std::string message = concat(parts..., "; its columns are ");
    for (std::size_t i = 0; i < std::min(columns.size(), kShown); ++i) {
      append_to(message, concat(i == 0 ? "\"" : ", \"", columns[i], '"'));
    }
    throw BadTable(message + (columns.size() > kShown ? " ..." : ""));
  };
  if (choice.empty()) {
    const bool has_pairs = !names.pairs && !find_form(form_of_text_pairs().front(), columns).empty();
    refuse_columns("has no columns with the names of ", names.pairs ? "pairs" : "texts or examples",
                   ": name those of a question and its answer (data.columns), --columns ",
                   names.pairs ? "anchor=COLUMN,positive=COLUMN" : "prompt=COLUMN,completion=COLUMN", has_pairs ? kHowToEmbed : "");
  }
  TableFields fields{.of_columns = is_own ? std::vector<std::string>(columns.size()) : columns};
  for (const auto& [field, column] : choice) {
    const auto found = std::ranges::find(columns, column);
    if (found == columns.end()) {
      refuse_columns("has no column \"", column, "\" (data.columns, --columns)");
    }
    std::ranges::replace(fields.of_columns, field, std::string());  // another column with this name is not read
    fields.of_columns[static_cast<std::size_t>(found - columns.begin())] = field;
    append_to(fields.note, concat(fields.note.empty() ? "a table is read with --columns " : ",", field, '=', column));
  }
  return fields;
}

nlohmann::ordered_json with_field_names(nlohmann::ordered_json object, const FieldNames& names) {
  nlohmann::ordered_json chosen;
  for (const auto& [field, column] : object.is_object() ? own_choice(names) : Choice()) {
    if (const auto found = object.find(column); found != object.end()) {
      chosen[field] = std::move(*found);
    }
  }
  return chosen.is_null() ? object : chosen;
}

}  // namespace dikkat
