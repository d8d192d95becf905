#include "train/exchange/export_adapters.h"

#include <algorithm>
#include <set>

#include <nlohmann/json.hpp>

#include "autograd/base/error.h"
#include "train/exchange/foreign_config.h"
#include "train/exchange/formats/gguf_writer.h"
#include "train/exchange/formats/safetensors.h"
#include "train/exchange/peft_files.h"
#include "train/exchange/tensor_map.h"
#include "train/system/file.h"
#include "train/system/json.h"
#include "train/system/new_folder.h"

namespace dikkat {
namespace {

namespace fs = std::filesystem;

constexpr AdapterNames kGguf{.before = "", .cut = "", .a = ".lora_a", .b = ".lora_b"};

std::vector<NewTensor> in_f32(const std::vector<MappedTensor>& map, const ParameterStore& store) {
  return new_tensors(map, store, [](const MappedTensor&) { return WeightType::f32; });
}

/// Returns the family whose names the adapters get. Several may have one model, as both classes of Granite do: then it is the base's own,
/// or for GGUF the first that has an architecture there.
const Family& family_of_base(const AdaptersToExport& adapters, ExportFormat format) {
  std::string why;
  const std::vector<const Family*> able = families_of(adapters.config, why);
  require_input(!able.empty(), format == ExportFormat::hf ? "Hugging Face" : "GGUF", " has no model of this kind: ", why);
  const auto fits = [&](const Family* family) { return family != nullptr && (format == ExportFormat::hf || !family->gguf.empty()); };
  if (fits(adapters.base_family)) {
    return *adapters.base_family;
  }
  const auto found = std::ranges::find_if(able, fits);
  return found != able.end() ? **found : *able.front();
}

std::string last_name(const std::string& module) { return module.substr(module.rfind('.') + 1); }

/// Returns PEFT's target_modules: the last names of the adapted modules ("q_proj"), or their full names if another module has one of these
/// last names.
std::vector<std::string> modules_of(const std::vector<MappedTensor>& adapters, const std::vector<MappedTensor>& model) {
  std::set<std::string> whole, last;
  for (const MappedTensor& tensor : adapters) {
    if (tensor.name.ends_with(kPeftNames.a)) {
      const std::string module =
          tensor.name.substr(kPeftNames.before.size(), tensor.name.size() - kPeftNames.before.size() - kPeftNames.a.size());
      whole.insert(module);
      last.insert(last_name(module));
    }
  }
  for (const MappedTensor& tensor : model) {
    const std::string module = tensor.name.substr(0, tensor.name.size() - std::min(tensor.name.size(), kPeftNames.cut.size()));
    if (tensor.name.ends_with(kPeftNames.cut) && last.contains(last_name(module)) && !whole.contains(module)) {
      return {whole.begin(), whole.end()};
    }
  }
  return {last.begin(), last.end()};
}

void export_peft(const AdaptersToExport& adapters, const Family& family, const fs::path& path) {
  const std::vector<MappedTensor> map = map_adapters(family.tensors, adapters.config, adapters.parameters, kPeftNames);
  const LoraConfig& lora = adapters.lora;
  const nlohmann::ordered_json config{
      {"peft_type", "LORA"},
      {"task_type", "CAUSAL_LM"},
      {"base_model_name_or_path", adapters.base},
      {"r", lora.rank},
      {"lora_alpha", *lora.alpha},
      {"lora_dropout", lora.dropout},
      {"use_rslora", lora.rank_stabilized},
      {"use_dora", false},
      {"bias", "none"},
      {"fan_in_fan_out", family.name == "gpt2"},  // GPT-2 has Conv1D layers, with weights (in, out)
      {"target_modules", modules_of(map, map_tensors(family.tensors, adapters.config, adapters.parameters, family.has_all_biases))},
      {"modules_to_save", nullptr},
      {"inference_mode", true}};
  NewFolder new_folder(path);
  const fs::path& folder = new_folder.path();
  write_safetensors((folder / "adapter_model.safetensors").string(), in_f32(map, adapters.parameters));
  replace_file(folder / "adapter_config.json", json_text(config, 2) + "\n");
  new_folder.finish();
}

}  // namespace

void export_adapters(const AdaptersToExport& adapters, const fs::path& path, ExportFormat format) {
  require_input(!is_there(path), path.string(), " exists and is never overwritten: choose a new name");
  require_input(format != ExportFormat::llmc,
                "llm.c has no adapters, expected hf (PEFT) or gguf; or make a complete model of them with dikkat merge");
  const Family& family = family_of_base(adapters, format);
  if (format == ExportFormat::hf) {
    export_peft(adapters, family, path);
    return;
  }
  require_input(!family.gguf.empty(), "GGUF has no architecture for this model: Hugging Face's is ", family.name,
                ", expected another format (--format hf)");
  // llama.cpp scales B A by alpha / rank.
  const auto alpha = static_cast<float>(scale_of(adapters.lora) * static_cast<double>(adapters.lora.rank));
  write_gguf(path.string(),
             {{"general.type", MetaValue("adapter")},
              {"general.architecture", MetaValue(gguf_name_of(family))},
              {"adapter.type", MetaValue("lora")},
              {"adapter.lora.alpha", MetaValue(alpha)}},
             in_f32(map_adapters(family.gguf_tensors, adapters.config, adapters.parameters, kGguf), adapters.parameters));
}

}  // namespace dikkat
