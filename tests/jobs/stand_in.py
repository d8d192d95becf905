"""A small model that stands for one that cannot be downloaded here: Gemma 3's layers, turns and special tokens, trained on the tales and the
questions in data/."""
import json
import pathlib
import shutil

from job import DATA, dikkat, made_once, read_lines, write_lines

SPECIAL = ["<eos>", "<bos>", "<start_of_turn>", "<end_of_turn>", "<start_function_declaration>", "<end_function_declaration>", "<start_function_call>",
           "<end_function_call>", "<start_function_response>", "<end_function_response>", "<escape>"]

# Gemma 3 270M has 18 layers of width 640, windows of 512 tokens and 262,144 tokens.
SHAPE = """
[model]
n_layer = 3
n_head = 4
n_kv_head = 1
head_size = 64
n_embd = 256
n_hidden = 512
block_size = 512
bias = false
tie_embeddings = true
scale_embeddings = true
norm_position = "sandwich"
norm = "rms_norm"
norm_eps = 1e-6
qk_norm = true
window = 512
window_pattern = 6
positions = "rope"
rope_theta = 1_000_000.0
rope_theta_local = 10_000.0
activation = "gelu"
gated = true

[tokenizer]
path = "tokenizer"

[data]
window = 64

[optim]
kind = "muon"
learning_rate = 4e-3
warmup_steps = 20

[train]
batch_size = 16
max_steps = 100
eval_tokens = 2048
"""

# The turns of Gemma 3.
GEMMA = r"""{{ bos_token }}
{%- set ns = namespace(before="") -%}
{%- for message in messages -%}
    {%- if message.role == "system" -%}
        {%- set ns.before = message.content + "\n\n" -%}
    {%- else -%}
        {{ "<start_of_turn>" + ("model" if message.role == "assistant" else message.role) + "\n" + ns.before }}
        {%- set ns.before = "" -%}
        {{ message.content | trim }}{{ "<end_of_turn>\n" }}
    {%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}{{ "<start_of_turn>model\n" }}{%- endif -%}
"""

# The form of FunctionGemma: https://ai.google.dev/gemma/docs/functiongemma/formatting-and-best-practices
FUNCTION_GEMMA = r"""
{%- macro value(x) -%}
    {%- if x is string -%}<escape>{{ x }}<escape>
    {%- elif x is boolean -%}{{ "true" if x else "false" }}
    {%- elif x is mapping -%}{
        {%- for key, one in x | dictsort -%}{{ key }}:{{ value(one) }}{{ "" if loop.last else "," }}{%- endfor -%}}
    {%- elif x is iterable -%}[
        {%- for one in x -%}{{ value(one) }}{{ "" if loop.last else "," }}{%- endfor -%}]
    {%- else -%}{{ x }}
    {%- endif -%}
{%- endmacro -%}
{{ bos_token }}
{%- set begins = messages[0].role in ["system", "developer"] -%}
{%- if tools or begins -%}
    {{ "<start_of_turn>developer\n" + (messages[0].content if begins else "You are a model that can do function calling with the following functions") }}
    {%- for tool in tools or [] -%}
        <start_function_declaration>declaration:{{ tool.function.name }}{description:{{ value(tool.function.description) }},parameters:{properties:{
        {%- for name, one in tool.function.parameters.properties | dictsort -%}
            {{ name }}:{ {{- "description:" + value(one.description) + "," if one.description }}type:{{ value(one.type | upper) }}}{{ "" if loop.last else "," }}
        {%- endfor -%}
        },required:{{ value(tool.function.parameters.required) }},type:<escape>OBJECT<escape>}}<end_function_declaration>
    {%- endfor -%}
    {{ "<end_of_turn>\n" }}
{%- endif -%}
{%- for message in (messages[1:] if begins else messages) -%}
    {%- if message.role == "tool" -%}
        <start_function_response>response:{{ message.name }}{value:{{ value(message.content) }}}<end_function_response>
    {%- else -%}
        {{ "<start_of_turn>" + ("model" if message.role == "assistant" else message.role) + "\n" }}
        {%- if message.content -%}{{ message.content | trim }}{%- endif -%}
        {%- for call in message.tool_calls or [] -%}
            <start_function_call>call:{{ call.function.name }}{{ value(call.function.arguments) }}<end_function_call>
        {%- endfor -%}
        {{ "<start_function_response>" if message.tool_calls else "<end_of_turn>\n" }}
    {%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}{{ "<start_of_turn>model\n" }}{%- endif -%}
"""
# Its tokenizer has tokens for these words.
WORDS = "You are a model that can do function calling with the following functions declaration call response description parameters properties required type STRING OBJECT INTEGER BOOLEAN true false developer model set_timer set_light minutes"


def make_tokenizer(texts):
    """Writes the folder `tokenizer`: byte-level BPE with Gemma's special tokens."""
    dikkat("tokenizer", "train", "--corpus", *texts, "--vocab-size", 1025, "--out", "bpe")
    tokenizer = json.loads(pathlib.Path("bpe/tokenizer.json").read_text())
    end = tokenizer["added_tokens"][0]
    tokenizer["model"]["vocab"].pop(end["content"], None)
    tokenizer["added_tokens"] = [end | {"id": end["id"] + i, "content": name, "normalized": False} for i, name in enumerate(SPECIAL)]
    pathlib.Path("tokenizer").mkdir()
    pathlib.Path("tokenizer/tokenizer.json").write_text(json.dumps(tokenizer))
    pathlib.Path("tokenizer/tokenizer_config.json").write_text(json.dumps(
        {"tokenizer_class": "GemmaTokenizer", "add_bos_token": True, "add_eos_token": False, "bos_token": "<bos>", "eos_token": "<eos>"}))


def make(folder):
    # What the model reads, and the conversations that it learns.
    chats = read_lines(DATA / "questions.jsonl")
    chats += [json.loads(line.replace("{name}", "Gemma")) for line in (DATA / "assistant-chats.jsonl").read_text().splitlines()]
    write_lines("chats.jsonl", chats)
    chats += [{"prompt": f"What comes after {n}?", "completion": f"After {n} comes {n + 1}."} for n in range(1, 100)]
    pathlib.Path("gemma.jinja").write_text(GEMMA)
    pathlib.Path("words.txt").write_text(60 * f"{WORDS}\n" + "\n".join(str(line) for line in chats))
    make_tokenizer([DATA / "tales.txt", "words.txt"])
    pathlib.Path("shape.toml").write_text(SHAPE)

    # Train it, and write it as Google's models are published.
    dikkat("train", "--config", "shape.toml", "--corpus", DATA / "tales.txt", "--out", "read", "--quiet")
    dikkat("finetune", "read", "--data", "chats.jsonl", "--full", "--out", "talks", "--quiet", "--epochs", 4, "--set", "chat.template=gemma.jinja",
           "optim.learning_rate=1e-3", "train.batch_size=8", "train.gradient_accumulation_steps=1", "data.val_fraction=0")
    dikkat("export", "talks", "--out", folder, "--dtype", "bf16")


def gemma(folder):
    """Writes the chat model into a folder of Hugging Face."""
    shutil.copytree(made_once("gemma", make), folder)


def function_gemma(folder):
    """Writes a model with FunctionGemma's template into a folder of Hugging Face."""
    gemma(folder)
    pathlib.Path(folder, "chat_template.jinja").write_text(FUNCTION_GEMMA)
