// Fuzzes configurations. An accepted one does not change when it is written and read again.

#include "tests/fuzz/fuzz.h"
#include "train/config/parse.h"
#include "train/config/render.h"
#include "train/config/resolve.h"

namespace dikkat {

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::text_of(data, size);
  Config config;
  if (!fuzz::accepts([&] { config = parse_config(text, "fuzz.toml"); })) {
    return 0;
  }
  fuzz::hold(parse_config(to_toml(config), "again") == config, "what was read comes back from its text");
  if (fuzz::accepts([&] {
        resolve(config);
        validate(config);
      })) {
    Config again = parse_config(to_toml(config), "again");
    fuzz::hold(again == config, "what was resolved comes back from its text");
    resolve(again);
    validate(again);
    fuzz::hold(again == config, "what is resolved stays as it is");
  }
  return 0;
}

}  // namespace dikkat
