import assert from "node:assert/strict";
import { test } from "node:test";
import { NetworkError, ProblemError, problemOf, retryAfterMs, TimeoutError } from "../src/errors.js";
import { backoff, retryDelay } from "../src/retry.js";

const high = (): number => 0.999_999;
const low = (): number => 0;
const refused = (status: number, after?: string): ProblemError => problemOf(status, "", after ?? null, 0);

test("pauses are random, and grow up to a limit", () => {
  let before = 0;
  for (let failures = 1; failures < 60; failures++) {
    const most = backoff(failures, high);
    assert.equal(backoff(failures, low), 0);
    assert.ok(most >= before && most <= 10_000, `${failures}: ${most}`);
    before = most;
  }
  assert.ok(backoff(1, high) <= 250);
  assert.ok(before > 9_999);
});

test("only requests without another effect are repeated", () => {
  for (const error of [new NetworkError("x"), new TimeoutError("x"), refused(429), refused(502), refused(503), refused(504)]) {
    assert.equal(retryDelay(error, false, 0, low), undefined);
    assert.equal(retryDelay(error, true, 0, low), 0);
    assert.equal(retryDelay(error, true, 3, low), undefined, "bounded");
  }
});

test("what will not pass is not repeated", () => {
  for (const error of [refused(400), refused(401), refused(404), refused(409), refused(500), new Error("x"), new DOMException("x", "AbortError")]) {
    assert.equal(retryDelay(error, true, 0, low), undefined, String(error));
  }
});

test("Retry-After is honored, up to a limit", () => {
  assert.equal(retryDelay(refused(429, "3"), true, 0, low), 3000);
  assert.ok((retryDelay(refused(503, "3"), true, 0, high) ?? 0) > 3000, "with jitter on top");
  assert.equal(retryDelay(refused(429, "3600"), true, 0, low), undefined);
  assert.equal(retryAfterMs("Thu, 01 Jan 1970 00:00:07 GMT", 2000), 5000);
  assert.equal(retryAfterMs("Thu, 01 Jan 1970 00:00:01 GMT", 2000), 0);
  assert.equal(retryAfterMs("soon", 0), undefined);
  assert.equal(retryAfterMs("", 0), undefined);
  assert.equal(retryAfterMs(null, 0), undefined);
});
