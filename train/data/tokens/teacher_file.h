#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "autograd/base/index.h"
#include "train/system/checked_file.h"
#include "train/text/token.h"

// The distributions of a teacher for the targets of a text: a folder with teacher.json, its header, and parts of records. All numbers are
// little endian. A record has K token ids, ascending (u16 for a vocabulary of up to 65,536, otherwise u32), and their K log-probabilities
// at temperature 1 (u16: -1/2048 nats each, at most 32 nats). For each temperature T, it has an f32: log of the sum of p^(1/T) over all
// other tokens. A part ends with the sha256 of the header, its own index and its records.
namespace dikkat {

/// A teacher file's header.
struct TeacherHeader {
  std::string teacher{};               // the model's name, for people
  std::string weights{};               // the type in which its matrices were kept, and that of its products
  std::string weights_hash{};          // hash of its weights' values
  index top = 0;                       // K
  std::vector<double> temperatures{};  // ascending
  index targets = 0;                   // records in all parts
  std::string tokens{};                // TeacherPositions::hash()
  index vocab_size = 0;
  std::string vocabulary{};      // hash_of_vocabulary()
  index window = 0, stride = 0;  // only for a stream of text; otherwise 0
  index samples = 0;             // rows that were scored
  index batch_size = 0;          // rows at a time
  index samples_of_part = 0;     // rows in each part; the last one has fewer

  index parts() const;
  /// Returns the bytes of one record.
  index record_bytes() const;
  /// Returns the bytes of all files, teacher.json included.
  index bytes() const;
  /// Returns the contents of teacher.json.
  std::string to_json() const;
};

/// A target's distribution.
struct TeacherRecord {
  std::span<std::int32_t> ids;         // K, ascending
  std::span<float> log_probabilities;  // K, at temperature 1
  std::span<float> tails;              // for each temperature
};

/// Appends a record to the bytes of a part.
void append_record(const TeacherHeader& header, const TeacherRecord& record, std::vector<std::byte>& bytes);

/// Throws InputError if the folder has the file of another header, whose difference it names, or other files. Changes nothing.
void require_teacher_folder(const std::filesystem::path& folder, const TeacherHeader& header);
/// Writes the header into such a folder unless it has one, and removes what killed writers have left there. The caller holds the folder's
/// lock. Throws what require_teacher_folder() throws.
void begin_teacher_file(const std::filesystem::path& folder, const TeacherHeader& header);
/// Returns whether a part is there. Throws InputError if it is damaged.
bool has_part(const std::filesystem::path& folder, const TeacherHeader& header, index part);
/// Writes a part; when this returns, it survives a power failure.
void write_part(const std::filesystem::path& folder, const TeacherHeader& header, index part, std::span<const std::byte> records);

/// A complete teacher file, mapped into memory. Its checksums have been compared.
class TeacherFile {
 public:
  /// Throws InputError, which names the path, if the file is incomplete, damaged or of another format.
  explicit TeacherFile(const std::filesystem::path& folder);

  const TeacherHeader& header() const { return header_; }
  /// Returns a hash of the header and all records.
  const std::string& hash() const { return hash_; }
  /// Reads the record of a target. `tails` has one number for each temperature.
  void read(index target, const TeacherRecord& record) const;

 private:
  TeacherHeader header_;
  std::string hash_;
  std::vector<std::unique_ptr<const CheckedFile>> parts_;
  std::vector<index> first_;  // the index of each part's first target, and the number of all targets
};

}  // namespace dikkat
