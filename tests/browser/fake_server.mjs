// A server that speaks as much of OpenAI's protocol as the chat page needs, and does what a test plans. It serves the page with the headers
// that the program sends.
import { createServer } from "node:http";

// The page and its headers, as `dikkat serve` sends them. Headers about the connection are left out.
export async function pageOf(url) {
  const response = await fetch(url);
  const headers = {};
  for (const [name, value] of response.headers)
    if (!["connection", "content-length", "date", "keep-alive", "transfer-encoding"].includes(name)) headers[name] = value;
  return { headers, text: await response.text() };
}

export class FakeServer {
  // plan(request): called for each POST with {path, body, headers}. Returns what to do:
  //   {status, error: {...}}                                refuses
  //   {pieces: [...], pause, finish, seed, usage, rate, cut}  streams pieces: texts, or deltas; `pause` ms between them; `rate` tokens per
  //                                                         second are reported;
  //                                                         `cut` drops the connection at the end
  constructor({ headers, text }, { config = {}, models = [{ id: "fake", context_length: 1000 }], key = "" } = {}) {
    Object.assign(this, {
      headers,
      text,
      config: { feedback: true, chat: true, ...config },
      models,
      key,
      requests: [],
      feedback: [],
      plan: () => ({ pieces: ["Hello", " world"] }),
      open: new Set(),
    });
  }
  async start(port = 0) {
    this.server = createServer((request, response) => this.answer(request, response));
    await new Promise((done) => this.server.listen(port, "127.0.0.1", done));
    this.port = this.server.address().port;
    this.url = `http://127.0.0.1:${this.port}/`;
    return this;
  }
  async stop() {
    this.server.closeAllConnections();
    await new Promise((done) => this.server.close(done));
  }
  json(response, status, body) {
    response.writeHead(status, { "Content-Type": "application/json", Connection: "close" }).end(JSON.stringify(body));
  }
  async answer(request, response) {
    if (request.method === "GET" && request.url === "/") {
      response.writeHead(200, { ...this.headers, Connection: "close" });
      response.end(
        this.text.replace(
          /(<script type="application\/json" id="config">).*?(<\/script>)/,
          (all, before, after) => before + JSON.stringify(this.config) + after,
        ),
      );
      return;
    }
    if (this.key && request.headers.authorization !== `Bearer ${this.key}`) {
      this.json(response, 401, { error: { message: "expected a header Authorization: Bearer KEY", code: "invalid_api_key" } });
      return;
    }
    if (request.method === "GET" && request.url === "/v1/models") {
      this.json(response, 200, { object: "list", data: this.models });
      return;
    }
    if (request.method !== "POST") {
      this.json(response, 404, { error: { message: `there is nothing at ${request.url}` } });
      return;
    }
    let text = "";
    for await (const some of request) text += some;
    const asked = { path: request.url, body: JSON.parse(text), headers: request.headers };
    if (request.url === "/feedback") {
      this.feedback.push(asked.body);
      this.json(response, 200, { status: "ok" });
      return;
    }
    this.requests.push(asked);
    await this.stream(asked, this.plan(asked), response);
  }
  async stream(asked, plan, response) {
    if (plan.status) {
      this.json(response, plan.status, { error: { message: "refused", ...plan.error } });
      return;
    }
    const isChat = asked.path === "/v1/chat/completions";
    let gone = false;
    response.on("close", () => {
      gone = true;
    });
    response.writeHead(200, { "Content-Type": "text/event-stream", Connection: "close" });
    const send = (object) => response.write(`data: ${JSON.stringify({ seed: plan.seed ?? 7, ...object })}\n\n`);
    if (isChat) send({ choices: [{ index: 0, delta: { role: "assistant", content: "" }, finish_reason: null }] });
    const timings = (count) => (plan.rate ? { timings: { predicted_n: count, predicted_per_second: plan.rate } } : {});
    let sent = 0;
    for (const piece of plan.pieces) {
      if (gone) return;
      const delta = typeof piece === "string" ? { content: piece } : piece;
      ++sent;
      send({
        choices: [isChat ? { index: 0, delta, finish_reason: null } : { index: 0, text: delta.content, finish_reason: null }],
        ...(asked.body.timings_per_token ? timings(sent) : {}),
      });
      if (plan.pause) await new Promise((done) => setTimeout(done, plan.pause));
    }
    this.finished = !gone;
    if (plan.cut) {
      await new Promise((done) => setTimeout(done, 300)); // so that the pieces arrive
      response.destroy();
      return;
    }
    if (plan.failure) {
      send({ error: { message: plan.failure } });
      response.end();
      return;
    }
    send({
      choices: [
        isChat
          ? { index: 0, delta: {}, finish_reason: plan.finish ?? "stop" }
          : { index: 0, text: "", finish_reason: plan.finish ?? "stop" },
      ],
    });
    send({
      choices: [],
      usage: plan.usage ?? { prompt_tokens: 20, completion_tokens: plan.pieces.length, total_tokens: 20 + plan.pieces.length },
      ...timings(plan.pieces.length),
    });
    response.end("data: [DONE]\n\n");
  }
}
