#include "train/exchange/formats/safetensors_index.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <set>

#include "autograd/base/error.h"
#include "train/exchange/formats/safetensors.h"
#include "train/system/byte_reader.h"
#include "train/system/file.h"
#include "train/system/json.h"
#include "train/system/placeholder.h"

namespace dikkat {
namespace {

constexpr index kMostIndexBytes = 100'000'000;

/// Returns whether this can only be the name of a file in the index's own folder.
bool is_file_name(std::string_view name) {
  return !name.empty() && name != "." && name != ".." && name.size() <= 255 && name.find_first_of("/\\") == std::string_view::npos &&
         std::none_of(name.begin(), name.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; });
}

/// Reads "weight_map" and ignores the rest of the index.
class IndexReader : public JsonWalker {
 public:
  explicit IndexReader(std::string name) : name_(std::move(name)) {}

  /// Throws InputError for anything unexpected.
  void read(std::string_view text) {
    const std::size_t bad = walk_json(text, *this);
    check(bad == 0, "is not valid JSON at byte ", bad);
  }

  std::vector<ShardOfTensor> map{};
  bool found = false;

 private:
  template <class... Parts>
  void check(bool ok, const Parts&... parts) const {
    require_input(ok, name_, ": the index ", parts...);
  }

  void on_object() override {
    check(!in_map_ || depth_ == 1, "has an object in \"weight_map\", expected the names of files");
    ++depth_;
  }
  void on_object_end() override { leave(); }
  void on_array() override {
    check(depth_ > 0, "is an array, expected an object");
    check(!in_map_, "has an array in \"weight_map\", expected the names of files");
    ++depth_;
  }
  void on_array_end() override { leave(); }
  void on_key(std::string_view key) override {
    if (depth_ == 1) {
      in_map_ = key == "weight_map";
      check(!in_map_ || !found, "has \"weight_map\" twice");
      found = found || in_map_;
    } else if (in_map_) {
      check(map.size() < WeightFile::kMostTensors, "names more than ", WeightFile::kMostTensors, " tensors");
      map.emplace_back(key, "");
    }
  }
  void on_text(std::string_view text) override {
    check(!in_map_ || depth_ == 2, "has a text as \"weight_map\", expected an object");
    if (in_map_) {
      check(is_file_name(text), "has ", in_quotes(text), " as the file of tensor ", in_quotes(map.back().first),
            ", expected the name of a file in the same folder");
      map.back().second = text;
    }
  }
  void on_number(std::optional<std::uint64_t> /*number*/) override { on_other(); }
  void on_other() override {
    check(depth_ > 0, "is not an object");
    check(!in_map_, "has a value in \"weight_map\" that is not a text, expected the names of files");
  }

  void leave() {
    --depth_;
    in_map_ = in_map_ && depth_ > 1;
  }

  std::string name_;
  index depth_ = 0;
  bool in_map_ = false;
};

/// Joins names: "a", "b" and 7 more.
std::string listed(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 10;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kMost); ++i) {
    text += (i == 0 ? "" : ", ") + in_quotes(names[i]);
  }
  return names.size() > kMost ? concat(text, " and ", names.size() - kMost, " more") : text;
}

/// Returns files that are named like parts of the same model ("model-00003-of-00003.safetensors") but that are not in the index.
std::vector<std::string> extra_shards(const std::filesystem::path& folder, const std::set<std::string>& shards) {
  std::set<std::string> endings;
  for (const std::string& shard : shards) {
    if (const std::size_t at = shard.rfind("-of-"); at != std::string::npos) {
      endings.insert(shard.substr(at));
    }
  }
  std::vector<std::string> extra;
  std::error_code ignored;  // a folder that cannot be listed is treated as having no other files
  for (std::filesystem::directory_iterator entry(folder, ignored), end; !ignored && entry != end; entry.increment(ignored)) {
    const std::string name = entry->path().filename().string();
    const std::size_t at = name.rfind("-of-");
    if (at != std::string::npos && endings.contains(name.substr(at)) && !shards.contains(name)) {
      extra.push_back(name);
    }
  }
  std::sort(extra.begin(), extra.end());
  return extra;
}

}  // namespace

std::vector<ShardOfTensor> parse_safetensors_index(std::string_view text, const std::string& name) {
  IndexReader reader(name);
  reader.read(text);
  require_input(reader.found && !reader.map.empty(), name, ": the index names no tensors, expected \"weight_map\": {tensor: file}");
  std::vector<ShardOfTensor> map = std::move(reader.map);
  std::sort(map.begin(), map.end());
  const auto twice =
      std::adjacent_find(map.begin(), map.end(), [](const ShardOfTensor& a, const ShardOfTensor& b) { return a.first == b.first; });
  require_input(twice == map.end(), name, ": the index names tensor ", twice == map.end() ? "" : in_quotes(twice->first), " twice");
  return map;
}

WeightFile open_safetensors_index(const std::string& path) {
  // Read the index.
  const std::string text = read_bytes(path, kMostIndexBytes + 1);
  require_no_placeholder(text, path);
  require_input(static_cast<index>(text.size()) <= kMostIndexBytes, path, ": the index is too large, expected at most ", kMostIndexBytes,
                " bytes");
  const std::vector<ShardOfTensor> map = parse_safetensors_index(text, path);

  // Check that the folder has the files that it names, and no other parts of the same model.
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  std::set<std::string> shards;
  std::transform(map.begin(), map.end(), std::inserter(shards, shards.end()), [](const ShardOfTensor& entry) { return entry.second; });
  std::vector<std::string> missing;
  std::copy_if(shards.begin(), shards.end(), std::back_inserter(missing),
               [&](const std::string& shard) { return !is_there(folder / shard); });
  require_input(missing.empty(), path, ": the index names files that are missing beside it: ", listed(missing));
  const std::vector<std::string> extra = extra_shards(folder, shards);
  require_input(extra.empty(), path,
                ": files beside the index are named like parts of the same model, but the index does not name them: ", listed(extra));

  // Collect the tensors of the files.
  std::vector<WeightTensor> tensors;
  std::vector<MetaEntry> metadata;
  std::vector<std::shared_ptr<const MappedFile>> files;
  std::vector<std::string> unnamed;
  std::size_t found = 0;
  for (const std::string& shard : shards) {
    files.push_back(std::make_shared<const MappedFile>((folder / shard).string()));
    require_no_placeholder(as_text({files.back()->data(), files.back()->size()}), files.back()->path());
    const WeightFile part = parse_safetensors({files.back()->data(), files.back()->size()}, files.back()->path());
    for (const WeightTensor& tensor : part.tensors()) {
      if (std::binary_search(map.begin(), map.end(), ShardOfTensor(tensor.name, shard))) {
        ++found;
      } else {
        unnamed.push_back(tensor.name);
      }
      tensors.push_back(tensor);
    }
    metadata = metadata.empty() ? part.metadata() : metadata;
  }
  // Check that the index and the files have the same tensors.
  require_input(unnamed.empty(), path,
                ": its files have tensors that the index does not name, or that it places in another file: ", listed(unnamed));
  WeightFile weights(path, std::move(tensors), std::move(metadata));
  if (found != map.size()) {
    std::vector<std::string> absent;
    for (const auto& [name, shard] : map) {
      if (weights.find(name) == nullptr) {
        absent.push_back(name);
      }
    }
    fail_input(path, ": its files do not have tensors that the index names: ", listed(absent));
  }
  for (auto& file : files) {
    weights.keep(std::move(file));
  }
  return weights;
}

}  // namespace dikkat
