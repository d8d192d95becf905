#include "train/cli/read_texts.h"

#include <nlohmann/json.hpp>

#include "autograd/base/error.h"
#include "train/cli/terminal/text.h"
#include "train/data/corpus/corpus_contents.h"
#include "train/data/corpus/file_objects.h"
#include "train/system/json.h"
#include "train/text/utf8.h"

namespace dikkat {

std::vector<PlacedText> read_texts(const std::string& path, const std::string& column) {
  const std::string field = column.empty() ? "text" : column;
  const FieldNames of_table{.text = field, .columns = {concat(field, '=', field)}};
  const CorpusFile file = find_corpus_files({&path, 1}).front();
  std::vector<PlacedText> texts;
  const ObjectForm form = path == kStandardInput ? ObjectForm::none : form_of(file, of_table).objects;
  if (form != ObjectForm::none) {
    const auto add = [&](std::string_view, const FileObjects& objects) {
      const nlohmann::ordered_json object = objects.reader().object();
      const auto* const text = object.is_object() ? find_value(object, field) : nullptr;
      require_input(text != nullptr && text->is_string(), text == nullptr ? "has no field " : "has another value than a text in ", field,
                    ", expected one with a text: name it with --column");
      texts.push_back({.text = text->get<std::string>(), .place = objects.place()});
    };
    const FieldNames names = form == ObjectForm::table ? of_table : FieldNames{.text = field};
    for_objects({&path, 1}, names, "texts in lines, in a column of a table, or in objects of JSONL", add);
  } else {
    require_input(column.empty(), "--column is ", column, ", but ", file.name, " has no columns: it is read line by line");
    const std::string text = read_text_file(file);
    for (const std::string& line : lines_of(text)) {
      texts.push_back({.text = line, .place = concat(file.name, ": line ", texts.size() + 1)});
      const auto invalid = utf8::first_invalid(line);
      require_input(!invalid, texts.back().place, ": is not UTF-8, expected UTF-8");
    }
  }
  require_input(!texts.empty(), file.name, " has no texts, expected one on each line");
  return texts;
}

}  // namespace dikkat
