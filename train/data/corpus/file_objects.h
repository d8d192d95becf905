#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "train/data/corpus/byte_source.h"
#include "train/data/corpus/corpus_files.h"
#include "train/data/corpus/object_reader.h"

namespace dikkat {

/// The objects of one file. The file is read block by block, and no further than needed.
class FileObjects {
 public:
  /// Throws InputError if the file cannot be opened.
  FileObjects(const CorpusFile& file, ObjectForm form, const FieldNames& names);
  FileObjects(const FileObjects&) = delete;
  FileObjects& operator=(const FileObjects&) = delete;

  /// Returns the JSON of the next object, valid until the next call; nullopt at the end. Throws InputError, which names the place, for a
  /// file that is not text (require_text()), a broken array and a broken table.
  std::optional<std::string_view> next();
  /// Makes next() return the empty rows of a table too (TableReader::next()).
  void keep_empty_rows() { reader_.keep_empty_rows(); }
  /// Returns the place of that object: "FILE: line 7".
  std::string place() const { return reader_.place(name_); }
  /// Returns the number of bytes that have been read.
  index bytes() const { return bytes_; }
  const ObjectReader& reader() const { return reader_; }

 private:
  std::string name_;
  std::unique_ptr<ByteSource> source_;
  index bytes_ = 0;
  ObjectReader reader_;
};

/// Calls f(json, objects) for each object that is left, and returns their number. f may throw BadJson or InputError, which then name the
/// place. Throws InputError as next() does, and for a NUL character in a string.
index for_objects(FileObjects& objects, const std::function<void(std::string_view json, const FileObjects& objects)>& f);

/// Calls f(json, objects) for each object of the files, in their order. f may throw BadJson or InputError, which then name the place.
/// Throws InputError for files that cannot be read and for a file without objects (form_of()): that message has `expected`.
ObjectFiles for_objects(std::span<const std::string> paths, const FieldNames& names, std::string_view expected,
                        const std::function<void(std::string_view json, const FileObjects& objects)>& f);

}  // namespace dikkat
