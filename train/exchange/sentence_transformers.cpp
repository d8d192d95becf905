#include "train/exchange/sentence_transformers.h"

#include <nlohmann/json.hpp>

#include "autograd/base/error.h"
#include "train/system/file.h"
#include "train/system/folder.h"
#include "train/system/json.h"

namespace dikkat {
namespace {

using VectorJson = nlohmann::ordered_json;

constexpr const char* kPoolingFile = "1_Pooling/config.json";
constexpr const char* kMean = "pooling_mode_mean_tokens";
constexpr const char* kLast = "pooling_mode_lasttoken";

void write_json(const std::filesystem::path& path, const VectorJson& object) { replace_file(path, object.dump(2) + '\n'); }

/// Names the token that pads a batch in a file of the tokenizer, unless it names one.
void add_pad(const std::filesystem::path& file, const std::string& pad) {
  VectorJson object = VectorJson::parse(read_bytes(file));
  if (!pad.empty() && find_value(object, "pad_token") == nullptr) {
    object["pad_token"] = pad;
    write_json(file, object);
  }
}

}  // namespace

void write_vector_files(const std::filesystem::path& folder, const VectorFiles& files) {
  VectorJson modules = VectorJson::array();
  const auto add = [&](const char* name, const char* path, const char* type) {
    modules.push_back({{"idx", modules.size()}, {"name", name}, {"path", path}, {"type", concat("sentence_transformers.models.", type)}});
  };
  add("0", "", "Transformer");
  add("1", "1_Pooling", "Pooling");
  add("2", "2_Normalize", "Normalize");
  const bool is_mean = files.pooling == Pooling::mean;
  const VectorJson pooling = {{"word_embedding_dimension", files.width},
                              {"pooling_mode_cls_token", false},
                              {kMean, is_mean},
                              {"pooling_mode_max_tokens", false},
                              {"pooling_mode_mean_sqrt_len_tokens", false},
                              {"pooling_mode_weightedmean_tokens", false},
                              {kLast, !is_mean},
                              {"include_prompt", true}};
  make_folders(folder / "1_Pooling");
  make_folders(folder / "2_Normalize");
  write_json(folder / kPoolingFile, pooling);
  write_json(folder / "sentence_bert_config.json", {{"max_seq_length", files.window}, {"do_lower_case", false}});
  write_json(folder / "config_sentence_transformers.json", {{"__version__", VectorJson::object()},
                                                            {"prompts", VectorJson::object()},
                                                            {"default_prompt_name", nullptr},
                                                            {"similarity_fn_name", "cosine"}});
  write_json(folder / "modules.json", modules);
  add_pad(folder / "tokenizer_config.json", files.pad);
  add_pad(folder / "special_tokens_map.json", files.pad);
}

Pooling read_pooling(const std::filesystem::path& folder, std::vector<std::string>& notes) {
  const std::filesystem::path file = folder / kPoolingFile;
  if (!is_there(file)) {
    return Pooling::mean;
  }
  const nlohmann::json object = parse_json_object(read_bytes(file), file.string(), "the settings of sentence-transformers' pooling");
  std::vector<std::string> modes;
  for (const auto& [key, value] : object.items()) {
    if (key.starts_with("pooling_mode_") && value == true) {
      modes.push_back(key);
    }
  }
  if (modes != std::vector<std::string>{kMean} && modes != std::vector<std::string>{kLast}) {
    notes.push_back(concat(file.string(), " asks for another pooling than ", kMean, " or ", kLast, ": vectors are the mean here"));
  }
  return modes == std::vector<std::string>{kLast} ? Pooling::last : Pooling::mean;
}

}  // namespace dikkat
