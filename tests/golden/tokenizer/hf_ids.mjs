// Prints the ids that Hugging Face's encoder for JavaScript (npm's @huggingface/tokenizers 0.2), which shares no code with this project,
// gives to texts. As a program it reads a JSON array of texts from standard input and prints an array of arrays of ids:
//
//     node hf_ids.mjs FOLDER_OF_NPM_INSTALL tokenizer.json [--special] < texts.json
//
// --special: encodes a text as for the model, with special tokens found by their names, and those of the template around it. Without it,
// names of special tokens are ordinary text, as in a corpus.
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

export async function encoder(folder, description, special) {
  const library = join(resolve(folder), "node_modules/@huggingface/tokenizers/dist/tokenizers.mjs");
  const { Tokenizer } = await import(pathToFileURL(library));
  const tokens = description.added_tokens.filter((token) => special || !token.special);
  const tokenizer = new Tokenizer({ ...description, added_tokens: tokens }, {});
  // In two rules this library uses JavaScript's \s and \d. In Hugging Face's own library they mean White_Space and \p{N}.
  const mended = (pattern) =>
    new RegExp(
      pattern.source
        .replaceAll("[^\\s", "[^\\p{White_Space}")
        .replaceAll("\\s", "\\p{White_Space}")
        .replaceAll("\\S", "\\P{White_Space}")
        .replaceAll("[^\\d]", "\\P{N}")
        .replaceAll("\\d", "\\p{N}"),
      "gu",
    );
  for (const step of [tokenizer.pre_tokenizer, ...(tokenizer.pre_tokenizer?.tokenizers ?? [])]) {
    if (["ByteLevel", "Digits"].includes(step?.config?.type) && step.pattern) {
      step.pattern = mended(step.pattern);
    }
  }
  return (text) => (text === "" && !special ? [] : tokenizer.encode(text, { add_special_tokens: special }).ids);
}

if (process.argv[1] && import.meta.url === pathToFileURL(resolve(process.argv[1])).href) {
  const [folder, file, option] = process.argv.slice(2);
  const encode = await encoder(folder, JSON.parse(readFileSync(file, "utf8")), option === "--special");
  console.log(JSON.stringify(JSON.parse(readFileSync(0, "utf8")).map(encode)));
}
