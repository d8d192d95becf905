#include "train/data/corpus/corpus_contents.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "autograd/base/error.h"
#include "train/chat/read_conversation.h"
#include "train/chat/read_preference.h"
#include "train/data/corpus/file_kind.h"
#include "train/data/corpus/file_objects.h"
#include "train/data/corpus/json_beginning.h"
#include "train/data/tokens/token_shards.h"
#include "train/system/json.h"

namespace dikkat {
namespace {

// Keys by which an object is known to be an example or a text. read_conversation.cpp and read_preference.cpp have the combinations.
constexpr std::array<std::string_view, 9> kKnownKeys = {"messages", "conversations", "prompt",   "completion", "instruction",
                                                        "output",   "chosen",        "rejected", "text"};
// Names of columns that belong to examples.
constexpr std::string_view kColumns[] = {"prompt", "completion", "response", "instruction", "input", "output",        "question",
                                         "answer", "chosen",     "rejected", "text",        "label", "conversations", "messages"};

/// The name of a kind in messages, and the advice on it. FILE stands for the file's name.
struct KindWords {
  std::string_view what, advice;
};

constexpr std::string_view kLearnOrShow =
    "`dikkat finetune MODEL --data FILE` learns from such files, and `dikkat corpus inspect FILE --chat --tokenizer MODEL` shows them";
constexpr std::string_view kPreferOrShow =
    "`dikkat finetune MODEL --data FILE` learns preferences from such files (unless preference.method is \"none\"), and `dikkat corpus "
    "inspect FILE --chat --tokenizer MODEL` shows them";

KindWords words_for(DataKind kind) {
  switch (kind) {
    case DataKind::text: return {"plain text", ""};
    case DataKind::documents: return {"texts", ""};
    case DataKind::conversations: return {"a conversation", kLearnOrShow};
    case DataKind::pairs: return {"a pair of answers (\"chosen\" and \"rejected\")", kPreferOrShow};
    case DataKind::judgments: return {"a judged answer (\"prompt\", \"completion\" and \"label\")", kPreferOrShow};
    case DataKind::labels:
      return {"a text with a label",
              "training on classes is not supported yet; to train on the texts only, leave the labels out: python3 -c \"import json; "
              "[print(json.dumps({'text': json.loads(x)['text']}, ensure_ascii=False)) for x in open('FILE')]\" > 'FILE.texts.jsonl'"};
    case DataKind::json: return {"JSON that has no known keys", "convert it to JSONL"};
    case DataKind::table: return {"a table", "convert it to JSONL"};
    case DataKind::tokens: return {"token ids", ""};
  }
  fail("corpus: unknown contents");
}

/// Returns a command of Python that writes each x of `items` as a line: python3 -c "..." > 'FILE.jsonl'.
std::string python(std::string_view imports, std::string_view object, std::string_view items) {
  return fmt::format("python3 -c \"import {}; [print(json.dumps({}, ensure_ascii=False)) for x in {}]\" > 'FILE.jsonl'", imports, object,
                     items);
}

/// Returns whether a key needs no escaping in a command.
bool is_plain(const std::string& key) {
  return !key.empty() &&
         std::ranges::all_of(key, [](unsigned char c) { return c >= 0x80 || std::isalnum(c) || c == '_' || c == '-' || c == ' '; });
}

/// Returns a command that converts JSON to examples, or an empty string. The first two keys are taken for a question and its answer.
std::string command_for_json(const JsonBeginning& begin) {
  const bool is_stream = begin.form == ObjectForm::stream;  // one object of several lines, perhaps with a list in it
  const auto& keys = begin.keys;
  if (begin.form == ObjectForm::none) {
    return keys.empty() ? python("json", "{'text': x}", "json.load(open('FILE'))") : "";
  }
  if (keys.empty() || !is_plain(keys[0]) || (keys.size() > 1 && !is_plain(keys[1]))) {
    return "";
  }
  if (is_stream) {
    return python("json", "x", fmt::format("json.load(open('FILE'))['{}']", keys[0]));
  }
  return python("json",
                keys.size() == 1 ? fmt::format("{{'text': x['{}']}}", keys[0])
                                 : fmt::format("{{'prompt': x['{}'], 'completion': x['{}']}}", keys[0], keys[1]),
                begin.form == ObjectForm::array ? "json.load(open('FILE'))" : "map(json.loads, open('FILE'))");
}

/// Returns the columns of the first line, without quotes.
std::vector<std::string_view> columns_of(std::string_view text, char separator) {
  std::string_view line = text.substr(0, text.find('\n'));
  line = line.substr(0, line.find('\r'));
  std::vector<std::string_view> columns;
  for (std::size_t at = 0; at <= line.size();) {
    const std::size_t end = std::min(line.find(separator, at), line.size());
    std::string_view column = line.substr(at, end - at);
    if (column.size() >= 2 && column.starts_with('"') && column.ends_with('"')) {
      column = column.substr(1, column.size() - 2);
    }
    columns.push_back(column);
    at = end + 1;
  }
  return columns;
}

/// Returns the form of a table; nullopt if the file is not one. A file is a table by its name, or by two known columns in its first line.
std::optional<FileForm> table_form(const std::string& name, std::string_view text) {
  const std::string extension = extension_of(name);
  const bool is_named = extension == ".csv" || extension == ".tsv";
  constexpr std::string_view kSeparators = ",\t;";
  char separator = extension == ".tsv" ? '\t' : ',';
  bool has_examples = false;
  for (const char one : kSeparators) {
    const std::vector<std::string_view> columns = columns_of(text.substr(0, std::size_t{1} << 12), one);
    if (std::ranges::count_if(columns, [](std::string_view column) { return std::ranges::find(kColumns, column) != std::end(kColumns); }) >
        1) {
      has_examples = true;
      separator = one;
    }
  }
  if (!is_named && !has_examples) {
    return std::nullopt;
  }
  const std::string delimiter = separator == ',' ? "" : separator == ';' ? ", delimiter=';'" : ", delimiter=chr(9)";
  return FileForm{.otherwise = DataKind::table,
                  .has_examples = has_examples,
                  .convert = python("csv, json", "x", fmt::format("csv.DictReader(open('FILE', newline=''){})", delimiter))};
}

/// Returns the beginning of a file: as much as json_beginning() needs, or less if it is not JSON.
std::string beginning_of(const CorpusFile& file) {
  constexpr std::size_t kBlock = std::size_t{1} << 12;
  const auto source = open_bytes(file.path, file.name);
  std::string text;
  const auto read_to = [&](std::size_t wanted) {
    while (text.size() < wanted) {
      const std::size_t had = text.size();
      text.resize(wanted);
      const std::size_t got = source->read(text.data() + had, wanted - had);
      text.resize(had + got);
      if (got == 0) {
        return;
      }
    }
  };
  read_to(kBlock);
  if (text.starts_with(kByteOrderMark)) {
    text.erase(0, kByteOrderMark.size());
  }
  const std::size_t first = std::min(text.find_first_not_of(" \t\r\n"), text.size());
  if (first < text.size() && (text[first] == '{' || text[first] == '[')) {
    read_to(first + kJsonBeginning);
  }
  return text;
}

/// Returns whether an object's JSON may have one of the keys. This is much faster than parsing it.
bool may_have(std::string_view text, std::initializer_list<std::string_view> quoted) {
  return std::ranges::any_of(quoted, [&](std::string_view key) { return text.find(key) != std::string_view::npos; });
}

/// Returns the kind of an object from its JSON; nullopt if it has no known keys or is not JSON.
std::optional<DataKind> kind_of_text(std::string_view text, const std::string& text_field) {
  try {
    return kind_of_object(parse_json<nlohmann::ordered_json>(text), text_field);
  } catch (const JsonError&) {
    return std::nullopt;
  }
}

bool is_conversation_text(std::string_view text, const std::string& text_field) {
  if (!may_have(text, {"\"messages\"", "\"conversations\"", "\"completion\"", "\"output\""})) {
    return false;
  }
  const auto kind = kind_of_text(text, text_field);
  return kind == DataKind::conversations || kind == DataKind::judgments;
}

}  // namespace

std::optional<DataKind> kind_of_object(const nlohmann::ordered_json& object, const std::string& text_field) {
  if (!object.is_object()) {
    return std::nullopt;
  }
  switch (preference_kind(object)) {
    case PreferenceKind::pair: return DataKind::pairs;
    case PreferenceKind::judged: return DataKind::judgments;
    case PreferenceKind::none: break;
  }
  if (is_conversation(object, text_field)) {
    return DataKind::conversations;
  }
  if (find_value(object, text_field) == nullptr) {
    return std::nullopt;
  }
  return label_of(object).empty() ? DataKind::documents : DataKind::labels;
}

FileForm form_of(const CorpusFile& file, const std::string& text_field) {
  const std::string text = beginning_of(file);
  const JsonBeginning begin = json_beginning(text);
  if (begin.form == ObjectForm::array && is_jsonl(file.name)) {
    return {.objects = ObjectForm::array};
  }
  if (is_jsonl(file.name)) {
    return {.objects = ObjectForm::lines};
  }
  const auto is_known = [&](const std::string& key) { return key == text_field || std::ranges::find(kKnownKeys, key) != kKnownKeys.end(); };
  if (begin.form != ObjectForm::none && std::ranges::any_of(begin.keys, is_known)) {
    return {.objects = begin.form};
  }
  if (begin.is_json) {
    return {.otherwise = DataKind::json, .convert = command_for_json(begin)};
  }
  return table_form(file.name, text).value_or(FileForm());
}

CorpusContents contents_of(std::span<const std::string> paths, const std::string& text_field) {
  // Token files and standard input are not opened here.
  if (are_token_shards(paths)) {
    return {.kind = DataKind::tokens, .place = paths.front()};
  }
  if (std::ranges::find(paths, kStandardInput) != paths.end()) {
    return {.place = "standard input"};
  }
  // Judge the files in order.
  CorpusContents found;
  bool is_known = false;  // an object with known keys has been seen
  const std::vector<CorpusFile> files = find_corpus_files(paths);
  for (const CorpusFile& file : files) {
    const FileForm form = form_of(file, text_field);
    // Without objects, the first file that is not plain text decides.
    if (form.objects == ObjectForm::none) {
      if (found.place.empty() || (!is_known && found.kind == DataKind::text)) {
        found = {.kind = form.otherwise, .place = file.name, .convert = form.convert, .has_objects = found.has_objects};
      }
      continue;
    }
    // The first object with known keys decides, except that texts and conversations together are conversations.
    found.has_objects = true;
    FileObjects objects(file, form.objects);
    while (const auto text = objects.next()) {
      const std::optional<DataKind> kind = is_known ? std::nullopt : kind_of_text(*text, text_field);
      if (kind) {
        is_known = true;
        found = {.kind = *kind, .place = objects.place(), .has_objects = true};
      } else if (is_known && found.kind == DataKind::documents && is_conversation_text(*text, text_field)) {
        found = {.kind = DataKind::conversations, .place = objects.place(), .has_objects = true};
      }
      if (is_known && found.kind != DataKind::documents) {
        return found;
      }
    }
    if (found.place.empty()) {
      found = {.kind = DataKind::json, .place = file.name, .has_objects = true};
    }
  }
  return found;
}

void refuse(const CorpusContents& found, std::string_view expected) {
  const auto [what, advice] = words_for(found.kind);
  const std::string file = found.place.substr(0, std::min(found.place.find(": "), found.place.size()));
  const bool has_command = !found.convert.empty();
  const std::string todo = with_file_name(has_command ? concat("convert it to JSONL: ", found.convert) : std::string(advice), file);
  fail_input("corpus: ", found.place, " holds ", what, ", expected ", expected, todo.empty() ? "" : "; ", todo);
}

std::string note_on_form(const FileForm& form, const std::string& name, index others) {
  const auto [what, advice] = words_for(form.otherwise);
  return concat(name, " is read as plain text, but it holds ", what,
                others == 0 ? "" : concat(", and so do", others == 1 ? "es" : "", ' ', others, " other file", others == 1 ? "" : "s"),
                form.convert.empty() ? "" : concat("; to make examples of it: ", with_file_name(form.convert, name)));
}

}  // namespace dikkat
