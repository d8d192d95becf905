// Fuzzes Hugging Face's config.json. An accepted one describes a model, and the one that we write from it is read as that model.

#include "tests/fuzz/fuzz.h"
#include "train/exchange/hf_config.h"
#include "train/exchange/hf_generation.h"

namespace dikkat {

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::text_of(data, size);
  ForeignConfig config;
  if (!fuzz::accepts([&] { config = read_hf_config(text, "config.json"); })) {
    return 0;
  }
  fuzz::accepts([&] { add_hf_generation(text, "generation_config.json", GenerationFile::generation_config, config); });
  std::string why;
  const Family* family = family_of(config.model, why);
  fuzz::hold(family != nullptr, "a model that was read is one that can be written");
  const ForeignConfig again = read_hf_config(hf_config_text(*family, config.model, {}), "again");
  fuzz::hold(again.model.n_embd == config.model.n_embd && *again.model.head_size == *config.model.head_size &&
                 again.model.rope_scaling == config.model.rope_scaling && again.model.norm_eps == config.model.norm_eps,
             "what was written is read as the same model");
  return 0;
}

}  // namespace dikkat
