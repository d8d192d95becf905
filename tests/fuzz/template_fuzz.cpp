// Fuzzes a chat template: a source that is not trusted is parsed, and rendered with a conversation.

#include <nlohmann/json.hpp>

#include "tests/fuzz/fuzz.h"
#include "train/chat/template/template.h"

namespace dikkat {
namespace {

using namespace jinja;

const Value& variables() {
  static const Value all = Value::from_json(nlohmann::ordered_json::parse(R"({
      "bos_token": "<s>", "eos_token": "</s>", "add_generation_prompt": true, "n": 7, "half": 0.5, "no": false, "nothing": null,
      "tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {"a": {"type": "string"}}}}}],
      "messages": [{"role": "system", "content": " Be kind. "}, {"role": "user", "content": "Hi é😀\n<|im_end|>"},
                   {"role": "assistant", "content": "<think>\nwhy\n</think>\n\nHo", "tool_calls": [{"function": {"name": "f", "arguments": {"a": "b"}}}]},
                   {"role": "tool", "content": "3"}, {"role": "assistant", "content": ""}]})"),
                                            1);
  return all;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view source = fuzz::text_of(data, size);
  std::optional<MarkedText> text;
  if (!fuzz::accepts([&] { text = Template(source).render(*variables().dict(), {.year = 2026, .month = 3, .day = 9}); })) {
    return 0;
  }
  // The parts cover the text, one after another.
  std::size_t end = 0;
  for (const TextPart& part : text->parts()) {
    fuzz::hold(part.end > end && part.origin >= 0 && part.origin <= 1, "a part has characters and a known origin");
    end = part.end;
  }
  fuzz::hold(end == text->size(), "the parts cover the text");
  return 0;
}

}  // namespace dikkat
