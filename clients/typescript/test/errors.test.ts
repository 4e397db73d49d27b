import assert from "node:assert/strict";
import { test } from "node:test";
import { inspect } from "node:util";
import { MusterError, ProblemError, problemOf } from "../src/errors.js";

const whole = {
  type: "urn:muster:problem:identity-in-use",
  title: "identity in use",
  status: 409,
  detail: "/token: leads to another player",
  instance: "urn:uuid:1",
  code: "identity-in-use",
  retry_after_seconds: 7,
  until: "2030-01-01T00:00:00Z",
  ticket_id: "t-1",
  conflict_token: "very-secret",
  new_member: 5,
};

test("a problem is an error with its members", () => {
  const e = problemOf(409, JSON.stringify(whole), "99", 0);
  assert.ok(e instanceof ProblemError && e instanceof MusterError && e instanceof Error);
  assert.equal(e.name, "ProblemError");
  assert.equal(e.message, "identity-in-use: /token: leads to another player");
  assert.equal(e.status, 409);
  assert.equal(e.code, "identity-in-use");
  assert.equal(e.title, "identity in use");
  assert.equal(e.instance, "urn:uuid:1");
  assert.equal(e.member, "/token");
  assert.equal(e.retryAfterMs, 7000);
  assert.equal(e.ticketId, "t-1");
  assert.equal(e.until?.toISOString(), "2030-01-01T00:00:00.000Z");
  assert.equal(e.conflictToken, "very-secret");
  assert.deepEqual(e.extensions, { new_member: 5 });
});

test("the secret of a problem is not in what is logged", () => {
  const e = problemOf(409, JSON.stringify(whole), null, 0);
  for (const text of [inspect(e), JSON.stringify(e), String(e), e.stack ?? "", JSON.stringify({ ...e })]) {
    assert.ok(!text.includes("very-secret"), text);
  }
});

test("an answer of a proxy is a problem too", () => {
  for (const body of ["<html>502</html>", "", "null", "[]", '"text"', "{}"]) {
    const e = problemOf(502, body, "2", 0);
    assert.equal(e.status, 502);
    assert.equal(e.code, "http-502");
    assert.equal(e.retryAfterMs, 2000);
    assert.equal(e.member, undefined);
  }
});

test("members of the wrong type are left out", () => {
  const e = problemOf(400, '{"code":"x","detail":5,"ticket_id":{},"retry_after_seconds":"7"}', null, 0);
  assert.deepEqual([e.code, e.detail, e.ticketId, e.retryAfterMs], ["x", "", undefined, undefined]);
});
