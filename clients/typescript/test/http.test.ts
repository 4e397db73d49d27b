import assert from "node:assert/strict";
import { test } from "node:test";
import { NetworkError, ProblemError, TimeoutError, UsageError } from "../src/errors.js";
import { Http, path, query } from "../src/http.js";
import { json, problem, server } from "./helpers.js";

const http = (fetcher: typeof fetch, timeoutMs = 10_000): Http => new Http("http://muster.test/player/v1", fetcher, timeoutMs, () => 0, () => 0);

test("a GET is repeated, a POST is not", async () => {
  const down = server((_, n) => (n < 3 ? problem(503, "busy") : json(200, { ok: true })));
  assert.deepEqual((await http(down.fetch).send({ method: "GET", path: "/x" })).body, { ok: true });
  assert.equal(down.got.length, 3);
  const post = server(() => problem(503, "busy"));
  await assert.rejects(http(post.fetch).send({ method: "POST", path: "/x", body: {} }), ProblemError);
  assert.equal(post.got.length, 1);
});

test("repeating ends", async () => {
  const down = server(() => {
    throw new TypeError("fetch failed");
  });
  await assert.rejects(http(down.fetch).send({ method: "GET", path: "/x?secret" }), (e) => e instanceof NetworkError && e.cause instanceof TypeError && !e.message.includes("secret"));
  assert.equal(down.got.length, 4);
});

test("a DELETE that an earlier attempt has done is done", async () => {
  const s = server((_, n) => (n === 1 ? problem(502, "x") : problem(404, "not-found")));
  assert.equal((await http(s.fetch).send({ method: "DELETE", path: "/x" })).status, 204);
  const gone = server(() => problem(404, "not-found"));
  await assert.rejects(http(gone.fetch).send({ method: "DELETE", path: "/x" }), ProblemError);
});

test("an answer that does not come is a timeout", async () => {
  const silent = server(() => new Promise<Response>(() => undefined));
  const fetcher: typeof fetch = (input, init) =>
    Promise.race([silent.fetch(input, init), new Promise<Response>((_, reject) => init?.signal?.addEventListener("abort", () => reject(init.signal?.reason)))]);
  await assert.rejects(http(fetcher, 1).send({ method: "POST", path: "/x" }), TimeoutError);
});

test("the signal's reason is the error", async () => {
  const s = server(() => json(200, {}));
  const reason = new Error("enough");
  await assert.rejects(http(s.fetch).send({ method: "GET", path: "/x", signal: AbortSignal.abort(reason) }), reason);
});

test("an answer that is not JSON is refused, and one without end is not read", async () => {
  const page = server(() => new Response("<html>"));
  await assert.rejects(http(page.fetch).send({ method: "POST", path: "/x" }), NetworkError);
  let sent = 0;
  const endless = server(() => new Response(new ReadableStream({ pull: (c) => c.enqueue(new Uint8Array((sent++, 1 << 20))) })));
  await assert.rejects(http(endless.fetch).send({ method: "POST", path: "/x" }), NetworkError);
  assert.ok(sent < 20, `${sent} MiB were read`);
});

test("names in paths are escaped, and cannot leave them", () => {
  assert.equal(path`/players/${"a/b?c#d"}/data/${"ü"}`, "/players/a%2Fb%3Fc%23d/data/%C3%BC");
  for (const name of ["..", ".", ""]) {
    assert.throws(() => path`/players/${name}`, UsageError);
  }
  assert.equal(query({ a: 1, b: undefined, c: "x y", d: false }), "?a=1&c=x+y&d=false");
  assert.equal(query({ a: undefined }), "");
});
