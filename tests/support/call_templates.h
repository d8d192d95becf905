#pragma once

namespace dikkat::testing {

/// A chat template that writes tools, calls and their results as FunctionGemma's does, with `name` in messages of the role tool.
constexpr const char* kFunctionGemma =
    R"({{ bos_token }}{% macro written(value) %}{% if value is string %}<escape>{{ value }}<escape>{% elif value is boolean %})"
    R"({{ 'true' if value else 'false' }}{% elif value is mapping %}{{ '{' }}{% for key, one in value | dictsort %}{{ key }}:{{ written(one) }})"
    R"({{ ',' if not loop.last }}{% endfor %}{{ '}' }}{% elif value is sequence %}[{% for one in value %}{{ written(one) }})"
    R"({{ ',' if not loop.last }}{% endfor %}]{% else %}{{ value }}{% endif %}{% endmacro %}{% set ns = namespace(before='') %})"
    R"({% if tools %}{{ '<start_of_turn>developer\n' }}{% for tool in tools %}<start_function_declaration>declaration:{{ tool.function.name }})"
    R"({description:<escape>{{ tool.function.description }}<escape>}<end_function_declaration>{% endfor %}{{ '<end_of_turn>\n' }}{% endif %})"
    R"({% for message in messages %}{% if message.role == 'tool' %}<start_function_response>response:{{ message.name }})"
    R"({value:{{ written(message.content) }}}<end_function_response>{% set ns.before = 'tool' %}{% else %}{% if ns.before != 'tool' %})"
    R"({{ '<start_of_turn>' + ('model' if message.role == 'assistant' else message.role) + '\n' }}{% endif %}{{ message.content | trim }})"
    R"({% set ns.before = 'calls' if message.tool_calls else '' %}{% for call in message.tool_calls %}<start_function_call>call:)"
    R"({{ call.function.name }}{{ written(call.function.arguments) }}<end_function_call>{% endfor %}{% if not message.tool_calls %})"
    R"({{ '<end_of_turn>\n' }}{% elif loop.last %}<start_function_response>{% endif %}{% endif %}{% endfor %})"
    R"({% if add_generation_prompt and ns.before == '' %}{{ '<start_of_turn>model\n' }}{% endif %})";

/// A chat template that writes calls between tags as Qwen3-Coder's does.
constexpr const char* kQwenCoder =
    R"({% if tools %}{{ '<|im_start|>system\n' }}{% for tool in tools %}<function>{{ tool.function.name }}: {{ tool.function.description }})"
    R"({{ '</function>\n' }}{% endfor %}{{ '<|im_end|>\n' }}{% endif %}{% for message in messages %}{{ '<|im_start|>' + message.role + '\n' }})"
    R"({{ message.content }}{% for call in message.tool_calls %}{{ '\n<tool_call>\n<function=' + call.function.name + '>\n' }})"
    R"({% for name, value in call.function.arguments | items %}{{ '<parameter=' + name + '>\n' }})"
    R"({{ value | tojson if value is mapping or (value is sequence and value is not string) else value | string }}{{ '\n</parameter>\n' }})"
    R"({% endfor %}{{ '</function>\n</tool_call>' }}{% endfor %}{{ '<|im_end|>\n' }}{% endfor %})"
    R"({% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %})";

}  // namespace dikkat::testing
