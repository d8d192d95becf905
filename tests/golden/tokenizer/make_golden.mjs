// Encodes the texts in texts/ and the cases below with an encoder that shares no code with this project (npm's @huggingface/tokenizers 0.2)
// and writes golden.json. To make it again, with Node 20:
//
//     npm install --no-save --prefix /tmp/golden @huggingface/tokenizers@0.2
//     node tests/golden/tokenizer/make_golden.mjs /tmp/golden
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const library = join(process.argv[2], "node_modules/@huggingface/tokenizers/dist/tokenizers.mjs");
const { Tokenizer } = await import(pathToFileURL(library));

const description = JSON.parse(readFileSync(join(here, "tokenizer.json"), "utf8"));
description.added_tokens = []; // this library reads "<|endoftext|>" in a text as the special token; in dikkat it is text
const tokenizer = new Tokenizer(description, {});
// JavaScript's \s has U+FEFF and lacks U+0085. In GPT-2's pattern it means Unicode's White_Space.
tokenizer.pre_tokenizer.pattern = new RegExp(tokenizer.pre_tokenizer.pattern.source
  .replaceAll("[^\\s", "[^\\p{White_Space}").replaceAll("\\s", "\\p{White_Space}").replaceAll("\\S", "\\P{White_Space}"), "gu");

const ids = (text) => text === "" ? [] : tokenizer.encode(text, { add_special_tokens: false }).ids;

const cases = [
  "", " ", "   a", "a  b", "a  ", "\n\n", "a\n\n b", "\t\ta", "\r\n\r\n", "\u0085x", "\u00a0\u00a0a", "\u3000\u3000x", "\ufeffabc", "\u2028 \u2029", "a\u0000b",
  "\u0001\u001f\u007f", "\u200b\u200d", "don't", "I'll I'LL we've WE'VE", "''s", "x'rex", "'s's's't'd", " 's", "it\u2019s", "hello <|endoftext|>",
  "\u0130stanbul \u0131\u015f\u0131k", "\u00e7a\u0123\u0306", "e\u0301a", "\u00b2\u00b3 \u00bd\u2460\u2167", "x\u00b2+y\u00b3", "1,000,000", "2024-01-01", "12abc34",
  "\u4e00\u4e8c\u4e09", "\u{1f642}", "\u{1f1f9}\u{1f1f7}", "\u{1f468}\u200d\u{1f469}\u200d\u{1f467}", "\ud7ff\ue000", "\u{10ffff}", "\u07ff\u0800\uffff\u{10000}",
  "the".repeat(30), "a".repeat(100), " ".repeat(100), "ab".repeat(300), "\n".repeat(9) + "x", "!?".repeat(40),
];

writeFileSync(join(here, "golden.json"), JSON.stringify({
  cases: cases.map((text) => ({ text, ids: ids(text) })),
  files: Object.fromEntries(readdirSync(join(here, "texts")).sort().map((name) => [name, ids(readFileSync(join(here, "texts", name), "utf8"))])),
}).replaceAll(/(\{"text|"[a-z_]+\.txt")/g, "\n$1") + "\n");
