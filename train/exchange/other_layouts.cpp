#include "train/exchange/other_layouts.h"

#include <algorithm>
#include <vector>

#include "autograd/base/error.h"
#include "train/system/folder.h"

namespace dikkat {
namespace {

namespace fs = std::filesystem;

/// Returns "a.gguf, b.gguf, c.gguf and 4 others".
std::string list_of(const std::vector<fs::path>& paths) {
  constexpr std::size_t kMost = 3;
  std::string list;
  for (std::size_t i = 0; i < std::min(paths.size(), kMost); ++i) {
    list += concat(i == 0 ? "" : ", ", paths[i].filename().string());
  }
  return paths.size() <= kMost ? list : concat(list, " and ", paths.size() - kMost, " others");
}

}  // namespace

std::string other_layout_in(const fs::path& folder) {
  constexpr const char* kExpected =
      ", expected the folder of Hugging Face's layout: config.json, model.safetensors (or its parts with model.safetensors.index.json) and "
      "tokenizer.json";
  std::vector<fs::path> files;
  for (const fs::path& path : is_folder(folder) ? paths_in(folder) : std::vector<fs::path>()) {
    if (is_file(path)) {
      files.push_back(path);
    }
  }
  const auto those = [&](std::string_view begin, std::string_view end) {
    std::vector<fs::path> found;
    std::ranges::copy_if(files, std::back_inserter(found), [&](const fs::path& path) {
      const std::string name = path.filename().string();
      return name.starts_with(begin) && name.ends_with(end);
    });
    return found;
  };
  const bool has_config = is_there(folder / "config.json");

  // Look for the files of those who trained the model.
  for (const auto& [end, owner] : {std::pair(".safetensors", "Mistral's"), std::pair(".pth", "Meta's")}) {
    if (const auto weights = those("consolidated", end); !weights.empty()) {
      return concat(" holds a model in ", owner, " own layout (", list_of(weights), is_there(folder / "params.json") ? ", params.json" : "",
                    ")", kExpected, ". The same model is usually published in this layout too");
    }
  }
  // Look for single files that are models themselves.
  for (const char* end : {".gguf", ".pt"}) {
    if (const auto models = those("", end); !models.empty() && !has_config) {
      return concat(" holds ", models.size() == 1 ? "a model file" : "model files", " (", list_of(models), "), but no config.json: name ",
                    models.size() == 1 ? "the file itself, " : "one of the files, such as ", models.front().string());
    }
  }
  // Look for incomplete files of Hugging Face.
  if (const auto parts = those("model-", ".safetensors"); !parts.empty() && !is_there(folder / "model.safetensors.index.json")) {
    return concat(" holds parts of a model (", list_of(parts), "), but not their index model.safetensors.index.json",
                  has_config ? "" : " and no config.json", kExpected, ": download the rest");
  }
  auto weights = those("", ".safetensors");
  for (const fs::path& old : those("pytorch_model", ".bin")) {
    weights.push_back(old);
  }
  if (!weights.empty() && !has_config) {
    return concat(" holds weights (", list_of(weights), "), but no config.json", kExpected, ": download the rest");
  }
  // Look for Hugging Face's cache: models--OWNER--NAME/snapshots/HASH.
  if (const fs::path snapshots = folder / "snapshots"; !has_config && is_folder(snapshots)) {
    for (const fs::path& one : paths_in(snapshots)) {
      if (is_there(one / "config.json")) {
        return concat(" is a folder of Hugging Face's cache: name the model in it, ", one.string());
      }
    }
  }
  return "";
}

void require_no_other_layout(const fs::path& path) {
  const std::string found = other_layout_in(path);
  require_input(found.empty(), path.string(), found);
}

}  // namespace dikkat
