// Shows the contents of a corpus. data is the object of `dikkat corpus inspect --json`.
"use strict";

const percent = (share) => `${(share * 100).toFixed(share >= 0.1 || share === 0 ? 1 : 2)} %`;
const place = ({ file, line }) => (line ? `${file}, line ${count(line)}` : file);

// A table with bars. Each of `rows` is [label, value, text beside the value].
function bars(caption, columns, rows) {
  const most = Math.max(...rows.map(([, value]) => value), 1);
  return table(
    caption,
    [
      [columns[0], ""],
      ["", ""],
      [columns[1], "number"],
      [columns[2], "number"],
    ],
    rows.map(([label, value, beside]) => ({ cells: [label, bar(value / most, 320), count(value), beside] })),
  );
}

function section(title, ...parts) {
  return element("section", {}, element("h2", {}, title), ...parts);
}

function overview() {
  const rows = [
    ["files", count(data.files)],
    ["documents", count(data.documents)],
    ["bytes", `${count(data.bytes)} (${bytes(data.bytes)})`],
    ["distinct characters", data.characters === null ? `not counted: ${data.not_utf8}` : count(data.characters)],
    ["tokens", `${count(data.tokens)} (${data.tokenizer.kind} tokenizer, vocabulary ${count(data.tokenizer.vocab_size)})`],
    ["bytes per token", fixed(data.bytes_per_token, 2)],
    ["training split", `${bytes(data.train.bytes)}, ${count(data.train.tokens)} tokens`],
    ["validation split", `${bytes(data.validation.bytes)}, ${count(data.validation.tokens)} tokens`],
    ["SHA-256 of the texts", data.sha256],
  ];
  return table(
    null,
    [
      ["", ""],
      ["", "text"],
    ],
    rows.map((cells) => ({ cells })),
  );
}

function lengths() {
  const found = data.lengths;
  return section(
    "Documents by length",
    element(
      "p",
      {},
      `Half of the documents have at most ${bytes(found.median)}. ` +
        `One in ten has at most ${bytes(found.percentile_10)}, one in ten at least ${bytes(found.percentile_90)}. ` +
        `The longest has ${bytes(found.longest)}, and the mean is ${bytes(found.mean)}.`,
    ),
    bars(
      "",
      ["length", "documents", "share of the text"],
      found.histogram.map((one) => [`${bytes(one.from)} to ${bytes(one.below)}`, one.documents, percent(one.bytes / data.bytes)]),
    ),
  );
}

function scripts() {
  const all = data.scripts.reduce((sum, one) => sum + one.characters, 0);
  return section(
    "Scripts",
    bars(
      '"Common" means spaces, digits, punctuation and symbols, which all scripts use',
      ["script", "characters", "share"],
      data.scripts.map((one) => [one.script, one.characters, percent(one.characters / all)]),
    ),
  );
}

function duplicates() {
  const found = data.duplicates;
  if (found.documents === 0) return section("Duplicates", element("p", {}, "No document occurs twice."));
  return section(
    "Duplicates",
    element(
      "p",
      {},
      `${count(found.documents)} of ${count(data.documents)} documents (${bytes(found.bytes)}, ` +
        `${percent(found.bytes / data.bytes)} of the text) ` +
        "equal an earlier one, byte for byte. A model memorizes repeated text sooner, " +
        "and a copy in the validation split makes the validation loss too low.",
    ),
    table(
      "The documents with the most bytes in copies",
      [
        ["first", "text"],
        ["again", "text"],
        ["times", "number"],
        ["bytes", "number"],
      ],
      found.most.map((one) => ({ cells: [place(one.first), place(one.second), count(one.times), count(one.bytes)] })),
    ),
  );
}

function longestLines() {
  return section(
    "Longest lines",
    table(
      "Very long lines are often not prose, but data, minified code or text without line breaks",
      [
        ["bytes", "number"],
        ["where", "text"],
        ["begins", "text"],
      ],
      data.longest_lines.map((one) => ({ cells: [count(one.bytes), place(one), one.begins] })),
    ),
  );
}

function skippedFiles() {
  if (data.skipped.length === 0) return null;
  return section(
    "Skipped files",
    table(
      "In the given folders",
      [
        ["files", "number"],
        ["kind", ""],
        ["the first", "text"],
      ],
      data.skipped.map((one) => ({ cells: [count(one.files), one.what, one.example] })),
    ),
  );
}

const data = JSON.parse(document.getElementById("data").textContent);
document.title = "Contents of the corpus – dikkat";
document.getElementById("title").textContent = "Contents of the corpus";
document.getElementById("made").textContent = data.corpus.join(", ");
document
  .getElementById("main")
  .replaceChildren(
    ...[
      overview(),
      lengths(),
      scripts(),
      duplicates(),
      longestLines(),
      skippedFiles(),
      section("Beginning of the text", element("pre", {}, data.sample)),
    ].filter((part) => part !== null),
  );
onTheme(() => {});
