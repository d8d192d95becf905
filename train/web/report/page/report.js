// Draws the report. All text of runs, prompts and samples is inserted with textContent, never as markup.
"use strict";

const COLORS = ["#0b76d1", "#d9480f", "#2b8a3e", "#9c36b5", "#b08900", "#0c8599", "#c2255c", "#5c5f66"];

// ---- Values computed from a run ---------------------------------------------------------------------------------------------------------

// The best evaluation: the lowest validation loss; or the highest value of the metric that decides, and then the lowest loss.
function lowest(run) {
  const { val, step, error, metrics, decided_by: decides } = run.evaluations;
  const deciding = metrics[decides] || [];
  const right = (i) => (isNumber(deciding[i]) ? deciding[i] : -1);
  let at = -1;
  val.forEach((loss, i) => {
    if (isNumber(loss) && (at < 0 || right(i) > right(at) || (right(i) === right(at) && loss < val[at]))) at = i;
  });
  return at < 0 ? null : { step: step[at], loss: val[at], error: error[at] };
}

function bitsPerByte(run, loss) {
  const bytesPerToken = run.header && run.header.bytes_per_token;
  return isNumber(bytesPerToken) && isNumber(loss) ? loss / Math.LN2 / bytesPerToken : null;
}

function median(values) {
  const sorted = values.filter(isNumber).sort((a, b) => a - b);
  return sorted.length ? sorted[Math.floor(sorted.length / 2)] : null;
}

// Whether a program's own training loop wrote the run: it has no tokenizer, and its losses have no unit.
const isOwn = (run) => run.header !== null && !run.header.tokenizer;
// Whether the run learns preferences. Its losses are means over pairs or judged answers.
const prefers = (run) => run.steps.metrics.rewards_accuracy !== undefined;
// Whether the run learns vectors. Its losses are means over pairs of texts.
const comparesPairs = (run) => run.steps.metrics.batch_accuracy !== undefined;
const lossUnit = (runs) =>
  runs.some(isOwn) ? null : runs.some(prefers) ? "of preferences" : runs.some(comparesPairs) ? "of pairs" : "nats per token";

const last = (values) => (values.length ? values[values.length - 1] : null);

// ---- Charts -----------------------------------------------------------------------------------------------------------------------------

// The quantities that the x axis can show.
const AXES = {
  steps: { label: "steps", of: (table) => table.step },
  tokens: { label: "tokens", of: (table) => table.tokens },
  hours: { label: "hours", of: (table) => table.seconds.map((seconds) => seconds / 3600) },
};

const curvesByName = (run) =>
  run.texts.map((text, number) => ({ name: text.name, table: text, column: "loss", points: true, error: "error", dashed: true, number }));

// Two curves of a metric of the objective: of the steps, and of the validation part.
const metricCurves = (run, names) =>
  names.flatMap(([name, column]) =>
    [
      { name: `${name}, each step`, table: { ...run.steps, ...run.steps.metrics }, column, faint: true },
      { name: `${name}, validation`, table: { ...run.evaluations, ...run.evaluations.metrics }, column, points: true, dashed: true },
    ].filter(({ table }) => table[column] !== undefined),
  );
// Metrics that are drawn together. Each of the others is drawn under its own name.
const TOGETHER = {
  "Accuracy of preferences": [["accuracy", "rewards_accuracy"]],
  Rewards: [
    ["margin", "rewards_margin"],
    ["chosen", "rewards_chosen"],
    ["rejected", "rewards_rejected"],
  ],
  "Log-probabilities of answers": [
    ["chosen", "logps_chosen"],
    ["rejected", "logps_rejected"],
  ],
};
const known = new Set(
  Object.values(TOGETHER)
    .flat()
    .map(([, column]) => column),
);
const otherMetrics = (run) =>
  [...new Set([...Object.keys(run.steps.metrics), ...Object.keys(run.evaluations.metrics)])]
    .filter((name) => !known.has(name))
    .map((name) => [name, name]);

// The panels. A curve draws the values of a column of one of the run's tables. If the curves differ from run to run, `curves` is a function
// of the run.
const CHARTS = [
  {
    title: "Loss",
    unit: lossUnit,
    wide: true,
    log: true,
    digits: 4,
    curves: [
      { name: "training, each step", table: "steps", column: "loss", faint: true },
      { name: "training, smoothed", table: "steps", column: "smooth" },
      { name: "validation", table: "evaluations", column: "val", points: true, error: "error", dashed: true },
    ],
  },
  { title: "Loss of each text", unit: "nats per token", log: true, digits: 4, curves: (run) => (isOwn(run) ? [] : curvesByName(run)) },
  { title: "Measures", digits: 4, curves: (run) => (isOwn(run) ? curvesByName(run) : []) },
  ...Object.entries(TOGETHER).map(([title, names]) => ({ title, digits: 4, curves: (run) => metricCurves(run, names) })),
  { title: "Metrics", digits: 4, curves: (run) => metricCurves(run, otherMetrics(run)) },
  { title: "Learning rate", curves: [{ name: "rate", table: "steps", column: "rate" }] },
  { title: "Gradient norm", log: true, curves: [{ name: "norm before clipping", table: "steps", column: "norm" }] },
  { title: "Throughput", unit: "tokens/s", curves: [{ name: "tokens/s", table: "steps", column: "tokens_per_s" }] },
  { title: "MFU", unit: "share of the machine's matrix product speed", curves: [{ name: "MFU", table: "steps", column: "mfu" }] },
  {
    title: "Time per step",
    unit: "ms",
    log: true,
    curves: [
      { name: "whole step", table: "steps", column: "ms" },
      { name: "optimizer", table: "steps", column: "optimizer_ms", dashed: true },
    ],
  },
  {
    title: "Memory",
    unit: "bytes, at evaluations",
    format: bytes,
    curves: [{ name: "resident", table: "evaluations", column: "memory", points: true }],
  },
  { title: "Checkpoints", unit: "bytes", format: bytes, curves: [{ name: "size", table: "saves", column: "bytes", points: true }] },
];

const view = { axis: "steps", logY: false, logX: false, range: null, plots: [] };

const curvesOf = (chart, run) =>
  (typeof chart.curves === "function" ? chart.curves(run) : chart.curves).map((curve) => ({
    ...curve,
    table: typeof curve.table === "string" ? run[curve.table] : curve.table,
  }));

// uPlot needs one column of x for all curves. Where a curve has no row, its value is undefined, and the curve is drawn across; null is a
// gap.
function aligned(tables) {
  return uPlot.join(
    tables,
    tables.map(() => [1, 1]),
  );
}

// Keeps the rows with ascending x. The join cannot handle x that is repeated or unordered, such as two evaluations at the same time.
function ascending(x, ys) {
  const rows = [];
  x.forEach((value, i) => {
    if (isNumber(value) && (!view.logX || value > 0) && (rows.length === 0 || value > x[rows[rows.length - 1]])) rows.push(i);
  });
  return [rows.map((i) => x[i]), ...ys.map((y) => rows.map((i) => y[i]))];
}

// Draws standard errors as bars, and the events of runs as vertical lines.
function drawMarks(plot) {
  const { errors, events } = plot.marks || { errors: [], events: [] };
  const context = plot.ctx;
  context.save();
  context.beginPath();
  context.rect(plot.bbox.left, plot.bbox.top, plot.bbox.width, plot.bbox.height);
  context.clip();
  const ratio = window.devicePixelRatio || 1;
  for (const event of events) {
    const x = Math.round(plot.valToPos(event.x, "x", true));
    context.strokeStyle = event.kind === "skipped" ? css("--bad") : css("--faint");
    context.lineWidth = ratio;
    context.setLineDash([2 * ratio, 3 * ratio]);
    context.beginPath();
    context.moveTo(x, plot.bbox.top);
    context.lineTo(x, plot.bbox.top + plot.bbox.height);
    context.stroke();
  }
  context.setLineDash([]);
  for (const { x, y, error, color } of errors) {
    context.strokeStyle = color;
    context.lineWidth = 1.5 * ratio;
    x.forEach((at, i) => {
      if (!isNumber(y[i]) || !isNumber(error[i])) return;
      const left = plot.valToPos(at, "x", true);
      const low = plot.valToPos(Math.max(y[i] - error[i], view.logY ? y[i] * 0.01 : -Infinity), "y", true);
      const high = plot.valToPos(y[i] + error[i], "y", true);
      context.beginPath();
      context.moveTo(left, low);
      context.lineTo(left, high);
      for (const end of [low, high]) {
        context.moveTo(left - 3 * ratio, end);
        context.lineTo(left + 3 * ratio, end);
      }
      context.stroke();
    });
  }
  context.restore();
}

function describe(chart, runs) {
  const words = [];
  for (const run of runs) {
    for (const curve of curvesOf(chart, run)) {
      const values = curve.table[curve.column].filter(isNumber);
      if (values.length === 0) continue;
      const show = chart.format || significant;
      const low = values.reduce((a, b) => Math.min(a, b)),
        high = values.reduce((a, b) => Math.max(a, b));
      words.push(
        `${run.name}, ${curve.name}: from ${show(values[0])} to ${show(last(values))}, lowest ${show(low)}, highest ${show(high)}`,
      );
    }
  }
  return `${chart.title}. ${words.join(". ")}.`;
}

function zoom(range) {
  view.range = range;
  for (const plot of view.plots) {
    const x = plot.data[0];
    if (x.length === 0) continue;
    plot.setScale("x", range || { min: x[0], max: x[x.length - 1] });
  }
}

// Handles keys: + and - zoom, arrows move, 0 or Escape shows all.
function onKey(plot, event) {
  const x = plot.data[0];
  if (x.length < 2) return;
  const { min, max } = plot.scales.x;
  const width = max - min,
    lowest = x[0],
    highest = x[x.length - 1];
  const within = (from, to) => ({ min: Math.max(lowest, from), max: Math.min(highest, to) });
  const moves = {
    "+": () => within(min + width / 4, max - width / 4),
    "=": () => within(min + width / 4, max - width / 4),
    "-": () => within(min - width / 2, max + width / 2),
    ArrowLeft: () => (min - width / 4 < lowest ? within(lowest, lowest + width) : within(min - width / 4, max - width / 4)),
    ArrowRight: () => (max + width / 4 > highest ? within(highest - width, highest) : within(min + width / 4, max + width / 4)),
    0: () => null,
    Escape: () => null,
  };
  if (moves[event.key]) {
    event.preventDefault();
    zoom(moves[event.key]());
  }
}

// Collects the data that a chart draws: columns and series for uPlot, and marks. Returns null if there is nothing to draw.
function contentOf(chart, runs) {
  const axis = AXES[view.axis];
  const tables = [],
    series = [
      { label: axis.label, value: (plot, value) => (value == null ? NONE : view.axis === "hours" ? fixed(value, 3) : count(value)) },
    ];
  const errors = [],
    events = [];
  const show = chart.format || (chart.digits ? (value) => fixed(value, chart.digits) : significant);
  runs.forEach((run, number) => {
    for (const curve of curvesOf(chart, run)) {
      const color = COLORS[(number + (curve.number || 0)) % COLORS.length];
      const table = curve.table;
      const columns = [table[curve.column], ...(curve.error ? [table[curve.error]] : [])];
      const [x, y, error] = ascending(axis.of(table), columns);
      if (!y.some(isNumber)) continue;
      tables.push([x, y]);
      if (error) errors.push({ x, y, error, color });
      series.push({
        label: runs.length > 1 ? `${run.name}, ${curve.name}` : curve.name,
        stroke: curve.faint ? color + "55" : color,
        width: curve.faint ? 1 : 1.75,
        dash: curve.dashed ? [6, 4] : undefined,
        points: { show: curve.points === true, size: 7, fill: color },
        spanGaps: curve.points === true,
        value: (plot, value) => (value == null ? NONE : show(value)),
      });
    }
    if (chart.wide) {
      for (const event of run.events) {
        const x = axis.of({ step: [event.step], tokens: [event.tokens], seconds: [event.seconds] })[0];
        if (event.kind !== "finish" && event.kind !== "change" && isNumber(x)) events.push({ kind: event.kind, x });
      }
    }
  });
  return tables.length === 0 ? null : { data: aligned(tables), series, marks: { errors, events } };
}

function drawChart(chart, content, holder, width) {
  const axis = AXES[view.axis];
  const tick = { stroke: css("--faint"), grid: { stroke: css("--grid"), width: 1 }, ticks: { stroke: css("--line"), width: 1 } };
  const log = view.logY && chart.log;
  const plot = new uPlot(
    {
      width,
      height: chart.wide ? 360 : 220,
      scales: { x: { time: false, distr: view.logX ? 3 : 1 }, y: { distr: log ? 3 : 1 } },
      axes: [
        {
          ...tick,
          label: axis.label,
          labelSize: 22,
          values: (self, ticks) => ticks.map((value) => (value == null ? "" : view.axis === "hours" ? significant(value) : short(value))),
        },
        {
          ...tick,
          size: 62,
          values: (self, ticks) =>
            ticks.map((value) =>
              value == null ? "" : chart.format ? chart.format(value) : Math.abs(value) >= 1000 ? short(value) : significant(value),
            ),
        },
      ],
      series: content.series,
      cursor: { sync: { key: "dikkat", setSeries: false }, drag: { x: true, y: false } },
      legend: { live: true },
      hooks: {
        draw: [drawMarks],
        setSelect: [
          (self) => {
            if (self.select.width > 4) {
              zoom({ min: self.posToVal(self.select.left, "x"), max: self.posToVal(self.select.left + self.select.width, "x") });
            }
          },
        ],
      },
    },
    content.data,
    holder,
  );
  plot.marks = content.marks;
  plot.over.addEventListener("dblclick", () => zoom(null));
  return plot;
}

function drawCharts(runs, place) {
  for (const plot of view.plots) plot.destroy();
  view.plots = [];
  place.replaceChildren();
  for (const chart of CHARTS) {
    const content = contentOf(chart, runs);
    if (content === null) continue;
    const holder = element("div", { class: "plot" });
    const unit = typeof chart.unit === "function" ? chart.unit(runs) : chart.unit;
    const panel = element(
      "section",
      { class: chart.wide ? "chart wide" : "chart", tabindex: 0, role: "group", "aria-label": describe(chart, runs) },
      element("h3", {}, chart.title, unit ? element("span", { class: "faint" }, `, ${unit}`) : null),
      holder,
    );
    place.append(panel);
    const plot = drawChart(chart, content, holder, Math.max(200, holder.clientWidth));
    plot.chart = chart;
    plot.panel = panel;
    panel.addEventListener("keydown", (event) => onKey(plot, event));
    view.plots.push(plot);
  }
  if (view.range) zoom(view.range);
}

// Puts new values into the existing charts. Draws all charts again if their curves have changed.
function renewCharts(runs, place) {
  const contents = CHARTS.map((chart) => contentOf(chart, runs)).filter((content) => content !== null);
  const same =
    contents.length === view.plots.length && contents.every((content, i) => content.series.length === view.plots[i].series.length);
  if (!same) {
    drawCharts(runs, place);
    return;
  }
  view.plots.forEach((plot, i) => {
    plot.marks = contents[i].marks;
    plot.setData(contents[i].data, view.range === null);
    if (view.range !== null) plot.redraw();
    plot.panel.setAttribute("aria-label", describe(plot.chart, runs));
  });
}

// ---- Tables -----------------------------------------------------------------------------------------------------------------------------

function swatch(number) {
  const spot = element("span", { class: "swatch", "aria-hidden": "true" });
  spot.style.background = COLORS[number % COLORS.length];
  return spot;
}

function summary(data) {
  const { runs } = data;
  const losses = runs.map((run) => lowest(run));
  const least = Math.min(...losses.filter(Boolean).map((best) => best.loss));
  const bits = runs.map((run, i) => bitsPerByte(run, losses[i] && losses[i].loss));
  const leastBits = Math.min(...bits.filter(isNumber));
  // A loss, or a number of bits per byte, is marked as the best only if it is comparable in all runs.
  const comparable = data.comparison === "same";
  const sameText = data.same_text || comparable;
  const rows = runs.map((run, i) => ({
    cells: [
      element("span", {}, swatch(i), run.name),
      element(
        "span",
        { class: run.state === "broken" ? "broken" : "", title: run.problem },
        run.problem ? `${run.state}: ${run.problem}` : run.state,
      ),
      run.max_steps ? `${count(run.last_step)} of ${count(Number(run.max_steps))}` : count(run.last_step),
      losses[i]
        ? element(
            "span",
            { class: runs.length > 1 && comparable && losses[i].loss === least ? "best" : "" },
            plusMinus(losses[i].loss, losses[i].error),
          )
        : NONE,
      losses[i] ? count(losses[i].step) : NONE,
      element("span", { class: runs.length > 1 && sameText && bits[i] === leastBits ? "best" : "" }, fixed(bits[i])),
      count(run.header && run.header.parameters),
      short(last(run.steps.tokens)),
      duration(last(run.steps.seconds)),
      isNumber(median(run.steps.tokens_per_s)) ? count(Math.round(median(run.steps.tokens_per_s))) : NONE,
      bytes(run.bytes),
    ],
  }));
  const parts = [
    table(
      null,
      [
        ["run", "text"],
        ["state", ""],
        ["steps", "number"],
        ["lowest validation loss", "number"],
        ["at step", "number"],
        ["bits per byte", "number"],
        ["parameters", "number"],
        ["tokens", "number"],
        ["time", "number"],
        ["tokens/s", "number"],
        ["on disk", "number"],
      ],
      rows,
      "stacked",
    ),
  ];
  if (data.better) parts.push(element("p", { id: "better" }, data.better.replace(/ \+- /g, " ± ")));
  if (data.remark) parts.push(element("p", { id: "remark", class: "faint" }, data.remark));
  return parts;
}

function differences(data) {
  const heading = data.runs.map((run) => [run.name, "text"]);
  if (data.differences.length === 0) return [element("p", {}, "The configurations are equal.")];
  return [
    table(
      null,
      [["key", ""], ...heading],
      data.differences.map((one) => ({ cells: [element("code", {}, one.key), ...one.values.map((value) => value || NONE)] })),
    ),
  ];
}

function samplesOf(run) {
  const steps = [...new Set(run.samples.map((sample) => sample.step))];
  const shown = element("div", { "aria-live": "polite" });
  const label = element("output");
  const slider = element("input", {
    type: "range",
    min: 0,
    max: steps.length - 1,
    value: steps.length - 1,
    "aria-label": `step of the samples from ${run.name}`,
  });
  const show = () => {
    const step = steps[slider.value];
    label.textContent = `step ${count(step)}`;
    shown.replaceChildren(
      ...run.samples
        .filter((sample) => sample.step === step)
        .map((sample) => element("pre", {}, element("span", { class: "prompt" }, sample.prompt), sample.text)),
    );
  };
  slider.addEventListener("input", show);
  show();
  return [element("div", { class: "controls" }, steps.length > 1 ? slider : null, label), shown];
}

function facts(run) {
  const header = run.header;
  if (!header) return [];
  const by = header.by;
  const rows = [
    ["directory", run.path],
    ["started", by.date],
    ["command", by.command],
    ["machine", `${by.host}: ${by.processor}, ${by.threads} threads`],
    ["program", `dikkat ${by.version} (${by.commit})`],
    ["parameters", count(header.parameters)],
    ["tokenizer", header.tokenizer ? `${header.tokenizer}, ${count(header.vocab_size)} tokens` : NONE],
    [
      "corpus",
      isOwn(run)
        ? NONE
        : `${count(header.train_tokens)} tokens for training, ${count(header.val_tokens)} for validation; sha256 ${header.corpus}`,
    ],
    ["last change", date(run.last_change)],
  ];
  return [
    table(
      null,
      [
        ["", ""],
        ["", "text"],
      ],
      rows.map((cells) => ({ cells })),
    ),
  ];
}

function configuration(run) {
  if (run.config_problem) return [element("p", { class: "broken" }, run.config_problem)];
  if (run.config.length === 0) return [];
  const box = element("input", { type: "checkbox" });
  const place = element("div");
  const show = () =>
    place.replaceChildren(
      table(
        "Marked keys differ from their defaults.",
        [
          ["key", ""],
          ["value", "text"],
        ],
        run.config
          .filter((row) => !box.checked || row.changed)
          .map((row) => ({ cells: [element("code", {}, row.key), row.value], style: row.changed ? "changed" : "" })),
      ),
    );
  box.addEventListener("change", show);
  show();
  return [element("label", {}, box, " only these"), place];
}

// A part that can be opened and closed. `name` identifies it when the page is drawn again with new data.
function fold(name, title, parts, open = false) {
  return parts.length === 0 ? null : element("details", { open, "data-name": name }, element("summary", {}, title), ...parts);
}

// A classifier's table: a row for each label, with how often it got which label, or was right, missed or wrong.
function labelTable({ labels, confusion, several }) {
  const columns = several ? ["right", "missed", "wrong"] : labels;
  return table(
    several
      ? "Texts that have the label and got it, have it and did not get it, and got it without having it."
      : "Texts with the label of the row that got the label of the column.",
    [["label", "text"], ...columns.map((name) => [name, "number"])],
    (several ?? confusion).map((row, i) => ({ cells: [labels[i], ...row.map(count)] })),
  );
}

function runSection(run, number) {
  const events = run.events.map((event) => ({ cells: [count(event.step), date(event.time), event.kind, event.text] }));
  const files = run.checkpoints.map((one) => ({
    cells: [count(one.step), one.file, bytes(one.bytes), one.best ? element("span", { class: "best" }, "lowest validation loss") : ""],
  }));
  return element(
    "section",
    { "aria-label": run.name },
    element("h3", {}, swatch(number), run.name),
    fold("samples", "Samples", run.samples.length ? samplesOf(run) : [], true),
    fold(
      "labels",
      run.labels ? `Labels at step ${count(run.labels.step)}, the best evaluation` : "",
      run.labels ? [labelTable(run.labels.table)] : [],
      true,
    ),
    fold("origin", "Origin", facts(run)),
    fold("configuration", `Configuration (${run.config.filter((row) => row.changed).length} keys set)`, configuration(run)),
    fold(
      "checkpoints",
      `Checkpoints (${files.length})`,
      files.length
        ? [
            table(
              null,
              [
                ["step", "number"],
                ["file", ""],
                ["size", "number"],
                ["", ""],
              ],
              files,
            ),
          ]
        : [],
    ),
    fold(
      "events",
      `Events (${events.length})`,
      events.length
        ? [
            table(
              null,
              [
                ["step", "number"],
                ["when", ""],
                ["what", ""],
                ["", "text"],
              ],
              events,
            ),
          ]
        : [],
    ),
  );
}

// ---- The page ---------------------------------------------------------------------------------------------------------------------------

function choice(label, names, value, act) {
  const select = element(
    "select",
    { onchange: () => act(select.value) },
    ...names.map((name) => element("option", { selected: name === value }, name)),
  );
  return element("label", {}, `${label} `, select);
}

function toggle(label, value, act) {
  const box = element("input", { type: "checkbox", onchange: () => act(box.checked) });
  box.checked = value;
  return element("label", {}, box, ` ${label}`);
}

// The data of a run that is shown below the curves. That part is drawn again only when they have changed, so that reading is not disturbed.
const detailsOf = (run) => JSON.stringify([run.header, run.samples, run.config, run.checkpoints, run.events]);

function drawDetails(run, number, old) {
  const made = runSection(run, number);
  made.dataset.content = detailsOf(run);
  if (old) {
    const open = new Set([...old.querySelectorAll("details[open]")].map((one) => one.dataset.name));
    for (const one of made.querySelectorAll("details")) one.open = open.has(one.dataset.name);
  }
  return made;
}

function drawHead(data) {
  const { runs } = data;
  document.title = runs.length === 1 ? `${runs[0].name} – dikkat` : `${runs.length} runs – dikkat`;
  document.getElementById("title").textContent = runs.length === 1 ? runs[0].name : runs.map((run) => run.name).join(", ");
  document.getElementById("made").textContent = data.live ? `live, ${date(data.made)}` : date(data.made);
  document.getElementById("summary").replaceChildren(...summary(data));
}

function draw(data) {
  const { runs } = data;
  const charts = element("div", { class: "charts", id: "charts" });
  const again = (change) => (value) => {
    change(value);
    drawCharts(data.runs, charts);
  };
  document.getElementById("main").replaceChildren(
    element("section", { "aria-label": "Runs", id: "summary" }),
    ...data.tables.map(({ title, columns, rows }) =>
      element(
        "section",
        {},
        element("h2", {}, title),
        table(
          null,
          columns.map((name, i) => [name, i === 0 ? "text" : "number"]),
          rows.map((cells) => ({ cells })),
        ),
      ),
    ),
    element("h2", {}, "Curves"),
    element(
      "div",
      { class: "controls" },
      choice(
        "Against",
        Object.keys(AXES),
        view.axis,
        again((value) => {
          view.axis = value;
          view.range = null;
        }),
      ),
      toggle(
        "log loss, norm and time",
        view.logY,
        again((value) => {
          view.logY = value;
        }),
      ),
      toggle(
        "log x",
        view.logX,
        again((value) => {
          view.logX = value;
          view.range = null;
        }),
      ),
      element("button", { type: "button", onclick: () => zoom(null) }, "Show all"),
      element("span", { class: "faint" }, "Drag to zoom, double-click to show all. Keys: + − ← → 0"),
    ),
    charts,
    ...(runs.length > 1 ? [element("section", {}, element("h2", {}, "Differences between the configurations"), ...differences(data))] : []),
    element("h2", {}, runs.length > 1 ? "Each run" : "The run"),
    element("div", { id: "details" }, ...runs.map((run, number) => drawDetails(run, number))),
  );
  drawHead(data);
  drawCharts(runs, charts);
}

// Updates the page with new data of the same runs.
function renew(data) {
  drawHead(data);
  renewCharts(data.runs, document.getElementById("charts"));
  const details = document.getElementById("details");
  data.runs.forEach((run, number) => {
    const old = details.children[number];
    if (old.dataset.content !== detailsOf(run)) old.replaceWith(drawDetails(run, number, old));
  });
}

const data = JSON.parse(document.getElementById("data").textContent);
draw(data);

onTheme(() => draw(data));
addEventListener("resize", () => {
  for (const plot of view.plots) plot.setSize({ width: Math.max(200, plot.root.parentElement.clientWidth), height: plot.height });
});

// With `dikkat watch`, the server sends an event when there is new data.
if (data.live) {
  const events = new EventSource("events");
  let busy = false,
    waiting = false;
  const look = async () => {
    waiting = true;
    if (busy) return;
    busy = true;
    while (waiting) {
      waiting = false;
      try {
        Object.assign(data, await (await fetch("data.json")).json());
        renew(data);
      } catch {
        // The server has ended; the "error" event reports it.
      }
    }
    busy = false;
  };
  events.addEventListener("message", look);
  events.addEventListener("error", () => {
    document.getElementById("made").textContent = "the server has ended or cannot be reached; this is its last data";
  });
  events.addEventListener("open", () => {
    document.getElementById("made").textContent = `live, ${date(data.made)}`;
  });
}
