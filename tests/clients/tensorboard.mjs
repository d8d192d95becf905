// Another program's reader (npm's tfrecord, which checks the masked CRCs, and protobufjs) reads the output of `dikkat export-metrics
// --tensorboard` for a resumed run. The values are compared with metrics.jsonl.
//
//     node tensorboard.mjs DIKKAT WORK_FOLDER REPOSITORY     (scripts/clients.sh does)
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import protobuf from "protobufjs";
import tfrecord from "tfrecord";

// These are parts of tensorflow/core/util/event.proto and framework/summary.proto.
const Event = protobuf
  .parse(
    `
  syntax = "proto3";
  message Value { string tag = 1; float simple_value = 2; }
  message Summary { repeated Value value = 1; }
  message Event { double wall_time = 1; int64 step = 2; oneof what { string file_version = 3; Summary summary = 5; } }
`,
  )
  .root.lookupType("Event");

const [program, work, repository] = process.argv.slice(2).map((path) => resolve(path));
const dikkat = (...words) => execFileSync(program, words, { cwd: work, stdio: "ignore" });
dikkat(
  "train",
  "--config",
  join(repository, "configs/quickstart.toml"),
  "--out",
  "board-run",
  "--set",
  "train.max_steps=12",
  "train.eval_interval=6",
  "train.eval_tokens=128",
  "optim.decay_steps=20",
  "train.log_interval=1",
);
dikkat("resume", "board-run", "--set", "train.max_steps=20");

// MFU is null while the machine's rate is unknown, which depends on what else the machine does. So this test writes the values itself.
const metrics = join(work, "board-run/metrics.jsonl");
const measured = readFileSync(metrics, "utf8")
  .trim()
  .split("\n")
  .map((line) => JSON.parse(line));
for (const line of measured) if (line.event === "step") line.mfu = line.step === 3 ? null : 1 / (1 + line.step);
writeFileSync(metrics, measured.map((line) => JSON.stringify(line) + "\n").join(""));
dikkat("export-metrics", "board-run", "--tensorboard", "board");

const [file, ...others] = readdirSync(join(work, "board"));
assert(file.startsWith("events.out.tfevents.") && others.length === 0, "one file, with TensorBoard's name");
const reader = await tfrecord.RecordReader.create(join(work, "board", file));
const curves = {};
let version;
for (let record; (record = await reader.readRecord()) !== null;) {
  const event = Event.toObject(Event.decode(record), { longs: Number });
  version ??= event.fileVersion;
  for (const { tag, simpleValue } of event.summary?.value ?? []) (curves[tag] ??= []).push([event.step, simpleValue]);
}
assert.equal(version, "brain.Event:2", "the first event says the version");

const expected = (event, key) =>
  measured.filter((line) => line.event === event && typeof line[key] === "number").map((line) => [line.step, Math.fround(line[key])]);
const pairs = {
  "loss/train": ["step", "loss"],
  "loss/validation": ["eval", "val_loss"],
  "loss/train_evaluated": ["eval", "train_loss"],
  grad_norm: ["step", "grad_norm"],
  learning_rate: ["step", "learning_rate"],
  tokens_per_s: ["step", "tokens_per_s"],
  mfu: ["step", "mfu"],
};
assert.deepEqual(Object.keys(curves).sort(), Object.keys(pairs).sort());
for (const [tag, [event, key]] of Object.entries(pairs)) assert.deepEqual(curves[tag], expected(event, key), tag);
assert.equal(curves["loss/train"].length, 20, "one curve over the resume");
console.log("TensorBoard: a reader of others finds the curves of metrics.jsonl, over a resume, with the right CRCs");
