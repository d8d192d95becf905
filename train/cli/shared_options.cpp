#include "train/cli/shared_options.h"

namespace dikkat {

void add_source(Command& command, std::string& source, bool& best) {
  command.text("RUN_DIR|FILE.h5", source, "", "A run directory (its newest checkpoint is used), or a checkpoint").required();
  command.flag("--best", best, "Use the run directory's checkpoint with the lowest validation loss");
}

void add_reading(Command& command, CorpusOptions& reading) {
  command.text("--text-field", reading.text_field, "NAME", "The field of a JSONL line that holds the text");
  command.flag("--replace-invalid", reading.replace_invalid, "Replace bytes that are not UTF-8 by U+FFFD, instead of refusing the text");
}

}  // namespace dikkat
