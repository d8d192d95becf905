#!/usr/bin/env python3
"""Writes the folders that configs/english-books.toml trains on, from 33 books of Project Gutenberg in one file.

  scripts/english-books.py en_books.txt.zst FOLDER    (or the unpacked text)

FOLDER/train has 29 books, FOLDER/validation two, for tuning, and FOLDER/test two that tuning never sees. The file has the books one after
another, without the headers and footers of Project Gutenberg; its text is checked.
"""

import hashlib
import pathlib
import subprocess
import sys

SHA256 = "1117d31b395e83105aaa49dc8e828ed20d45423930a5289bc3148e0e3156d95b"
VALIDATION = ["treasure-island", "the-scarlet-letter"]
TEST = ["dubliners", "the-time-machine"]

# (name, what it begins with), in the order of the file
BOOKS = [
    ("the-count-of-monte-cristo", "THE COUNT OF MONTE CRISTO"), ("les-miserables", "LES MISÉRABLES"), ("great-expectations", "GREAT EXPECTATIONS"),
    ("emma", "EMMA"), ("heart-of-darkness", "HEART OF DARKNESS"), ("the-jungle-book", "THE JUNGLE BOOK"),
    ("a-study-in-scarlet", "A STUDY IN SCARLET"), ("crime-and-punishment", "CRIME AND PUNISHMENT"),
    ("grimms-fairy-tales", "FAIRY TALES\n\nBy The Brothers Grimm"),
    ("war-and-peace", "WAR AND PEACE"), ("dubliners", "DUBLINERS"), ("montaigne", "ESSAYS OF MICHEL DE MONTAIGNE"),
    ("huckleberry-finn", "ADVENTURES\n\nOF\n\nHUCKLEBERRY FINN"), ("a-tale-of-two-cities", "A TALE OF TWO CITIES"),
    ("a-modest-proposal", "A MODEST PROPOSAL"), ("treasure-island", "TREASURE ISLAND"), ("the-prince", "THE PRINCE"),
    ("the-practice-and-science-of-drawing", "THE PRACTICE AND SCIENCE OF DRAWING"), ("common-sense", "COMMON SENSE"),
    ("the-republic", "THE REPUBLIC"), ("sense-and-sensibility", "SENSE AND SENSIBILITY"), ("dorian-gray", "The Picture of Dorian Gray"),
    ("the-yellow-wallpaper", "THE YELLOW WALLPAPER"), ("franklin", "AUTOBIOGRAPHY\n\nOF\n\nBENJAMIN"),
    ("frederick-douglass", "NARRATIVE OF THE LIFE OF FREDERICK DOUGLASS"), ("a-dolls-house", "A DOLL'S HOUSE"), ("leviathan", "LEVIATHAN"),
    ("the-scarlet-letter", "THE SCARLET LETTER"), ("dracula", "DRACULA"), ("the-time-machine", "The Time Machine"),
    ("a-christmas-carol", "A CHRISTMAS CAROL"), ("wuthering-heights", "WUTHERING HEIGHTS"), ("earnest", "The Importance of Being Earnest"),
]


def read(path):
    if path.suffix == ".zst":
        return subprocess.run(["zstd", "-dc", path], stdout=subprocess.PIPE, check=True).stdout
    return path.read_bytes()


def main():
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    source, folder = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    data = read(source)
    if hashlib.sha256(data).hexdigest() != SHA256:
        raise SystemExit(f"english-books.py: {source} has the sha256 {hashlib.sha256(data).hexdigest()}, expected {SHA256}: another text, or damaged")
    text = data.decode()
    begins = []
    for name, title in BOOKS:
        after = begins[-1] if begins else 0
        begins.append(text.index("\n\n\n\n" + title, after) + 4 if begins else text.index(title))
    for (name, _), begin, end in zip(BOOKS, begins, begins[1:] + [len(text)]):
        part = folder / ("validation" if name in VALIDATION else "test" if name in TEST else "train")
        part.mkdir(parents=True, exist_ok=True)
        (part / f"{name}.txt").write_text(text[begin:end].rstrip() + "\n")
    for part in ("train", "validation", "test"):
        files = list((folder / part).iterdir())
        print(f"{folder / part}: {len(files)} books, {sum(file.stat().st_size for file in files):,} bytes")


if __name__ == "__main__":
    main()
