#include "train/exchange/ollama_modelfile.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "autograd/base/error.h"

namespace dikkat {
namespace {

/// The text around a message of one role.
struct Around {
  std::string before{}, after{};
};

/// A form of conversations. Without `system`, a system message and `after_system` come before the first user's text.
struct TurnForm {
  std::optional<Around> system{};
  std::string after_system{};
  Around user{}, assistant{};
  std::string asks{};  // the beginning of an answer
};

TurnForm form_of_headers(const std::string& begin, const std::string& middle, const std::string& end, const std::string& user = "user",
                         const std::string& assistant = "assistant", const std::string& system = "system") {
  const auto around = [&](const std::string& role) { return Around{.before = begin + role + middle, .after = end}; };
  return {.system = around(system), .user = around(user), .assistant = around(assistant), .asks = begin + assistant + middle};
}

TurnForm without_system(TurnForm form, const std::string& after_system) {
  form.system.reset();
  form.after_system = after_system;
  return form;
}

/// Returns the forms of popular models. `end` is the token that ends an answer.
std::vector<TurnForm> known_forms(const std::string& end) {
  return {
      form_of_headers("<|im_start|>", "\n", "<|im_end|>\n"),
      form_of_headers("<|start_header_id|>", "<|end_header_id|>\n\n", "<|eot_id|>"),
      without_system(form_of_headers("<start_of_turn>", "\n", "<end_of_turn>\n", "user", "model"), "\n\n"),
      form_of_headers("<|", "|>", "<|end|>"),
      form_of_headers("<|", "|>\n", "<|end|>\n"),
      form_of_headers("<|", "|>\n", end + "\n"),
      form_of_headers("<|start_of_role|>", "<|end_of_role|>", "<|end_of_text|>\n"),
      form_of_headers("", ":\n", end + "\n", "User", "Assistant", "System"),
      {.system = std::nullopt,
       .after_system = "\n\n",
       .user = {.before = "[INST] ", .after = "[/INST]"},
       .assistant = {.before = " ", .after = end},
       .asks = ""},
  };
}

/// Returns the text that a form writes for a conversation that asks for an answer.
std::string written(const TurnForm& form, const std::vector<Message>& messages) {
  std::string text, system;
  for (const Message& message : messages) {
    const Around& around = message.role == "user"        ? form.user
                           : message.role == "assistant" ? form.assistant
                                                         : form.system.value_or(Around{});
    if (message.role == "system" && !form.system) {
      system = message.content + form.after_system;
      continue;
    }
    const std::string inserted = message.role == "user" ? std::exchange(system, "") : "";
    text += around.before + inserted + message.content + around.after;
  }
  return text + form.asks;
}

/// Returns an action that prints a text: white space next to actions would be lost.
std::string print(const std::string& text) {
  if (text.empty()) {
    return "";
  }
  std::string quoted;
  for (const char c : text) {
    quoted += c == '\n' ? "\\n" : c == '"' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  }
  return concat("{{ \"", quoted, "\" }}");
}

std::string in_go(const TurnForm& form) {
  const auto role = [](const char* name, const Around& around, const std::string& inserted) {
    return concat("{{- else if eq .Role \"", name, "\" }}", print(around.before), inserted, "{{ .Content }}", print(around.after), "\n");
  };
  std::string text = "{{- $system := \"\" }}\n{{- range $i, $_ := .Messages }}\n{{- $last := eq (len (slice $.Messages $i)) 1 }}\n";
  text += form.system
              ? concat("{{- if eq .Role \"system\" }}", print(form.system->before), "{{ .Content }}", print(form.system->after), "\n")
              : "{{- if eq .Role \"system\" }}{{ $system = .Content }}\n";
  text += role("user", form.user,
               form.system ? "" : concat("{{ if $system }}{{ $system }}", print(form.after_system), "{{ $system = \"\" }}{{ end }}"));
  // An answer that the user began is continued.
  text += concat("{{- else if eq .Role \"assistant\" }}", print(form.assistant.before), "{{ .Content }}{{ if not $last }}",
                 print(form.assistant.after), "{{ end }}\n{{- end }}\n");
  return text + concat("{{- if and $last (ne .Role \"assistant\") }}", print(form.asks), "{{ end }}\n{{- end }}");
}

/// Returns the text that asks for an answer; nullopt if the template refuses the messages.
std::optional<std::string> asked(const ChatTemplate& form, const std::vector<Message>& messages) {
  try {
    return form.ask(messages).text;
  } catch (const InputError&) {
    return std::nullopt;
  }
}

/// Puts a text between marks in which Modelfiles need no escapes.
std::string in_marks(const std::string& text) {
  require_input(text.find("\"\"\"") == std::string::npos,
                "a Modelfile cannot hold the text \"\"\", which the system message or a stop text has");
  return concat("\"\"\"", text, "\"\"\"");
}

}  // namespace

std::optional<GoTemplate> go_template(const ChatTemplate& form) {
  // Render conversations with and without a system message.
  const std::vector<Message> question = {{"user", "q1"}};
  const std::vector<Message> talk = {{"system", "s1"}, {"user", "q1"}, {"assistant", "a1"}, {"user", "q2"}};
  const std::vector<Message> without = {{"user", "q1"}, {"assistant", "a1"}, {"user", "q2"}};
  const std::optional<std::string> short_text = asked(form, question), long_text = asked(form, talk), text = asked(form, without);
  if (!short_text || !text) {
    return std::nullopt;
  }
  // Find a known form that writes the same texts.
  for (const TurnForm& one : known_forms(form.end_text())) {
    // The template may begin with the begin token, and it may add a system message of its own.
    const std::string& plain = *text;
    const std::string expected = written(one, without);
    if (plain.ends_with(expected)) {
      const std::string before = plain.substr(0, plain.size() - expected.size());
      const bool fits = short_text->starts_with(before) && short_text->substr(before.size()) == written(one, question);
      const bool takes_system = !long_text || long_text->ends_with(written(one, talk));
      if (!fits || !takes_system) {
        continue;
      }
      if (before.empty() || before == form.begin_text()) {
        return GoTemplate{.text = in_go(one)};
      }
      if (const std::string rest = before.starts_with(form.begin_text()) ? before.substr(form.begin_text().size()) : before;
          one.system && rest.starts_with(one.system->before) && rest.ends_with(one.system->after) &&
          rest.size() > one.system->before.size() + one.system->after.size()) {
        return GoTemplate{
            .text = in_go(one),
            .system = rest.substr(one.system->before.size(), rest.size() - one.system->before.size() - one.system->after.size())};
      }
    }
  }
  return std::nullopt;
}

std::string ollama_modelfile(const OllamaModel& model) {
  std::string text = concat("FROM ./", model.gguf, "\n");
  if (model.form) {
    text += concat("TEMPLATE ", in_marks(model.form->text), "\n");
  }
  if (const std::string system = model.system ? *model.system : model.form ? model.form->system : ""; !system.empty()) {
    text += concat("SYSTEM ", in_marks(system), "\n");
  }
  for (const std::string& stop : model.stops) {
    text += concat("PARAMETER stop ", in_marks(stop), "\n");
  }
  const AnswerSampling& sampling = model.sampling;
  text += fmt::format("PARAMETER temperature {}\nPARAMETER top_k {}\nPARAMETER top_p {}\nPARAMETER min_p {}\n", sampling.temperature,
                      sampling.top_k, sampling.top_p, sampling.min_p);
  // Ollama has a penalty of its own by default, and looks back 64 tokens; -1: the whole context.
  text += fmt::format("PARAMETER repeat_penalty {}\nPARAMETER repeat_last_n -1\n", sampling.repetition_penalty);
  return text + (model.context > 0 ? concat("PARAMETER num_ctx ", model.context, "\n") : "");
}

}  // namespace dikkat
