#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "train/config/data_config.h"
#include "train/data/corpus/corpus_files.h"
#include "train/data/corpus/file_kind.h"
#include "train/data/corpus/object_form.h"

// Only this header decides what a file of a corpus is. docs/DATA.md has a table of what each command does with each kind.
namespace dikkat {

/// The contents of a file or a corpus. Files of other kinds (file_kind.h) are refused where they are read.
enum class DataKind : std::uint8_t {
  text,           // plain text
  documents,      // objects with a text
  conversations,  // objects with messages, questions or instructions
  pairs,          // objects with a chosen and a rejected answer
  judgments,      // objects with an answer and a label
  labels,         // objects with a text and a label
  json,           // JSON whose objects have no known keys, or other JSON
  table,          // a table without the columns of texts or examples
  tokens,         // token files
};

/// The contents of a file or a corpus, and the place that shows them.
struct CorpusContents {
  DataKind kind = DataKind::text;
  std::string place{};                // "FILE: line 7", "FILE: object 7", "FILE: row 7 (line 9)" or "FILE"
  std::string advice{};               // how to make examples of JSON or a table; empty if that is not known
  const FileKind* foreign = nullptr;  // the kind of a file that is not text
  bool has_objects = false;           // whether a file has objects
};

/// The form of a file, judged by its name and its first bytes.
struct FileForm {
  ObjectForm objects = ObjectForm::none;
  CorpusContents contents{};  // set for a file without objects: text, json or table
};

/// Judges a file. A file that does not end in .jsonl or .ndjson has objects if its first one has a key of an example or a text. A table has
/// objects if it has columns for them (table_fields()). Throws InputError if the file cannot be read, and for a .csv or .tsv file that is
/// not text (require_text()) or lacks the columns of names.columns.
FileForm form_of(const CorpusFile& file, const FieldNames& names);

/// Returns whether a corpus is trained on as conversations, if not by preferences. Judged answers with a good label are conversations.
inline bool is_of_conversations(const CorpusContents& found) {
  return found.kind == DataKind::conversations || found.kind == DataKind::judgments;
}

/// Returns the advice on texts that have a label in this key (CorpusContents::advice).
std::string advice_on_labels(std::string_view key);

/// Returns the kind of an object; nullopt if it has no known keys.
std::optional<DataKind> kind_of_object(const nlohmann::ordered_json& object, const std::string& text_field);

/// Judges a corpus. The first object with known keys decides, except that texts and conversations together are conversations. Without
/// objects, the first file that is not plain text decides. Reads no further than needed. Standard input counts as text, since it can be
/// read only once. Throws InputError for files that cannot be read, and for token files together with others.
CorpusContents contents_of(std::span<const std::string> paths, const FieldNames& names);

/// Throws InputError. The message has what was found and where, what was expected, and what to do with data of this kind.
[[noreturn]] void refuse(const CorpusContents& found, std::string_view expected);

/// Returns the note to the user on a file that is read as plain text although it is JSON or a table. `others` is the number of other such
/// files.
std::string note_on_form(const CorpusContents& file, index others);

}  // namespace dikkat
