"""Sequences of named symbols: given walks of a knight, a square a symbol, ends in a model whose moves are legal, in other programs' form."""
import json
import random
import re

from job import Node, dikkat, main, read_lines, write_lines

SQUARES = [file + rank for file in "abcdefgh" for rank in "12345678"]
GAMES, LENGTH, OPENING, MOVES = 6000, 20, 6, 10


def is_jump(a, b):
    return sorted([abs(ord(a[0]) - ord(b[0])), abs(int(a[1]) - int(b[1]))]) == [1, 2]


JUMPS = {square: [other for other in SQUARES if is_jump(square, other)] for square in SQUARES}


def game(draw):
    """A walk that visits no square twice."""
    while True:
        walk = [draw.choice(SQUARES)]
        while len(walk) < LENGTH:
            free = [square for square in JUMPS[walk[-1]] if square not in walk]
            if not free:
                break
            walk.append(draw.choice(free))
        else:
            return walk


def given():
    draw = random.Random(7)
    with open("games.txt", "w") as file:
        file.writelines(" ".join(game(draw)) + "\n" for _ in range(GAMES))
    with open("squares.txt", "w") as file:
        file.writelines(square + "\n" for square in SQUARES)
    write_lines("openings.jsonl", [{"prompt": "\n" + " ".join(game(draw)[:OPENING])} for _ in range(100)])


def legal(opening, moves):
    """Counts the moves that jump as a knight does to a square where it has not been."""
    walk, count = opening.split(), 0
    for move in moves:
        count += move in JUMPS[walk[-1]] and move not in walk
        walk.append(move)
    return count


def figure(least):
    lines = read_lines("continued.jsonl")
    texts = [line["samples"][0]["text"] for line in lines]
    assert all(re.fullmatch("[a-h][1-8]( [a-h][1-8]){9}", text) for text in texts), "an answer does not match the pattern"
    moves = [text.split(" ") for text in texts]
    count = sum(len(walk) for walk in moves)
    share = 100 * sum(legal(line["prompt"], walk) for line, walk in zip(lines, moves)) / (MOVES * len(lines))
    return f"{share:.1f} % of {MOVES * len(lines)} moves are legal, all answers match; {elsewhere()}", share >= least and count == MOVES * len(lines)


def elsewhere():
    """Compares the exported folder's ids of a game with those of Hugging Face's library."""
    text = open("games.txt").readline().strip()
    ours = json.loads(dikkat("tokenizer", "encode", "knight-hf", "--text", text, "--json"))
    if not Node.exists():
        return "the exported folder was read by dikkat only"
    assert Node.run("hugging_face_ids.mjs", "knight-hf", text) == ours, "Hugging Face's tokenizer has other ids"
    return "Hugging Face's tokenizer has the same ids"


main(given, figure)
