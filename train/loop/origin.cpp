#include "train/loop/origin.h"

#include "train/config/parse.h"
#include "train/text/tokenizer_file.h"

namespace dikkat {

void require_same_model(Config& config, const CheckpointFile& origin) {
  const std::string name = origin.path().string();
  Config theirs = parse_config(origin.config(), name + ": configuration");
  resolve(theirs);
  if (config.model.vocab_size == 0) {
    config.model.vocab_size = theirs.model.vocab_size;
  }
  std::string different;
  for (const ConfigDifference& key : differences(config, theirs, "model")) {
    const bool is_of_encoder = key.path == "model.n_encoder_layer" || key.path == "model.share_embeddings";
    if (key.path != "model.dropout" && !(is_of_encoder && config.model.kind == "gpt")) {
      different += concat(different.empty() ? "" : ", ", key.path, " is ", key.ours, " and there ", key.theirs);
    }
  }
  require_input(different.empty(), "the weights in ", name, " are of another model: ", different, "; set the same in the configuration");
  const auto tokenizer = tokenizer_from_json(origin.tokenizer());
  const bool same_kind = config.tokenizer.kind == tokenizer->kind();
  require_input(
      same_kind && (config.tokenizer.path.empty() || read_tokenizer_file(config.tokenizer.path)->to_json() == tokenizer->to_json()),
      "the weights in ", name, " are for the tokens of another tokenizer, of the kind \"", tokenizer->kind(), "\" with ",
      tokenizer->vocab_size(), " tokens; ",
      same_kind ? concat(config.tokenizer.path, " holds other ones: leave tokenizer.path out")
                : concat("set tokenizer.kind to \"", tokenizer->kind(), "\""));
}

}  // namespace dikkat
