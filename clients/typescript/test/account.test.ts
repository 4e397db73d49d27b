import assert from "node:assert/strict";
import { test } from "node:test";
import { Account, type LoginState } from "../src/account.js";
import { LoggedOutError, NetworkError, ProblemError } from "../src/errors.js";
import { Http } from "../src/http.js";
import { MemoryTokenStore, type Tokens, type TokenStore } from "../src/store.js";
import { json, login, problem, server, stored } from "./helpers.js";

function account(fetcher: typeof fetch, store: TokenStore, now: () => number = () => 0): { account: Account; states: LoginState[] } {
  const states: LoginState[] = [];
  const http = new Http("http://muster.test/player/v1", fetcher, 10_000, () => 0, now);
  return { account: new Account(http, store, now, (s) => states.push(s)), states };
}

function storeOf(tokens: Tokens = stored): MemoryTokenStore {
  const store = new MemoryTokenStore();
  store.save(tokens);
  return store;
}

test("a token that lasts is used without a request", async () => {
  const s = server(() => login(1));
  const { account: a } = account(s.fetch, storeOf());
  assert.equal(await a.access(), "access-0");
  assert.equal(s.got.length, 0);
});

test("many calls share one refresh, which is saved before it is used", async () => {
  const store = storeOf();
  const order: string[] = [];
  const save = store.save.bind(store);
  store.save = (t) => {
    order.push(`save ${t.refreshToken}`);
    save(t);
  };
  const s = server((r) => {
    if (r.path === "/auth/refresh") {
      order.push("refresh");
      return login(1);
    }
    order.push(`use ${r.headers.get("Authorization")}`);
    return json(200, {});
  });
  const { account: a } = account(s.fetch, store, () => 800_000); // past renewAt
  await Promise.all(Array.from({ length: 5 }, () => a.send({ method: "GET", path: "/players/me" })));
  assert.deepEqual(order.slice(0, 2), ["refresh", "save refresh-1"]);
  assert.deepEqual(order.slice(2), Array(5).fill("use Bearer access-1"));
  assert.equal(store.load()?.guestSecret, "secret-0");
});

test("a refused token is renewed once", async () => {
  const s = server((r) => (r.path === "/auth/refresh" ? login(1) : r.headers.get("Authorization") === "Bearer access-1" ? json(200, { a: 1 }) : problem(401, "token-expired")));
  const { account: a } = account(s.fetch, storeOf());
  assert.deepEqual((await a.send({ method: "POST", path: "/x" })).body, { a: 1 });
  const never = server((r) => (r.path === "/auth/refresh" ? login(1) : problem(401, "token-invalid")));
  await assert.rejects(account(never.fetch, storeOf()).account.send({ method: "GET", path: "/x" }), ProblemError);
  assert.equal(never.got.length, 3);
});

test("a refused token is replaced by another client's, and that by a new one", async () => {
  const store = storeOf();
  const s = server((r) => (r.path === "/auth/refresh" ? login(2) : r.headers.get("Authorization") === "Bearer access-2" ? json(200, { a: 1 }) : problem(401, "token-expired")));
  const { account: a } = account(s.fetch, store);
  await a.load();
  store.save({ ...stored, accessToken: "access-1", refreshToken: "refresh-1" }); // by another client; it has ended since
  assert.deepEqual((await a.send({ method: "GET", path: "/x" })).body, { a: 1 });
  assert.deepEqual(s.got.map((r) => r.headers.get("Authorization") ?? r.body), ["Bearer access-0", "Bearer access-1", { refresh_token: "refresh-1" }, "Bearer access-2"]);
});

test("a refused refresh logs the guest in", async () => {
  const s = server((r) => (r.path === "/auth/refresh" ? problem(401, "refresh-reused") : login(2)));
  const { account: a } = account(s.fetch, storeOf(), () => 800_000);
  assert.equal(await a.access(), "access-2");
  assert.deepEqual(s.got.map((r) => r.path), ["/auth/refresh", "/auth/guest/login"]);
  assert.deepEqual(s.got[1]?.body, { player_id: "p-1", guest_secret: "secret-0" });
});

test("without a secret a refused refresh is a logout", async () => {
  const s = server(() => problem(401, "refresh-invalid"));
  const { guestSecret: _, ...linked } = stored;
  const store = storeOf(linked);
  const { account: a, states } = account(s.fetch, store, () => 800_000);
  await assert.rejects(a.access(), LoggedOutError);
  assert.equal(a.state.loggedIn, false);
  assert.equal(states.at(-1)?.loggedIn, false);
  assert.equal(store.load()?.refreshToken, undefined);
  await assert.rejects(a.access(), LoggedOutError);
  assert.equal(s.got.length, 1, "a logout is final");
});

test("while the server is away a token that is still valid is used", async () => {
  const s = server(() => {
    throw new TypeError("fetch failed");
  });
  assert.equal(await account(s.fetch, storeOf(), () => 800_000).account.access(), "access-0");
  await assert.rejects(account(s.fetch, storeOf(), () => 900_000).account.access(), NetworkError);
});

test("what another tab has renewed is taken over", async () => {
  const store = storeOf();
  const s = server(() => problem(401, "refresh-reused"));
  const { account: a } = account(s.fetch, store, () => 800_000);
  await a.load();
  store.save({ ...stored, accessToken: "access-9", refreshToken: "refresh-9", renewAt: 1e6, expiresAt: 2e6 });
  assert.equal(await a.access(), "access-9");
  assert.equal(s.got.length, 0);
});

test("a caller who gives up does not end the refresh of others", async () => {
  let answer = (_: Response): void => undefined;
  const s = server(() => new Promise<Response>((resolve) => (answer = resolve)));
  const { account: a } = account(s.fetch, storeOf(), () => 800_000);
  const impatient = new AbortController();
  const [first, second] = [a.access(undefined, impatient.signal), a.access()];
  first.catch(() => undefined);
  while (s.got.length === 0) {
    await new Promise((resolve) => setImmediate(resolve));
  }
  impatient.abort(new Error("enough"));
  await assert.rejects(first, /enough/);
  answer(login(1));
  assert.equal(await second, "access-1");
  assert.equal(s.got.length, 1);
});

test("a login that cannot be saved is an error once, and what was used up is not used again", async () => {
  const store = storeOf();
  store.save = () => {
    throw new Error("the disk is full");
  };
  const s = server(() => login(1));
  const { account: a } = account(s.fetch, store, () => 800_000);
  await assert.rejects(a.access(), /disk is full/);
  assert.equal(await a.access(), "access-1");
  assert.equal(store.load()?.refreshToken, "refresh-0");
  await assert.rejects(a.access("access-1"), /disk is full/);
  assert.deepEqual(s.got.map((r) => r.body), [{ refresh_token: "refresh-0" }, { refresh_token: "refresh-1" }]);
});
