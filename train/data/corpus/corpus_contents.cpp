#include "train/data/corpus/corpus_contents.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "autograd/base/error.h"
#include "train/chat/read_conversation.h"
#include "train/chat/read_preference.h"
#include "train/chat/text_pair_keys.h"
#include "train/data/corpus/file_objects.h"
#include "train/data/corpus/json_beginning.h"
#include "train/data/corpus/table_fields.h"
#include "train/data/tokens/token_shards.h"
#include "train/system/json.h"
#include "train/text/table_reader.h"

namespace dikkat {
namespace {

// Keys by which an object is known to be an example or a text. read_conversation.cpp and read_preference.cpp have the combinations.
constexpr std::array<std::string_view, 9> kKnownKeys = {"messages", "conversations", "prompt",   "completion", "instruction",
                                                        "output",   "chosen",        "rejected", "text"};
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
    case DataKind::labels: return {"a text with a label", ""};
    case DataKind::json: return {"JSON that has no known keys", "convert it to JSONL"};
    case DataKind::table: return {"a table", ""};
    case DataKind::tokens: return {"token ids", ""};
  }
  fail("corpus: unknown contents");
}

/// Returns a command of Python that writes each x of `items` as a line: python3 -c "..." > 'FILE.jsonl'.
std::string python(std::string_view object, std::string_view items) {
  return fmt::format(
      "convert it to JSONL: python3 -c \"import json; [print(json.dumps({}, ensure_ascii=False)) for x in {}]\" > 'FILE.jsonl'", object,
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
    return keys.empty() ? python("{'text': x}", "json.load(open('FILE'))") : "";
  }
  if (keys.empty() || !is_plain(keys[0]) || (keys.size() > 1 && !is_plain(keys[1]))) {
    return "";
  }
  if (is_stream) {
    return python("x", fmt::format("json.load(open('FILE'))['{}']", keys[0]));
  }
  return python(keys.size() == 1 ? fmt::format("{{'text': x['{}']}}", keys[0])
                                 : fmt::format("{{'prompt': x['{}'], 'completion': x['{}']}}", keys[0], keys[1]),
                begin.form == ObjectForm::array ? "json.load(open('FILE'))" : "map(json.loads, open('FILE'))");
}

/// Returns the beginning of a file: as much as json_beginning() needs, or less if it is not JSON.
std::string beginning_of(const CorpusFile& file) {
  constexpr std::size_t kBlock = std::size_t{1} << 12;
  const auto source = open_bytes(file.path, file.name);
  std::string text;
  const auto read_to = [&](std::size_t wanted) {
    while (text.size() < wanted && append(*source, wanted - text.size(), text) > 0) {
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

/// Returns the kind of the object that was read last; nullopt if it has no known keys or is not JSON.
std::optional<DataKind> kind_of_last(const ObjectReader& objects, const std::string& text_field) {
  try {
    return kind_of_object(objects.object(), text_field);
  } catch (const InputError&) {
    return std::nullopt;
  }
}

/// Returns the form of a table; nullopt if the file is not one. A file is a table by its name, or by the columns of an example in its
/// beginning.
std::optional<FileForm> table_form(const CorpusFile& file, const std::string& begin, const FieldNames& names) {
  constexpr std::size_t kBlock = std::size_t{1} << 16;
  const std::string extension = extension_of(file.name);
  const bool is_named = extension == ".csv" || extension == ".tsv";
  if (is_named) {
    require_text(begin, 0, file.name);
  }
  try {
    const auto source = open_bytes(file.path, file.name);
    bool has_begin = !is_named;
    const TableReader header([&](std::string& text) {
      text += has_begin ? begin : "";
      return std::exchange(has_begin, false) || (is_named && append(*source, kBlock, text) > 0);
    });
    const TableFields fields = table_fields(header.columns(), names);
    const bool is_text = std::ranges::find(fields.of_columns, names.text) != fields.of_columns.end();
    return is_named || !is_text ? std::optional(FileForm{.objects = ObjectForm::table}) : std::nullopt;
  } catch (const BadTable& error) {
    require_input(!is_named || names.columns.empty(), "corpus: ", file.name, ": row 1 ", error.what());
    const CorpusContents unknown{.kind = DataKind::table, .place = file.name, .advice = concat("its first row ", error.what())};
    return is_named ? std::optional(FileForm{.contents = unknown}) : std::nullopt;
  }
}

}  // namespace

std::string advice_on_labels(std::string_view key) {
  return how_to_label(key) +
         "; to train on the texts only, leave the labels out (of a table: --columns text=text): python3 -c \"import json; "
         "[print(json.dumps({'text': json.loads(x)['text']}, ensure_ascii=False)) for x in open('FILE')]\" > 'FILE.texts.jsonl'";
}

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

FileForm form_of(const CorpusFile& file, const FieldNames& names) {
  const std::string text = beginning_of(file);
  const JsonBeginning begin = json_beginning(text);
  if (begin.form == ObjectForm::array && is_jsonl(file.name)) {
    return {.objects = ObjectForm::array};
  }
  if (is_jsonl(file.name)) {
    return {.objects = ObjectForm::lines};
  }
  const auto is_known = [&](const std::string& key) {
    return key == names.text || std::ranges::find(kKnownKeys, key) != kKnownKeys.end() || (names.pairs && is_text_pair_key(key)) ||
           std::ranges::any_of(names.columns, [&](const std::string& one) { return one.ends_with('=' + key); });
  };
  if (begin.form != ObjectForm::none && std::ranges::any_of(begin.keys, is_known)) {
    return {.objects = begin.form};
  }
  if (begin.is_json) {
    return {.contents = {.kind = DataKind::json, .place = file.name, .advice = command_for_json(begin)}};
  }
  if (const FileKind* kind = kind_of_file(text)) {
    return {.contents = {.place = file.name, .foreign = kind}};
  }
  return table_form(file, text, names).value_or(FileForm{.contents = {.place = file.name}});
}

CorpusContents contents_of(std::span<const std::string> paths, const FieldNames& names) {
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
    const FileForm form = form_of(file, names);
    // Without objects, the first file that is not plain text decides.
    if (form.objects == ObjectForm::none) {
      if (found.place.empty() || (!is_known && found.kind == DataKind::text)) {
        const bool has_objects = found.has_objects;
        found = form.contents;
        found.has_objects = has_objects;
      }
      continue;
    }
    // The first object with known keys decides, except that texts and conversations together are conversations.
    found.has_objects = true;
    FileObjects objects(file, form.objects, names);
    while (const auto text = objects.next()) {
      // After a text, only a conversation matters, and few texts are parsed in the search for one.
      const bool may_be =
          !is_known || !names.columns.empty() || may_have(*text, {"\"messages\"", "\"conversations\"", "\"completion\"", "\"output\""});
      const std::optional<DataKind> kind = may_be ? kind_of_last(objects.reader(), names.text) : std::nullopt;
      if (kind && (!is_known || *kind == DataKind::conversations || *kind == DataKind::judgments)) {
        found = {.kind = is_known ? DataKind::conversations : *kind, .place = objects.place(), .has_objects = true};
        found.advice = found.kind == DataKind::labels ? advice_on_labels(label_of(objects.reader().object())) : "";
        is_known = true;
      }
      if (is_known && found.kind != DataKind::documents) {
        return found;
      }
      if (form.objects == ObjectForm::table) {  // its rows are all of one kind
        break;
      }
    }
    if (found.place.empty()) {
      const bool is_table = form.objects == ObjectForm::table;
      found = {.kind = is_table ? DataKind::table : DataKind::json, .place = file.name, .has_objects = true};
    }
  }
  return found;
}

void refuse(const CorpusContents& found, std::string_view expected) {
  if (found.foreign != nullptr) {
    refuse_kind(*found.foreign, found.place, std::string(expected).c_str());
  }
  const auto [what, advice] = words_for(found.kind);
  const std::string file = found.place.substr(0, std::min(found.place.find(": "), found.place.size()));
  const std::string todo = with_file_name(found.advice.empty() ? advice : found.advice, file);
  fail_input("corpus: ", found.place, " holds ", what, ", expected ", expected, todo.empty() ? "" : "; ", todo);
}

std::string note_on_form(const CorpusContents& file, index others) {
  const auto [what, advice] = words_for(file.kind);
  return concat(file.place, " is read as plain text, but it holds ", what,
                others == 0 ? "" : concat(", and so do", others == 1 ? "es" : "", ' ', others, " other file", others == 1 ? "" : "s"),
                file.advice.empty() ? "" : concat("; ", with_file_name(file.advice, file.place)));
}

}  // namespace dikkat
