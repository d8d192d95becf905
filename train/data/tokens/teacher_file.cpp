#include "train/data/tokens/teacher_file.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "autograd/base/error.h"
#include "train/checkpoint/lock.h"
#include "train/data/tokens/token_store.h"
#include "train/system/file.h"
#include "train/system/folder.h"
#include "train/system/json.h"
#include "train/system/sha256.h"
#include "train/system/temporary_file.h"

namespace dikkat {
namespace {

static_assert(std::endian::native == std::endian::little, "records are written as they lie in memory");

namespace fs = std::filesystem;

constexpr index kTeacherFormat = 1;
constexpr float kStepsOfNat = 2048;
constexpr std::size_t kDigestBytes = sizeof(Digest);
constexpr const char* kTeachAgain = "; write it again with dikkat teach, into another folder";

fs::path header_path(const fs::path& folder) { return folder / "teacher.json"; }
fs::path part_path(const fs::path& folder, index part) { return folder / fmt::format("part-{:05}.bin", part); }

template <class T>
void append_values(std::span<const T> values, std::vector<std::byte>& bytes) {
  const auto raw = std::as_bytes(values);
  bytes.insert(bytes.end(), raw.begin(), raw.end());
}

/// Begins the checksum of a part.
Sha256 checksum_of(const std::string& header, index part) {
  Sha256 hash;
  hash.add(std::as_bytes(std::span(header)));
  hash.add(std::as_bytes(std::span(&part, 1)));
  return hash;
}

/// Maps a part and compares its checksum, which is appended to `digests`.
std::unique_ptr<const CheckedFile> open_part(const fs::path& path, const std::string& header, index part, Sha256& digests) {
  std::error_code error;
  const auto size = static_cast<std::size_t>(fs::file_size(path, error));
  require_input(!error && size >= kDigestBytes, path.string(), " is damaged: it is too short", kTeachAgain);
  Sha256 hash = checksum_of(header, part);
  std::size_t left = size - kDigestBytes;
  auto file = std::make_unique<CheckedFile>(path.string(), [&](std::span<const std::byte> block) {
    const std::size_t own = std::min(left, block.size());
    hash.add(block.first(own));
    left -= own;
  });
  Digest stored;
  require_input(file->size() == size, path.string(), " has changed while it was read", kTeachAgain);
  file->read(size - kDigestBytes, std::as_writable_bytes(std::span(stored)));
  require_input(hash.finish() == stored, path.string(), " is damaged, or belongs to another teacher.json: its checksum is wrong",
                kTeachAgain);
  digests.add(std::as_bytes(std::span(stored)));
  file->forget();
  return file;
}

nlohmann::ordered_json object_of(const TeacherHeader& h) {
  return {{"format", kTeacherFormat},
          {"teacher", h.teacher},
          {"weights", h.weights},
          {"weights_hash", h.weights_hash},
          {"top", h.top},
          {"temperatures", h.temperatures},
          {"targets", h.targets},
          {"tokens", h.tokens},
          {"vocab_size", h.vocab_size},
          {"vocabulary", h.vocabulary},
          {"window", h.window},
          {"stride", h.stride},
          {"samples", h.samples},
          {"batch_size", h.batch_size},
          {"samples_of_part", h.samples_of_part}};
}

/// Reads teacher.json. Throws InputError, which begins with the path, if a field is missing or out of range.
TeacherHeader header_of(const std::string& text, const fs::path& path) {
  // Check the format.
  const auto object = try_json(text);
  require_input(object && object->is_object() && object->value("format", nlohmann::json()) == kTeacherFormat, path.string(),
                " is not the header of a teacher file of format ", kTeacherFormat);
  TeacherHeader h;
  // Read strings, and numbers within their range.
  const auto text_at = [&](const char* key, std::string& value) {
    const auto* found = find_value(*object, key);
    require_input(found != nullptr && found->is_string(), path.string(), ": \"", key, "\" is missing or is not a text");
    value = found->get<std::string>();
  };
  const auto number_at = [&](const char* key, index& value, index low) {
    const auto* found = find_value(*object, key);
    require_input(found != nullptr && found->is_number_integer() && found->get<index>() >= low && found->get<index>() < index{1} << 48,
                  path.string(), ": \"", key, "\" is missing or out of range, expected a number from ", low);
    value = found->get<index>();
  };
  // Read all fields but the temperatures.
  text_at("teacher", h.teacher);
  text_at("weights", h.weights);
  text_at("weights_hash", h.weights_hash);
  text_at("tokens", h.tokens);
  text_at("vocabulary", h.vocabulary);
  number_at("top", h.top, 1);
  number_at("targets", h.targets, 1);
  number_at("vocab_size", h.vocab_size, 2);
  number_at("window", h.window, 0);
  number_at("stride", h.stride, 0);
  number_at("samples", h.samples, 1);
  number_at("batch_size", h.batch_size, 1);
  number_at("samples_of_part", h.samples_of_part, 1);
  // Read the temperatures, and check the number of ids in a record.
  const auto* temperatures = find_value(*object, "temperatures");
  require_input(temperatures != nullptr && temperatures->is_array() && !temperatures->empty() &&
                    std::ranges::all_of(*temperatures, [](const auto& one) { return one.is_number(); }),
                path.string(), ": \"temperatures\" is missing, expected a list of numbers");
  h.temperatures = temperatures->get<std::vector<double>>();
  require_input(h.top < h.vocab_size, path.string(), ": \"top\" is ", h.top, ", expected less than the vocabulary's ", h.vocab_size);
  return h;
}

}  // namespace

index TeacherHeader::parts() const { return ceil_div(samples, samples_of_part); }

index TeacherHeader::record_bytes() const {
  return top * (token_width(vocab_size) + static_cast<index>(sizeof(std::uint16_t))) +
         std::ssize(temperatures) * static_cast<index>(sizeof(float));
}

index TeacherHeader::bytes() const { return targets * record_bytes() + parts() * static_cast<index>(kDigestBytes) + std::ssize(to_json()); }

std::string TeacherHeader::to_json() const { return json_text(object_of(*this), 2) + '\n'; }

void append_record(const TeacherHeader& header, const TeacherRecord& record, std::vector<std::byte>& bytes) {
  for (const std::int32_t id : record.ids) {
    const auto whole = static_cast<std::uint32_t>(id);
    append_values(
        std::span<const std::byte>(std::as_bytes(std::span(&whole, 1))).first(static_cast<std::size_t>(token_width(header.vocab_size))),
        bytes);
  }
  for (const float log_probability : record.log_probabilities) {
    const float steps = std::round(-log_probability * kStepsOfNat);
    const auto stored = static_cast<std::uint16_t>(std::clamp(steps, 0.0F, 65535.0F));
    append_values(std::span(&stored, 1), bytes);
  }
  append_values(std::span<const float>(record.tails), bytes);
}

void require_teacher_folder(const fs::path& folder, const TeacherHeader& header) {
  const std::string text = header.to_json();
  if (!is_there(header_path(folder))) {
    const auto is_of_a_start = [](const fs::path& path) {
      const std::string name = path.filename().string();
      return name == kLockName || name.starts_with(concat(kTemporaryPrefix, header_path("").string(), '-'));
    };
    require_input(!is_there(folder) || (is_folder(folder) && std::ranges::all_of(paths_in(folder), is_of_a_start)), folder.string(),
                  " exists and is not a teacher file, expected a new folder: name another one with --out");
    return;
  }
  const std::string stored = read_bytes(header_path(folder));
  if (stored == text) {
    return;
  }
  const auto before = object_of(header_of(stored, header_path(folder))), now = object_of(header);
  for (const auto& [key, value] : now.items()) {
    require_input(before.at(key) == value, folder.string(), " was begun with \"", key, "\" = ", short_text(before.at(key)),
                  ", which now is ", short_text(value), "; give the same options to continue it, or name another folder with --out");
  }
  fail_input(header_path(folder).string(), " has changed, expected the text that dikkat teach writes", kTeachAgain);
}

void begin_teacher_file(const fs::path& folder, const TeacherHeader& header) {
  require_teacher_folder(folder, header);
  remove_temporaries(folder);
  if (!is_there(header_path(folder))) {
    replace_file(header_path(folder), header.to_json());
  }
}

bool has_part(const fs::path& folder, const TeacherHeader& header, index part) {
  const fs::path path = part_path(folder, part);
  if (!is_there(path)) {
    return false;
  }
  Sha256 digests;
  open_part(path, header.to_json(), part, digests);
  return true;
}

void write_part(const fs::path& folder, const TeacherHeader& header, index part, std::span<const std::byte> records) {
  Sha256 hash = checksum_of(header.to_json(), part);
  hash.add(records);
  const Digest digest = hash.finish();
  std::string text(reinterpret_cast<const char*>(records.data()), records.size());
  text.append(reinterpret_cast<const char*>(digest.data()), digest.size());
  replace_file(part_path(folder, part), text);
}

TeacherFile::TeacherFile(const fs::path& folder) {
  require_input(is_there(header_path(folder)), folder.string(), " has no teacher.json, expected a folder that dikkat teach has written");
  const std::string text = read_bytes(header_path(folder), index{1} << 20);
  header_ = header_of(text, header_path(folder));
  require_input(text == header_.to_json(), header_path(folder).string(), " has changed, expected the text that dikkat teach writes",
                kTeachAgain);
  // Map the parts.
  Sha256 digests;
  digests.add(std::as_bytes(std::span(text)));
  first_.push_back(0);
  for (index part = 0; part < header_.parts(); ++part) {
    const fs::path path = part_path(folder, part);
    require_input(is_there(path), folder.string(), " is not complete: part ", part + 1, " of ", header_.parts(),
                  " is missing; run the same dikkat teach command again, which continues it");
    parts_.push_back(open_part(path, text, part, digests));
    const index bytes = static_cast<index>(parts_.back()->size() - kDigestBytes);
    require_input(bytes % header_.record_bytes() == 0, path.string(), " has ", bytes, " bytes of records, expected a multiple of ",
                  header_.record_bytes(), kTeachAgain);
    first_.push_back(first_.back() + bytes / header_.record_bytes());
  }
  require_input(first_.back() == header_.targets, folder.string(), " has ", first_.back(), " records, expected ", header_.targets,
                kTeachAgain);
  hash_ = to_hex(digests.finish());
}

void TeacherFile::read(index target, const TeacherRecord& record) const {
  require(0 <= target && target < header_.targets, "teacher file: target ", target, ", expected 0 to ", header_.targets - 1);
  // Find the record.
  const auto next = std::upper_bound(first_.begin(), first_.end(), target);
  const auto part = static_cast<std::size_t>(next - first_.begin()) - 1;
  thread_local std::vector<std::byte> bytes;
  bytes.resize(static_cast<std::size_t>(header_.record_bytes()));
  parts_[part]->read(static_cast<std::size_t>((target - first_[part]) * header_.record_bytes()), bytes);
  // Take it apart.
  const std::byte* at = bytes.data();
  const auto width = static_cast<std::size_t>(token_width(header_.vocab_size));
  for (std::int32_t& id : record.ids) {
    std::uint32_t whole = 0;
    std::memcpy(&whole, at, width);
    id = static_cast<std::int32_t>(whole);
    at += width;
  }
  for (float& log_probability : record.log_probabilities) {
    std::uint16_t stored = 0;
    std::memcpy(&stored, at, sizeof stored);
    log_probability = -static_cast<float>(stored) / kStepsOfNat;
    at += sizeof stored;
  }
  std::memcpy(record.tails.data(), at, record.tails.size_bytes());
}

}  // namespace dikkat
