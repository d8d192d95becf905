#include "train/checkpoint/checkpoint_index.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <map>

#include "autograd/base/error.h"
#include "train/checkpoint/header.h"
#include "train/checkpoint/index_encoding.h"
#include "train/checkpoint/stored_name.h"
#include "train/system/format_numbers.h"

namespace dikkat {

namespace {

constexpr std::string_view kTensor = "tensor";
constexpr std::string_view kText = "text";
constexpr std::string_view kState = "state";

// --- writing ---

std::string value_of(const std::string& text) { return text; }
std::string value_of(std::uint64_t number) {
  std::string value;
  append_number(value, number);
  return value;
}
std::string value_of(index number) { return value_of(static_cast<std::uint64_t>(number)); }
std::string value_of(bool truth) { return value_of(std::uint64_t{truth}); }
std::string value_of(double number) { return value_of(std::bit_cast<std::uint64_t>(number)); }

std::string location_of(const StoredTensor& stored, index bytes) { return value_of(stored.offset) + value_of(bytes); }

std::string value_of_tensor(const StoredTensor& tensor) {
  std::string value;
  append_text(value, name_of(tensor.type));
  value += location_of(tensor, tensor.bytes);
  value += value_of(index{tensor.shape.rank()});
  for (const index extent : tensor.shape.extents()) {
    value += value_of(extent);
  }
  return value;
}

// --- reading ---

/// The range of the file's bytes that an entry refers to.
struct Claim {
  index offset = 0;
  index bytes = 0;
  std::string_view owner;
};

index count(IndexReader& reader, const IndexEntry& entry) {
  const std::uint64_t number = reader.number();
  require_input(number <= std::uint64_t{std::numeric_limits<index>::max()}, "has a malformed index: ", entry.kind, ' ', entry.name,
                " has the number ", number, ", expected at most 2^63 - 1");
  return static_cast<index>(number);
}

void require_all_read(const IndexReader& reader, const IndexEntry& entry) {
  require_input(reader.at_end(), "has a malformed index: ", entry.kind, ' ', entry.name, " is longer than expected");
}

Shape take_shape(IndexReader& reader, const IndexEntry& entry) {
  const index rank = count(reader, entry);
  require_input(rank <= Shape::kMaxRank, "has a malformed index: tensor ", entry.name, " has rank ", rank, ", expected at most ",
                Shape::kMaxRank);
  std::vector<index> extents;
  for (index axis = 0; axis < rank; ++axis) {
    extents.push_back(count(reader, entry));
  }
  try {
    return Shape(extents);
  } catch (const Error& error) {
    fail_input("has a malformed index: tensor ", entry.name, ": ", error.what());
  }
}

class IndexDecoder {
 public:
  explicit IndexDecoder(index data_end) : data_end_(data_end) {}

  void decode(std::string_view index_text) {
    for (const IndexEntry& entry : entries_of(index_text)) {
      const bool known = entry.kind == kTensor  ? take_tensor(entry)
                         : entry.kind == kText  ? take_text(entry)
                         : entry.kind == kState ? take_field(entry)
                                                : false;
      require_input(known || !entry.required, "was written by a newer dikkat: it has ",
                    unknown_entry_.empty() ? describe(entry) : unknown_entry_, ", which this version does not know");
      unknown_entry_.clear();
    }
    require_apart();
  }

  TrainingState state;
  std::vector<StoredTensor> tensors;
  std::map<std::string_view, Claim> texts;

 private:
  static std::string describe(const IndexEntry& entry) {
    return concat(entry.kind == kState ? "state field" : entry.kind, entry.name.empty() ? "" : " ", entry.name);
  }

  bool take_tensor(const IndexEntry& entry) {
    IndexReader reader(entry.value);
    const std::string_view type_name = reader.text();
    const auto type = value_named<ElementType>(type_name);
    if (!type) {
      require_input(is_storable_name(type_name), "has a malformed index: tensor ", entry.name, " has elements of a type without a name");
      unknown_entry_ = concat("tensor ", entry.name, " with elements of type ", type_name);
      return false;
    }
    require_input(is_storable_path(entry.name), "has a malformed index: \"", entry.name, "\" is not a path of a tensor");
    const Claim claim = take_claim(reader, entry);
    const Shape shape = take_shape(reader, entry);
    require_all_read(reader, entry);
    require_input(bytes_of(*type, shape) == claim.bytes, "has a malformed index: tensor ", entry.name, " of shape ", shape, " has ",
                  grouped_digits(claim.bytes), " bytes");
    tensors.push_back({.path = std::string(entry.name),
                       .type = *type,
                       .shape = shape,
                       .offset = claim.offset,
                       .bytes = claim.bytes,
                       .required = entry.required});
    return true;
  }

  bool take_text(const IndexEntry& entry) {
    if (entry.name != kConfigPath && entry.name != kTokenizerPath) {
      return false;
    }
    IndexReader reader(entry.value);
    const Claim claim = take_claim(reader, entry);
    require_all_read(reader, entry);
    require_input(claim.bytes <= kMaxTextBytes, "has a ", entry.name, " of ", grouped_digits(claim.bytes), " bytes, expected at most ",
                  grouped_digits(kMaxTextBytes));
    texts.emplace(entry.name, claim);
    return true;
  }

  bool take_field(const IndexEntry& entry) {
    bool known = false;
    for_each_field(state, [&](const StateField& field, auto& value) {
      if (entry.name == field.name) {
        take_value(entry, value);
        if constexpr (std::is_same_v<decltype(value), index&>) {
          require_input(value >= field.least, "has a malformed index: state field ", entry.name, " is ", value, ", expected ", field.least,
                        " or more");
        }
        known = true;
      }
    });
    return known;
  }

  static std::uint64_t bits_of(const IndexEntry& entry) {
    IndexReader reader(entry.value);
    const std::uint64_t bits = reader.number();
    require_all_read(reader, entry);
    return bits;
  }
  static void take_value(const IndexEntry& entry, std::string& out) { out = entry.value; }
  static void take_value(const IndexEntry& entry, std::uint64_t& out) { out = bits_of(entry); }
  static void take_value(const IndexEntry& entry, double& out) { out = std::bit_cast<double>(bits_of(entry)); }
  static void take_value(const IndexEntry& entry, bool& out) {
    const std::uint64_t bits = bits_of(entry);
    require_input(bits <= 1, "has a malformed index: state field ", entry.name, " is ", bits, ", expected 0 or 1");
    out = bits == 1;
  }
  static void take_value(const IndexEntry& entry, index& out) { out = static_cast<index>(bits_of(entry)); }

  Claim take_claim(IndexReader& reader, const IndexEntry& entry) {
    Claim claim{.offset = count(reader, entry), .bytes = count(reader, entry), .owner = entry.name};
    if (claim.bytes > 0) {
      require_input(claim.offset >= kHeaderBytes && claim.offset <= data_end_ && claim.bytes <= data_end_ - claim.offset,
                    "has a malformed index: ", entry.kind, ' ', entry.name, " has ", grouped_digits(claim.bytes), " bytes at ",
                    grouped_digits(claim.offset), ", which are not in the file's image");
      claims_.push_back(claim);
    }
    return claim;
  }

  void require_apart() {
    std::sort(claims_.begin(), claims_.end(), [](const Claim& a, const Claim& b) { return a.offset < b.offset; });
    for (std::size_t i = 1; i < claims_.size(); ++i) {
      const Claim& before = claims_[i - 1];
      require_input(before.bytes <= claims_[i].offset - before.offset, "has a malformed index: ", before.owner, " and ", claims_[i].owner,
                    " overlap");
    }
  }

  index data_end_;
  std::vector<Claim> claims_;
  std::string unknown_entry_;
};

std::string read_text(const File& file, index offset, index bytes) {
  std::string text(static_cast<std::size_t>(bytes), '\0');
  require_done(file.read(offset, std::as_writable_bytes(std::span(text))), Operation::read);
  return text;
}

}  // namespace

std::string encode_index(const TrainingState& state, std::span<const StoredDataset> datasets) {
  std::map<std::string_view, std::string> entries;  // sorted by name, as the index must be
  for_each_field(state, [&](const StateField& field, const auto& value) {
    append_entry(entries[field.name], {.required = field.required, .kind = kState, .name = field.name, .value = value_of(value)});
  });
  std::string text;
  for (const auto& [name, entry] : entries) {
    text += entry;
  }
  for (const StoredDataset& dataset : datasets) {
    if (!dataset.is_text && !dataset.path.starts_with(kStatePrefix)) {
      append_entry(text, {.required = dataset.required, .kind = kTensor, .name = dataset.path, .value = value_of_tensor(dataset)});
    }
  }
  for (const StoredDataset& dataset : datasets) {
    if (dataset.path == kConfigPath || dataset.path == kTokenizerPath) {
      append_entry(text, {.required = true, .kind = kText, .name = dataset.path, .value = location_of(dataset, dataset.bytes - 1)});
    }
  }
  require(static_cast<index>(text.size()) <= kMaxIndexBytes, "the index would have ", grouped_digits(static_cast<index>(text.size())),
          " bytes, expected at most ", grouped_digits(kMaxIndexBytes));
  return text;
}

Contents read_contents(const File& file, index index_begin, index file_bytes) {
  require(index_begin >= kHeaderBytes && index_begin <= file_bytes, "read_contents: no index lies at ", index_begin, " of ", file_bytes);
  const index bytes = file_bytes - index_begin;
  require_input(bytes <= kMaxIndexBytes, "has an index of ", grouped_digits(bytes), " bytes, expected at most ",
                grouped_digits(kMaxIndexBytes));
  const std::string text = read_text(file, index_begin, bytes);
  IndexDecoder decoder(index_begin);
  decoder.decode(text);
  const auto read = [&](const char* name) {
    const Claim claim = decoder.texts[name];
    return read_text(file, claim.offset, claim.bytes);
  };
  return {.state = std::move(decoder.state),
          .config = read(kConfigPath),
          .tokenizer = read(kTokenizerPath),
          .tensors = std::move(decoder.tensors)};
}

}  // namespace dikkat
