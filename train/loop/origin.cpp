#include "train/loop/origin.h"

#include "train/config/parse.h"
#include "train/text/tokenizer_file.h"

namespace dikkat {

void require_same_model(Config& config, const CheckpointFile& origin) {
  const std::string name = origin.path().string();
  Config theirs = parse_config(origin.config(), name + ": configuration");
  resolve(theirs);
  if (config.model.vocab_size.is_open()) {
    config.model.vocab_size.derive(theirs.model.vocab_size);
  }
  std::string different;
  for (const ConfigDifference& key : differences(config, theirs, "model")) {
    if (key.path != "model.dropout") {
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
