"""A small model that calls functions: given calls in FunctionGemma's form, ends in a GGUF file whose calls `dikkat serve` returns as tool_calls."""
import json
import pathlib
import random

from job import Server, main, read_lines, write_lines
from stand_in import function_gemma

TOOLS = [
    {"type": "function", "function": {
        "name": "set_timer", "description": "Rings after some minutes.",
        "parameters": {"type": "object", "properties": {"minutes": {"type": "integer", "description": "From now"}}, "required": ["minutes"]}}},
    {"type": "function", "function": {
        "name": "send_message", "description": "Sends a text to a person.",
        "parameters": {"type": "object", "properties": {"to": {"type": "string", "description": "A name"},
                                                        "text": {"type": "string", "description": "What to send"}},
                       "required": ["to", "text"]}}},
]
NAMES = ["Tobin", "Margaret", "Ada", "Hewin", "Mora", "Pell", "Jory", "Nan", "Wenna", "Silas"]
TEXTS = ["the boat is late", "the lamp is lit", "dinner is ready", "the fog is gone", "I am at the pier", "the mill is closed", "it rains", "the mail is here"]
TIMERS = ["Set a timer for {} minutes.", "Ring in {} minutes, please.", "Wake me in {} minutes."]
MESSAGES = ["Tell {} that {}.", "Write to {}: {}.", "Let {} know that {}."]


def requests():
    for words in TIMERS:
        for minutes in range(2, 60):
            yield words.format(minutes), "set_timer", {"minutes": minutes}
    for words in MESSAGES:
        for name in NAMES:
            for text in TEXTS:
                yield words.format(name, text), "send_message", {"to": name, "text": text}


def given():
    function_gemma("functiongemma-270m-it")
    lines = [{"messages": [{"role": "user", "content": asked},
                           {"role": "assistant", "tool_calls": [{"type": "function", "function": {"name": name, "arguments": arguments}}]}],
              "tools": TOOLS} for asked, name, arguments in requests()]
    random.Random(12).shuffle(lines)
    write_lines("calls.jsonl", lines[:-60])
    write_lines("held-out.jsonl", lines[-60:])
    pathlib.Path("tools.json").write_text(json.dumps(TOOLS))


def is_right(server, line):
    question, answer = line["messages"]
    response = server.post("/v1/chat/completions", {"messages": [question], "tools": line["tools"], "temperature": 0, "max_tokens": 80})
    calls = response["choices"][0]["message"].get("tool_calls") or []
    return [(call["function"]["name"], json.loads(call["function"]["arguments"])) for call in calls] == [
        (call["function"]["name"], call["function"]["arguments"]) for call in answer["tool_calls"]]


def figure(least):
    lines = read_lines("held-out.jsonl")
    with Server("calls.gguf") as server:
        right = sum(is_right(server, line) for line in lines)
    share = 100 * right / len(lines)
    return f"{share:.0f} % of {len(lines)} held-out calls are right", share >= least


main(given, figure)
