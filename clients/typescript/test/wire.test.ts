import assert from "node:assert/strict";
import { test } from "node:test";
import { ticketShape, publicPlayerShape, type Ticket } from "../src/api.js";
import { camelCase, decode, encode, snakeCase, type Shape } from "../src/wire.js";

/** A generator of numbers that only depend on the seed (mulberry32). */
function random(seed: number): () => number {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

const dataNames = ["a_b", "aB", "__proto__", "constructor", "toString", "us-east-1", "", "*", "hasOwnProperty"];

/** Returns JSON of a shape, as a server sends it. */
function sample(shape: Shape | undefined, next: () => number, depth = 0): unknown {
  const pick = <T>(all: readonly T[]): T => all[Math.floor(next() * all.length)] as T;
  if (shape === "date") {
    return new Date(Math.floor(next() * 4e12)).toISOString();
  }
  if (next() < 0.1) {
    return null;
  }
  if (shape === undefined) {
    return pick<unknown>([1, "a_b", true, { a_b: { c_d: 1 } }, ["x_y"], JSON.parse('{"__proto__":{"a_b":1}}')]);
  }
  if (depth < 6 && next() < 0.2) {
    return Array.from({ length: 3 }, () => sample(shape, next, depth + 1));
  }
  const each = shape["*"];
  const names = each === undefined ? [...Object.keys(shape).map(snakeCase), "plain_member", "constructor", "x"] : dataNames;
  return Object.fromEntries(names.filter(() => next() < 0.7).map((n) => [n, sample(each ?? (Object.hasOwn(shape, camelCase(n)) ? shape[camelCase(n)] : undefined), next, depth + 1)]));
}

test("what is decoded encodes to the same JSON", () => {
  const inner: Shape = { createdAt: "date", deepOne: { endedAt: "date" } };
  const shape: Shape = { createdAt: "date", list: inner, byName: { "*": inner }, times: { "*": "date" } };
  for (let seed = 1; seed <= 500; seed++) {
    const wire = sample(shape, random(seed));
    const text = JSON.stringify(wire);
    assert.equal(JSON.stringify(encode(shape, decode(shape, wire))), text, `seed ${seed}`);
    assert.equal(JSON.stringify(wire), text, `seed ${seed}: decode has changed its argument`);
  }
});

test("names convert and convert back", () => {
  for (const name of ["a", "ticket_id", "access_token_expires_in", "ip"]) {
    assert.equal(snakeCase(camelCase(name)), name);
  }
  assert.equal(camelCase("max_wait_seconds"), "maxWaitSeconds");
});

test("a ticket has dates, and the names of data stay", () => {
  const t = decode(ticketShape, {
    ticket_id: "t-1",
    created_at: "2030-01-01T12:00:00.5Z",
    acceptance: { deadline: "2030-01-01T12:00:20Z", mine: null },
    players: [{ player_id: "p-1", accepted: null }],
  }) as Ticket;
  assert.equal(t.createdAt.getTime(), Date.UTC(2030, 0, 1, 12, 0, 0, 500));
  assert.ok(t.acceptance?.deadline instanceof Date);
  assert.equal(t.players[0]?.playerId, "p-1");
  assert.deepEqual(decode(publicPlayerShape, { player_id: "p", data: { high_score: { value: { a_b: 1 }, version: 1 } } }), {
    playerId: "p",
    data: { high_score: { value: { a_b: 1 }, version: 1 } },
  });
});

test("a member __proto__ changes no prototype", () => {
  const out = decode({ data: { "*": {} } }, JSON.parse('{"data":{"__proto__":{"polluted":1}},"__proto__":{"polluted":1}}'));
  assert.equal((out as { polluted?: number }).polluted, undefined);
  assert.equal(({} as { polluted?: number }).polluted, undefined);
});
