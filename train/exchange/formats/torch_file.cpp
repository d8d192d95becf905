#include "train/exchange/formats/torch_file.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <optional>
#include <string_view>

#include "autograd/base/error.h"
#include "train/exchange/formats/zip.h"
#include "train/system/byte_reader.h"
#include "train/system/pickle.h"

namespace dikkat {
namespace {

using namespace std::string_view_literals;
using Kind = PickleValue::Kind;

/// The beginning of files that torch.save wrote before PyTorch 1.6: a pickle of one large number.
constexpr std::string_view kLegacy = "\x80\x02\x8A\x0A\x6C\xFC\x9C\x46\xF9\x20\x6A\xA8\x50\x19.\x80"sv;
constexpr std::size_t kTarMagicAt = 257;

bool is_legacy(std::string_view bytes) { return bytes.starts_with(kLegacy); }
bool is_tar(std::string_view bytes) { return bytes.size() > kTarMagicAt && bytes.substr(kTarMagicAt).starts_with("ustar"); }

struct StorageType {
  std::string_view name;
  index bytes;
  WeightType type = WeightType::other;
};
constexpr std::array kStorageTypes{StorageType{"FloatStorage", 4, WeightType::f32},
                                   StorageType{"HalfStorage", 2, WeightType::f16},
                                   StorageType{"BFloat16Storage", 2, WeightType::bf16},
                                   StorageType{"DoubleStorage", 8, WeightType::f64},
                                   StorageType{"LongStorage", 8},
                                   StorageType{"IntStorage", 4},
                                   StorageType{"ShortStorage", 2},
                                   StorageType{"CharStorage", 1},
                                   StorageType{"ByteStorage", 1},
                                   StorageType{"BoolStorage", 1},
                                   StorageType{"ComplexFloatStorage", 8},
                                   StorageType{"ComplexDoubleStorage", 16}};

/// Returns whether the tensor's elements are contiguous and row-major.
bool is_row_major(const PickledTensor& tensor) {
  index expected = 1;
  for (std::size_t axis = tensor.shape.size(); axis-- > 0;) {
    if (tensor.shape[axis] != 1 && tensor.strides[axis] != expected) {
      return false;
    }
    expected *= tensor.shape[axis];  // the number of elements has been checked
  }
  return true;
}

/// The archive of torch.save: <folder>/data.pkl, <folder>/data/<key> for every storage, and some small files.
class Archive {
 public:
  Archive(std::span<const std::byte> bytes, const std::string& name) : name_(name) {
    for (const ZipEntry& entry : read_stored_zip(bytes, name)) {
      require_input(entries_.emplace(entry.name, entry.bytes).second, name, ": its zip archive has two files named ",
                    in_quotes(entry.name));
    }
    constexpr std::string_view kPickle = "/data.pkl";
    for (const auto& [entry, contents] : entries_) {
      if (entry.ends_with(kPickle) && entry.find('/') == entry.size() - kPickle.size()) {
        folder_ = entry.substr(0, entry.size() - kPickle.size() + 1);
        pickle_ = contents;
      }
    }
    require_input(!folder_.empty(), name, ": its zip archive has no data.pkl in a folder, expected a file of torch.save");
    const auto order = file("byteorder");
    require_input(!order || as_text(*order) == "little", name, ": it was written on a big-endian machine, expected a little-endian one");
  }

  std::span<const std::byte> pickle() const { return pickle_; }
  std::optional<std::span<const std::byte>> file(std::string_view name_in_folder) const {
    const auto found = entries_.find(concat(folder_, name_in_folder));
    return found == entries_.end() ? std::nullopt : std::optional(found->second);
  }

  WeightTensor tensor(const PickledTensor& pickled, std::string tensor_name) const {
    const auto* const type =
        std::find_if(kStorageTypes.begin(), kStorageTypes.end(), [&](const StorageType& t) { return t.name == pickled.storage_type; });
    require_input(type != kStorageTypes.end(), name_, ": tensor ", in_quotes(tensor_name), " is in a ", pickled.storage_type,
                  ", a type that this program does not know");
    const auto storage = file(concat("data/", pickled.storage_key));
    require_input(storage.has_value(), name_, ": the elements of tensor ", in_quotes(tensor_name),
                  " are missing: the archive has no file data/", pickled.storage_key.substr(0, 100));
    const auto elements = element_count(pickled.shape);
    const bool fits = elements && pickled.storage_elements <= static_cast<index>(storage->size()) / type->bytes &&
                      pickled.offset <= pickled.storage_elements && *elements <= pickled.storage_elements - pickled.offset;
    WeightTensor tensor{
        .name = std::move(tensor_name), .type_name = std::string(type->name), .shape = pickled.shape, .elements = elements.value_or(0)};
    if (elements && !is_row_major(pickled) && *elements > 0) {
      tensor.type_name += " with strides " + shape_text(pickled.strides);  // read_f32() refuses it
      return tensor;
    }
    require_input(fits, name_, ": tensor ", tensor.text(), " begins at element ", pickled.offset, " of a storage of ",
                  pickled.storage_elements, " elements, whose file has ", storage->size(), " bytes: it does not fit");
    tensor.type = type->type;
    tensor.data = storage->data() + pickled.offset * type->bytes;
    tensor.bytes = *elements * type->bytes;
    return tensor;
  }

 private:
  const std::string& name_;
  std::map<std::string, std::span<const std::byte>, std::less<>> entries_{};
  std::string folder_{};
  std::span<const std::byte> pickle_{};
};

/// Lists all tensors and values of a pickle by their paths.
class Flattener {
 public:
  Flattener(const Archive& archive, const Pickle& pickle, const std::string& name)
      : archive_(archive), pickle_(pickle), name_(name), most_named_(std::min(kMostNamed, kLeastNamed + 256 * archive.pickle().size())) {}

  std::vector<WeightTensor> tensors{};
  std::vector<MetaEntry> metadata{};

  void add(const PickleValue& value, const std::string& path, int depth) {
    constexpr int kDeepest = 64;
    named_ += path.size() + 1;
    require_input(depth <= kDeepest && named_ <= most_named_, name_, ": its dicts and lists are nested too deeply, at ", in_quotes(path));
    require_input(tensors.size() < WeightFile::kMostTensors && metadata.size() < WeightFile::kMostValues, name_, ": it has more than ",
                  WeightFile::kMostTensors, " tensors or ", WeightFile::kMostValues, " values");
    switch (value.kind) {
      case Kind::none: metadata.push_back({.key = path}); return;
      case Kind::boolean: metadata.push_back({.key = path, .value = MetaValue(value.integer != 0)}); return;
      case Kind::integer: metadata.push_back({.key = path, .value = MetaValue(value.integer)}); return;
      case Kind::real: metadata.push_back({.key = path, .value = MetaValue(value.real())}); return;
      case Kind::text: metadata.push_back({.key = path, .value = MetaValue(value.string())}); return;
      case Kind::tensor: tensors.push_back(archive_.tensor(pickle_.tensors[value.at], path)); return;
      case Kind::tuple:
      case Kind::list:
      case Kind::dict: add_items(value, path, depth); return;
      case Kind::global:
      case Kind::storage: break;
    }
    fail_input(name_, ": ", in_quotes(path), " is neither a tensor nor a plain value");
  }

 private:
  void add_items(const PickleValue& value, const std::string& path, int depth) {
    const std::vector<PickleValue>& items = pickle_.items[value.at];
    const std::string prefix = path.empty() ? "" : path + "/";
    const std::size_t step = value.kind == Kind::dict ? 2 : 1;
    for (std::size_t i = 0; i < items.size(); i += step) {
      add(items[i + step - 1], prefix + (step == 1 ? concat(i) : key_text(items[i], path)), depth + 1);
    }
  }

  std::string key_text(const PickleValue& key, const std::string& path) const {
    require_input(key.kind == Kind::text || key.kind == Kind::integer, name_, ": the dict ", in_quotes(path),
                  " has a key that is neither a text nor an int");
    return key.kind == Kind::text ? std::string(key.string()) : concat(key.integer);
  }

  const Archive& archive_;
  const Pickle& pickle_;
  // A dict may contain another one, or itself, any number of times. So the bytes of paths need a bound, and not only stored items.
  static constexpr std::size_t kLeastNamed = std::size_t{1} << 18;
  static constexpr std::size_t kMostNamed = std::size_t{1} << 24;
  const std::string& name_;
  std::size_t most_named_;
  std::size_t named_ = 0;
};

}  // namespace

bool is_torch(std::span<const std::byte> bytes) {
  const std::string_view text = as_text(bytes);
  return text.starts_with("PK\x03\x04") || is_legacy(text) || is_tar(text);
}

WeightFile parse_torch(std::span<const std::byte> bytes, const std::string& name) {
  const std::string_view text = as_text(bytes);
  require_input(!is_legacy(text) && !is_tar(text), name, ": it is in the format of torch.save before PyTorch ",
                is_tar(text) ? "0.1.10" : "1.6", ": load it with PyTorch and save it again");
  require_input(text.starts_with("PK\x03\x04"), name, ": it is not a zip archive, expected a file of torch.save");
  const Archive archive(bytes, name);
  const Pickle pickle = read_pickle(archive.pickle(), name);
  require_input(pickle.root.kind == Kind::dict, name, ": it does not hold a dict, expected torch.save of a dict of tensors and values");
  Flattener flat(archive, pickle, name);
  flat.add(pickle.root, "", 0);
  return {name, std::move(flat.tensors), std::move(flat.metadata)};
}

WeightFile open_torch(const std::string& path) { return open_mapped(path, parse_torch); }

}  // namespace dikkat
