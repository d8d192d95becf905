// Encodes the texts in texts/ and the cases below by hf_ids.mjs. To make golden.json again, with Node 20:
//
//     npm install --no-save --prefix /tmp/golden @huggingface/tokenizers@0.2
//     node tests/golden/tokenizer/make_golden.mjs /tmp/golden
//
// splitters/ has tokenizers that look like those of SmolLM 2, Llama 3 and Qwen 3, and their ids. They are made from three that dikkat has
// learnt:
//
//     for s in smollm llama3 qwen2; do
//       dikkat tokenizer train --corpus tests/golden/tokenizer/texts --vocab-size 600 --splitter $s --out /tmp/trained/$s.json
//     done
//     node tests/golden/tokenizer/make_golden.mjs /tmp/golden /tmp/trained
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { encoder } from "./hf_ids.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const [library, trained] = process.argv.slice(2);
const read = (path) => JSON.parse(readFileSync(path, "utf8"));
const texts = Object.fromEntries(
  readdirSync(join(here, "texts"))
    .sort()
    .map((name) => [name, readFileSync(join(here, "texts", name), "utf8")]),
);
const in_lines = (golden) => JSON.stringify(golden).replaceAll(/(\{"text|"[a-z_]+\.txt")/g, "\n$1") + "\n";

const cases = [
  "",
  " ",
  "   a",
  "a  b",
  "a  ",
  "\n\n",
  "a\n\n b",
  "\t\ta",
  "\r\n\r\n",
  "\u0085x",
  "\u00a0\u00a0a",
  "\u3000\u3000x",
  "\ufeffabc",
  "\u2028 \u2029",
  "a\u0000b",
  "\u0001\u001f\u007f",
  "\u200b\u200d",
  "don't",
  "I'll I'LL we've WE'VE",
  "''s",
  "x'rex",
  "'s's's't'd",
  " 's",
  "it\u2019s",
  "hello <|endoftext|>",
  "\u0130stanbul \u0131\u015f\u0131k",
  "\u00e7a\u0123\u0306",
  "e\u0301a",
  "\u00b2\u00b3 \u00bd\u2460\u2167",
  "x\u00b2+y\u00b3",
  "1,000,000",
  "2024-01-01",
  "12abc34",
  "\u4e00\u4e8c\u4e09",
  "\u{1f642}",
  "\u{1f1f9}\u{1f1f7}",
  "\u{1f468}\u200d\u{1f469}\u200d\u{1f467}",
  "\ud7ff\ue000",
  "\u{10ffff}",
  "\u07ff\u0800\uffff\u{10000}",
  "the".repeat(30),
  "a".repeat(100),
  " ".repeat(100),
  "ab".repeat(300),
  "\n".repeat(9) + "x",
  "!?".repeat(40),
];

if (!trained) {
  const description = read(join(here, "tokenizer.json"));
  const encode = await encoder(library, description, false);
  writeFileSync(
    join(here, "golden.json"),
    in_lines({
      cases: cases.map((text) => ({ text, ids: encode(text) })),
      files: Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, encode(text)])),
    }),
  );
  process.exit(0);
}

// Texts that the splitters treat differently: numbers, line breaks after signs and white space, contractions of both cases, characters
// before a letter, marks and the normal form.
const more_cases = [
  "1234567",
  "a1b22c333d4444",
  "\u0661\u0662\u0663\u0664 \u00bd\u00bd\u00bd\u00bd",
  "  42",
  " 1  2   3",
  "x  7\n 8",
  "3.14159e-10",
  "\r\n\r\na\r\r\n b",
  "a \n \n  b",
  "  \n  ",
  " \t\n\t x",
  "!\n\n!",
  "end.\n\nNext",
  "(a)\r\n\r\n(b)",
  "};\n}\n\n  x",
  "\u3002\n\u3042",
  "\n\n\n   \n",
  "HE'S he'S They'RE they'Ve I'M i'm D'D 'Tis 'LLama",
  "rock'n'roll",
  "\u00a0word\u3000word",
  "\tword(word)[word]_word-word",
  "$word #tag @name",
  "a\u0300b\u0308",
  "e\u0301 A\u030a \u212b \u1100\u1161\u11a8 \uac00\u11a8 q\u0323\u0307 q\u0307\u0323",
  "\u0344 \u0958 \u2126 \ufb1d <\u0338 =\u0338\u0338",
  "caf\u00e9 cafe\u0301",
  "\n\u0301 \u0301\u0316x",
  "if (x >= 10) {\n\treturn x->y[1];  // ok\n}\n",
  "   ".repeat(50) + "x",
  "\n ".repeat(60) + "y",
  "0".repeat(50),
  "a b  c   d    e",
  "\u2000\u2001x",
  "<|im_start|>user\nHi<|im_end|>\n",
  "<|begin_of_text|>Hi<|eot_id|> there<|end_of_text|>",
  'call <tool_call>{"a": 1}</tool_call>\n',
  "a  <tool_call>  b",
  "<tool_<tool_call>>",
];

const token = (id, content, special) => ({ id, content, single_word: false, lstrip: false, rstrip: false, normalized: false, special });

const owners = {
  // The special tokens are the first of the vocabulary.
  smollm(file) {
    const names = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"];
    const words = Object.entries(file.model.vocab).filter(([word]) => word !== "<|endoftext|>");
    file.model.vocab = Object.fromEntries([...names.map((name, i) => [name, i]), ...words.map(([word, id]) => [word, id + names.length])]);
    file.added_tokens = names.map((name, i) => token(i, name, true));
    file.post_processor = null;
  },
  // This one has ids in another order, merges as pairs, some of them missing, special tokens after the vocabulary, and one before each
  // text.
  llama3(file) {
    const words = Object.entries(file.model.vocab);
    file.model.vocab = Object.fromEntries(words.map(([word, id]) => [word, words.length - 1 - id]));
    file.model.merges = file.model.merges.slice(0, -60).map((merge) => merge.split(" "));
    file.added_tokens = ["<|begin_of_text|>", "<|end_of_text|>", "<|eot_id|>"].map((name, i) => token(words.length + i, name, true));
    const bos = "<|begin_of_text|>";
    const [begin, a, b] = [
      { SpecialToken: { id: bos, type_id: 0 } },
      { Sequence: { id: "A", type_id: 0 } },
      { Sequence: { id: "B", type_id: 1 } },
    ];
    file.post_processor = {
      type: "Sequence",
      processors: [
        file.post_processor,
        {
          type: "TemplateProcessing",
          single: [begin, a],
          pair: [begin, a, { SpecialToken: { id: bos, type_id: 1 } }, b],
          special_tokens: { [bos]: { id: bos, ids: [words.length], tokens: [bos] } },
        },
      ],
    };
  },
  // Some added tokens are not special.
  qwen2(file) {
    const words = Object.entries(file.model.vocab).filter(([word]) => word !== "<|endoftext|>");
    file.model.vocab = Object.fromEntries(words);
    file.added_tokens = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<tool_call>", "</tool_call>"].map((name, i) =>
      token(words.length + i, name, name.startsWith("<|")),
    );
  },
};

for (const [name, dress] of Object.entries(owners)) {
  const file = read(join(trained, name + ".json"));
  dress(file);
  writeFileSync(join(here, "splitters", name + ".json"), JSON.stringify(file));
  const [encode, encode_with_special] = [await encoder(library, file, false), await encoder(library, file, true)];
  writeFileSync(
    join(here, "splitters", name + "_golden.json"),
    in_lines({
      cases: [...cases, ...more_cases].map((text) => {
        const [ids, with_special] = [encode(text), encode_with_special(text)];
        return { text, ids, ...(JSON.stringify(ids) === JSON.stringify(with_special) ? {} : { with_special }) };
      }),
      files: Object.fromEntries(Object.entries(texts).map(([file_name, text]) => [file_name, encode(text)])),
    }),
  );
}
