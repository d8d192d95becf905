#include "train/data/corpus/placed_texts.h"

#include <sstream>

#include <nlohmann/json.hpp>

#include "autograd/base/error.h"
#include "train/data/corpus/corpus_contents.h"
#include "train/data/corpus/file_objects.h"
#include "train/system/json.h"
#include "train/text/utf8.h"

namespace dikkat {
namespace {

void require_words(const std::string& text, const std::string& place) {
  require_input(text.find_first_not_of(" \t\r\n") != std::string::npos, place, "has an empty text, expected words; remove it");
}

std::string text_in(const FileObjects& objects, const TextColumn& column) {
  const nlohmann::ordered_json object = objects.reader().object();
  const auto* text = object.is_object() ? find_value(object, column.name) : nullptr;
  if (text == nullptr && object.is_object() && !column.is_strict) {
    text = find_value(object, "text");
  }
  require_input(text != nullptr && text->is_string(), text == nullptr ? "has no field \"" : "has another value than a text in \"",
                column.name, "\", expected a text there; name another key or column with ", column.option);
  return text->get<std::string>();
}

}  // namespace

std::vector<PlacedText> read_texts(const std::string& path, const TextColumn& column) {
  const FieldNames of_table{.text = column.name, .columns = {concat(column.name, '=', column.name)}};
  std::vector<SkippedFiles> skipped;
  const std::vector<CorpusFile> files = find_corpus_files({&path, 1}, kTextExtensions, &skipped);
  require_input(files.size() == 1, path, " has ", files.size(), " files, expected one file of texts; name it");
  require_input(skipped.empty(), path, " has more than one file, expected one file of texts; name it; ", describe(skipped));
  const CorpusFile& file = files.front();
  std::vector<PlacedText> texts;
  const FileForm form = form_of(file, of_table);
  if (form.contents.kind == DataKind::json && extension_of(file.name) != ".txt") {
    refuse(form.contents, concat("objects with a text in \"", column.name, "\" (", column.option, "), a table, or a .txt file of lines"));
  }
  if (form.objects != ObjectForm::none) {
    FileObjects objects(file, form.objects, form.objects == ObjectForm::table ? of_table : FieldNames{.text = column.name});
    objects.keep_empty_rows();                                        // a skipped one would shift the results
    for_objects(objects, [&](std::string_view, const FileObjects&) {  // errors get the place
      texts.push_back({.text = text_in(objects, column), .place = objects.place()});
      require_words(texts.back().text, "");
    });
  } else {
    require_input(!column.is_strict, column.option, " is ", column.name, ", but ", file.name, " has no columns: it is read line by line");
    const std::string text = read_text_file(file);
    std::istringstream lines(text.substr(text.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0));
    for (std::string line; std::getline(lines, line);) {
      line.erase(line.find_last_not_of('\r') + 1);
      texts.push_back({.text = line, .place = concat(file.name, ": line ", texts.size() + 1)});
      const auto& [read, place] = texts.back();
      require_input(!utf8::first_invalid(read), place, ": is not UTF-8, expected UTF-8");
      require_words(read, place + ": ");
    }
  }
  require_input(!texts.empty(), file.name, " has no texts, expected a text on each line, objects or rows");
  return texts;
}

}  // namespace dikkat
