"""A small model that calls functions: given calls in FunctionGemma's form, ends in a GGUF file whose calls `dikkat serve` returns as tool_calls."""
import json
import pathlib
import random

from job import Server, main, read_lines, write_lines
from stand_in import function_gemma

TOOLS = [{"type": "function", "function": function} for function in [
    {"name": "set_timer", "description": "Rings later.",
     "parameters": {"type": "object", "properties": {"minutes": {"type": "integer"}}, "required": ["minutes"]}},
    {"name": "set_light", "description": "Switches a light.",
     "parameters": {"type": "object", "properties": {"room": {"type": "string"}, "on": {"type": "boolean"}}, "required": ["room", "on"]}}]]
BEGINNINGS = ["", "Please: ", "Hello. ", "Good evening. ", "One more thing: "]
MINUTES = [5, 20, 30, 45, 60]
TIMERS = ["set a timer for {} minutes", "ring in {} minutes", "wake me in {} minutes", "start a timer of {} minutes", "I need a timer: {} minutes",
          "tell me when {} minutes are over", "count {} minutes for me", "in {} minutes I must go, so ring"]
ROOMS = ["kitchen", "hall", "lamp room", "cellar", "attic"]
LIGHTS = {"it is dark in the {}": True, "turn on the light in the {}": True, "I want light in the {}": True, "light the {}": True,
          "it is too bright in the {}": False, "turn off the light in the {}": False, "nobody is in the {}, save power": False, "make the {} dark": False}


def requests():
    for beginning in BEGINNINGS:
        for words in TIMERS:
            for minutes in MINUTES:
                yield f"{beginning}{words.format(minutes)}.", "set_timer", {"minutes": minutes}
        for words, on in LIGHTS.items():
            for room in ROOMS:
                yield f"{beginning}{words.format(room)}.", "set_light", {"room": room, "on": on}


def given():
    function_gemma("functiongemma-270m-it")
    lines = [{"messages": [{"role": "user", "content": asked},
                           {"role": "assistant", "tool_calls": [{"type": "function", "function": {"name": name, "arguments": arguments}}]}],
              "tools": TOOLS} for asked, name, arguments in requests()]
    random.Random(12).shuffle(lines)
    write_lines("calls.jsonl", lines[:240])
    write_lines("held-out.jsonl", lines[240:300])
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
    return f"{share:.0f} % of {len(lines)} calls are right", share >= least


main(given, figure)
