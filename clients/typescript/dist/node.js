// clients/typescript/src/abort.ts
function linked(...signals) {
  const controller = new AbortController();
  const ends = [];
  for (const signal of signals) {
    if (signal?.aborted) {
      controller.abort(signal.reason);
    }
    const abort = () => controller.abort(signal?.reason);
    signal?.addEventListener("abort", abort);
    ends.push(() => signal?.removeEventListener("abort", abort));
  }
  return [controller, () => ends.forEach((end) => end())];
}
function sleep(ms, signal) {
  return abortable(
    (done) => {
      const timer = setTimeout(done, ms);
      return () => clearTimeout(timer);
    },
    signal
  );
}
function abortable(start, signal) {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(signal.reason);
      return;
    }
    const abort = () => {
      end();
      reject(signal?.reason);
    };
    const end = start(() => {
      end();
      signal?.removeEventListener("abort", abort);
      resolve();
    });
    signal?.addEventListener("abort", abort, { once: true });
  });
}
function unless(signal, work) {
  if (!signal) {
    return work;
  }
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) {
      abort();
    }
    signal.addEventListener("abort", abort);
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}
function onLeave(handler) {
  if (typeof document === "undefined") {
    return () => void 0;
  }
  addEventListener("pagehide", handler);
  return () => removeEventListener("pagehide", handler);
}

// clients/typescript/src/errors.ts
var MusterError = class extends Error {
  get name() {
    return this.constructor.name;
  }
};
var ProblemError = class extends MusterError {
  get name() {
    return "ProblemError";
  }
  /** The HTTP status. */
  status;
  /** The kind of problem, for programs, such as `ticket-active`. */
  code;
  /** The kind of problem in words. */
  title;
  /** What is wrong with this request. */
  detail;
  /** The request, as the server's log names it. */
  instance;
  /** The member of the request that is wrong, as a JSON pointer such as `/matchmaker`. */
  member;
  /** How long to wait before another attempt, in milliseconds. */
  retryAfterMs;
  /** Of `ticket-active`: the ticket that is in the way. */
  ticketId;
  /** Of `banned`: when the ban ends. */
  until;
  /** Members of the problem that this class does not name. */
  extensions;
  /** @internal */
  constructor(status, problem, retryAfterMs2) {
    const text = (name) => typeof problem[name] === "string" ? problem[name] : "";
    const code3 = text("code") || `http-${status}`;
    const detail = text("detail");
    super(detail ? `${code3}: ${detail}` : code3);
    this.status = status;
    this.code = code3;
    this.title = text("title");
    this.detail = detail;
    this.instance = text("instance");
    this.member = /^(\/[^\s:]*):/.exec(detail)?.[1];
    const seconds = problem["retry_after_seconds"];
    this.retryAfterMs = typeof seconds === "number" ? seconds * 1e3 : retryAfterMs2;
    this.ticketId = text("ticket_id") || void 0;
    this.until = text("until") ? new Date(text("until")) : void 0;
    this.extensions = Object.fromEntries(Object.entries(problem).filter(([name]) => !named.has(name)));
    Object.defineProperty(this, "conflictToken", { value: text("conflict_token") || void 0 });
  }
};
var named = new Set(
  "type title status detail instance code retry_after_seconds until ticket_id conflict_token".split(" ")
);
var NetworkError = class extends MusterError {
  get name() {
    return "NetworkError";
  }
};
var TimeoutError = class extends MusterError {
  get name() {
    return "TimeoutError";
  }
};
var ClosedError = class extends MusterError {
  get name() {
    return "ClosedError";
  }
};
var LoggedOutError = class extends MusterError {
  get name() {
    return "LoggedOutError";
  }
};
var UsageError = class extends MusterError {
  get name() {
    return "UsageError";
  }
};
var MatchError = class extends MusterError {
  get name() {
    return "MatchError";
  }
  /** The ticket as it ended. */
  ticket;
  /** @internal */
  constructor(ticket) {
    super(`ticket ${ticket.ticketId} is ${ticket.state}${ticket.reason ? `: ${ticket.reason}` : ""}`);
    this.ticket = ticket;
  }
};
var PlacementError = class extends MusterError {
  get name() {
    return "PlacementError";
  }
  /** The placement as it ended. */
  placement;
  /** @internal */
  constructor(placement) {
    super(`placement ${placement.placementId} is ${placement.state}${placement.reason ? `: ${placement.reason}` : ""}`);
    this.placement = placement;
  }
};
function problemOf(status, body, retryAfter, now) {
  let problem;
  try {
    problem = JSON.parse(body);
  } catch {
  }
  const members = typeof problem === "object" && problem !== null && "code" in problem ? problem : {};
  return new ProblemError(status, members, retryAfterMs(retryAfter, now));
}
function retryAfterMs(header, now) {
  if (header === null || header.trim() === "") {
    return void 0;
  }
  const seconds = Number(header);
  const ms = Number.isNaN(seconds) ? Date.parse(header) - now : seconds * 1e3;
  return Number.isNaN(ms) ? void 0 : Math.max(0, ms);
}

// clients/typescript/src/retry.ts
var firstPause = 250;
var longestPause = 1e4;
var patience = 1e4;
var mostRetries = 3;
function backoff(failures, random) {
  return random() * Math.min(longestPause, firstPause * 2 ** Math.max(0, failures - 1));
}
function isTemporary(error) {
  if (error instanceof ProblemError) {
    return error.status === 429 || error.status >= 502 && error.status <= 504;
  }
  return error instanceof NetworkError || error instanceof TimeoutError;
}
function retryDelay(error, idempotent, retries, random) {
  if (!idempotent || retries >= mostRetries || !isTemporary(error)) {
    return void 0;
  }
  const asked = error instanceof ProblemError ? error.retryAfterMs ?? 0 : 0;
  return asked > patience ? void 0 : asked + backoff(retries + 1, random);
}

// clients/typescript/src/http.ts
var longestAnswer = 4 << 20;
var Http = class {
  base;
  #fetch;
  #timeoutMs;
  #random;
  #now;
  constructor(base, fetcher, timeoutMs, random, now) {
    this.base = base;
    this.#fetch = fetcher;
    this.#timeoutMs = timeoutMs;
    this.#random = random;
    this.#now = now;
  }
  async send(r) {
    const idempotent = r.idempotent ?? /^(GET|PUT|DELETE)$/.test(r.method);
    for (let retries = 0; ; retries++) {
      try {
        return await this.#once(r);
      } catch (error) {
        if (retries > 0 && r.method === "DELETE" && error instanceof ProblemError && error.status === 404) {
          return { status: 204, headers: new Headers(), body: void 0 };
        }
        const delay = retryDelay(error, idempotent, retries, this.#random);
        if (delay === void 0 || r.signal?.aborted) {
          throw error;
        }
        await sleep(delay, r.signal);
      }
    }
  }
  async #once(r) {
    const [controller, end] = linked(r.signal);
    const timer = setTimeout(
      () => controller.abort(new TimeoutError(`${r.method} ${r.path.split("?")[0]}: no answer in time`)),
      this.#timeoutMs + (r.waitMs ?? 0)
    );
    try {
      const headers = { ...r.headers };
      const init = {
        method: r.method,
        headers,
        signal: controller.signal,
        credentials: "omit",
        cache: "no-store",
        redirect: "error",
        keepalive: r.keepalive ?? false
      };
      if (r.body !== void 0) {
        headers["Content-Type"] = "application/json";
        init.body = JSON.stringify(r.body);
      }
      const fetcher = this.#fetch;
      const response = await fetcher(this.base + r.path, init);
      return this.#answer(r, response, await textOf(response));
    } catch (error) {
      if (controller.signal.aborted) {
        throw controller.signal.reason;
      }
      if (error instanceof TypeError) {
        throw new NetworkError(`${r.method} ${r.path.split("?")[0]}: the server was not reached`, { cause: error });
      }
      throw error;
    } finally {
      clearTimeout(timer);
      end();
    }
  }
  #answer(r, response, text) {
    if (response.status >= 400) {
      throw problemOf(response.status, text, response.headers.get("Retry-After"), this.#now());
    }
    try {
      return { status: response.status, headers: response.headers, body: text === "" ? void 0 : JSON.parse(text) };
    } catch {
      throw new NetworkError(`${r.method} ${r.path.split("?")[0]}: the answer is not JSON`);
    }
  }
};
async function textOf(response) {
  const reader = response.body?.getReader();
  const decoder = new TextDecoder();
  let text = "";
  for (let size = 0; reader; ) {
    const { done, value } = await reader.read();
    if (done) {
      break;
    }
    size += value.length;
    if (size > longestAnswer) {
      await reader.cancel();
      throw new NetworkError("the answer is too long");
    }
    text += decoder.decode(value, { stream: true });
  }
  return text + decoder.decode();
}
function path(text, ...names) {
  return names.reduce((all, name, i) => {
    if (name === "" || name === "." || name === "..") {
      throw new UsageError(`${JSON.stringify(name)} cannot be a part of a path`);
    }
    return all + encodeURIComponent(name) + text[i + 1];
  }, text[0] ?? "");
}
function query(members) {
  const all = Object.entries(members).filter(([, value]) => value !== void 0);
  return all.length === 0 ? "" : "?" + new URLSearchParams(all.map(([name, value]) => [name, String(value)]));
}

// clients/typescript/src/api.ts
var plain = {};
var linkedIdentityShape = { linkedAt: "date" };
var sessionShape = { identities: linkedIdentityShape };
var playerShape = { createdAt: "date", identities: linkedIdentityShape };
var dataItemShape = { updatedAt: "date" };
var publicPlayerShape = { data: { "*": dataItemShape } };
var publicPlayersShape = { items: publicPlayerShape };
var dataItemsShape = { items: { "*": dataItemShape } };
var latencyReportShape = { samples: plain };
var latencyResultShape = { rejected: plain };
var locationsShape = { locations: plain };
var clientConfigShape = { serverTime: "date", providers: plain, matchmakers: plain, pools: plain };
var acceptanceShape = { deadline: "date" };
var ticketShape = { createdAt: "date", updatedAt: "date", expiresAt: "date", players: plain, acceptance: acceptanceShape, connection: plain };
var ticketsShape = { items: ticketShape };
var partyShape = { members: plain, expiresAt: "date" };
var placementShape = { createdAt: "date", expiresAt: "date", connection: plain };
var gameSessionShape = { createdAt: "date", endedAt: "date" };
var gameSessionsShape = { items: gameSessionShape };
var reservationShape = { connection: plain, reservedUntil: "date" };
var reservationsShape = { items: reservationShape };
var Calls = class {
  /** Answers without content, for measuring latency. */
  ping(options) {
    return this.call({ method: "GET", path: "/ping", open: true }, options);
  }
  /** What a client has to know. */
  config(options) {
    return this.call({ method: "GET", path: "/config", shape: clientConfigShape, open: true }, options);
  }
  /** Where games can be, and how to measure the way. */
  locations(options) {
    return this.call({ method: "GET", path: "/locations", shape: locationsShape, open: true }, options);
  }
  /** The own account. */
  me(options) {
    return this.call({ method: "GET", path: "/players/me", shape: playerShape }, options);
  }
  /** Change the own account. */
  changeMe(body, options) {
    return this.call({ method: "PATCH", path: "/players/me", body, bodyShape: plain, shape: playerShape }, options);
  }
  /** All data of a namespace: private, public or server. */
  allData(namespace, options) {
    return this.call({ method: "GET", path: path`/players/me/data/${namespace}`, shape: dataItemsShape }, options);
  }
  /** Report what was measured. */
  reportLatency(body, options) {
    return this.call({ method: "PUT", path: "/players/me/latency", body, bodyShape: latencyReportShape, shape: latencyResultShape }, options);
  }
  /** Games to come back to after a crash. */
  reservations(options) {
    return this.call({ method: "GET", path: "/players/me/reservations", shape: reservationsShape }, options);
  }
  /** What anybody may know of a player. */
  publicPlayer(player, options) {
    return this.call({ method: "GET", path: path`/players/${player}`, shape: publicPlayerShape }, options);
  }
  /** What anybody may know of several players. */
  lookUpPlayers(body, options) {
    return this.call({ method: "POST", path: "/players/lookup", body, bodyShape: plain, shape: publicPlayersShape }, options);
  }
  /** Ask to be matched. */
  startMatchmaking(body, options) {
    return this.call({ method: "POST", path: "/matchmaking/tickets", body, bodyShape: plain, shape: ticketShape }, options);
  }
  /** The own tickets. */
  tickets(options) {
    return this.call({ method: "GET", path: "/matchmaking/tickets" + query({ active: options?.active }), shape: ticketsShape }, options);
  }
  /** A ticket; 304 where nothing changed. */
  getTicket(ticket, options) {
    return this.call({ method: "GET", path: path`/matchmaking/tickets/${ticket}`, shape: ticketShape }, options);
  }
  /** Ask for a ticket to be cancelled. */
  stopMatchmaking(ticket, options) {
    return this.call({ method: "DELETE", path: path`/matchmaking/tickets/${ticket}`, shape: ticketShape }, options);
  }
  /** Answer a proposed match. */
  acceptMatch(ticket, body, options) {
    return this.call({ method: "POST", path: path`/matchmaking/tickets/${ticket}/acceptance`, body, bodyShape: plain, shape: ticketShape }, options);
  }
  /** Make a party. */
  createParty(body, options) {
    return this.call({ method: "POST", path: "/parties", body, bodyShape: plain, shape: partyShape }, options);
  }
  /** Join a party by its code. */
  joinParty(body, options) {
    return this.call({ method: "POST", path: "/parties/join", body, bodyShape: plain, shape: partyShape }, options);
  }
  /** A party one is in. */
  getParty(party, options) {
    return this.call({ method: "GET", path: path`/parties/${party}`, shape: partyShape }, options);
  }
  /** Say that one is ready, or not. */
  changeMember(party, body, options) {
    return this.call({ method: "PUT", path: path`/parties/${party}/members/me`, body, bodyShape: plain, shape: partyShape }, options);
  }
  /** Leave (me), or put somebody out, as the leader. */
  leaveParty(party, player, options) {
    return this.call({ method: "DELETE", path: path`/parties/${party}/members/${player}` }, options);
  }
  /** Games of a pool that can be joined. */
  listSessions(options) {
    return this.call({ method: "GET", path: "/sessions" + query({ pool: options?.pool, limit: options?.limit, location: options?.location, filter: options?.filter, sort: options?.sort }), shape: gameSessionsShape }, options);
  }
  /** Ask for a new game session. */
  createSession(body, options) {
    return this.call({ method: "POST", path: "/sessions", body, bodyShape: plain, shape: placementShape }, options);
  }
  /** A game one has a place in, or had one until a few minutes ago. */
  getSession(session, options) {
    return this.call({ method: "GET", path: path`/sessions/${session}`, shape: gameSessionShape }, options);
  }
  /** Take a place in a game. */
  joinSession(session, body, options) {
    return this.call({ method: "POST", path: path`/sessions/${session}/players`, body, bodyShape: plain, shape: reservationShape }, options);
  }
  /** A game session on its way; 304 where nothing changed. */
  getPlacement(placement, options) {
    return this.call({ method: "GET", path: path`/placements/${placement}`, shape: placementShape }, options);
  }
  /** Give it up. */
  stopPlacement(placement, options) {
    return this.call({ method: "DELETE", path: path`/placements/${placement}`, shape: placementShape }, options);
  }
};

// clients/typescript/src/wire.ts
function camelCase(name) {
  return name.replace(/_([a-z])/g, (_, letter) => letter.toUpperCase());
}
function snakeCase(name) {
  return name.replace(/[A-Z]/g, (letter) => "_" + letter.toLowerCase());
}
function decode(shape, value) {
  return convert(shape, value, (v) => typeof v === "string" ? new Date(v) : v, (name) => [camelCase(name), camelCase(name)]);
}
function encode(shape, value) {
  return convert(shape, value, (v) => v instanceof Date ? v.toISOString() : v, (name) => [snakeCase(name), name]);
}
function convert(shape, value, date, names) {
  if (shape === void 0 || value === null || value === void 0) {
    return value;
  }
  if (Array.isArray(value)) {
    return value.map((v) => convert(shape, v, date, names));
  }
  if (shape === "date") {
    return date(value);
  }
  if (typeof value !== "object") {
    return value;
  }
  const each = shape["*"];
  return Object.fromEntries(
    Object.entries(value).map(([name, v]) => {
      if (each !== void 0) {
        return [name, convert(each, v, date, names)];
      }
      const [out, member] = names(name);
      return [out, convert(Object.hasOwn(shape, member) ? shape[member] : void 0, v, date, names)];
    })
  );
}

// clients/typescript/src/account.ts
var renewAfter = 0.8;
var mostTries = 3;
var Account = class {
  #http;
  #store;
  #now;
  #changed;
  #tokens;
  #given;
  // the access token that the server gave to this client last
  #unsaved = false;
  // the store has a login that was used up
  #loaded;
  #renewal;
  #last = Promise.resolve();
  constructor(http, store, now, changed) {
    this.#http = http;
    this.#store = store;
    this.#now = now;
    this.#changed = changed;
  }
  get state() {
    const t = this.#tokens;
    return { playerId: t?.playerId, scope: t?.scope, loggedIn: t?.refreshToken !== void 0 };
  }
  get refreshToken() {
    return this.#tokens?.refreshToken;
  }
  /** Sends a request as the player, again with a newer token if that is refused. */
  async send(r) {
    return this.#sendWith((stale) => this.access(stale, r.signal), r);
  }
  /**
   * The first token refused may be older than what another client with the same store has
   * saved, and that refused, too. One that was given to this client is the newest there is.
   */
  async #sendWith(access, r) {
    let stale;
    for (let tries = 1; ; tries++) {
      const token = await access(stale);
      try {
        return await this.#http.send({ ...r, headers: { ...r.headers, Authorization: `Bearer ${token}` } });
      } catch (error) {
        const refused = error instanceof ProblemError && (error.code === "token-invalid" || error.code === "token-expired");
        if (!refused || tries === mostTries || tries > 1 && token === this.#given) {
          throw error;
        }
      }
      stale = token;
    }
  }
  /**
   * Returns an access token that does not expire soon. stale is a token that was refused; it
   * is not returned again. Callers share one renewal; it goes on if the signal is aborted.
   */
  async access(stale, signal) {
    await unless(signal, this.load());
    const t = this.#tokens;
    if (t?.accessToken !== void 0 && this.#usable(t, stale)) {
      return t.accessToken;
    }
    this.#renewal ??= this.#alone(() => this.#renew(stale)).finally(() => {
      this.#renewal = void 0;
    });
    return unless(signal, this.#renewal);
  }
  /** Logs in with what is stored, or makes a guest account. Reports whether it is new. */
  async loginGuest() {
    await this.load();
    return this.#alone(async () => {
      await this.#reload();
      try {
        return await this.#comeBack();
      } catch (error) {
        if (!(error instanceof LoggedOutError)) {
          throw error;
        }
      }
      return this.#enter({ method: "POST", path: "/auth/guest" });
    });
  }
  /** Sends a request that needs no login and returns one. */
  async enter(r) {
    await this.load();
    return this.#alone(() => this.#enter(r));
  }
  /** Sends a request of the player that returns a login. */
  async enterAs(r) {
    await this.load();
    return this.#alone(async () => this.#keep(await this.#sendWith((stale) => this.#renew(stale), r)));
  }
  /** Ends the login, but keeps a guest's secret: it is the only way back. */
  async forget(all) {
    await this.#alone(() => this.#forget(all));
  }
  /** Loads the stored login, once. */
  load() {
    return this.#loaded ??= this.#reload().catch((error) => {
      this.#loaded = void 0;
      throw error;
    });
  }
  #usable(t, stale) {
    return t.accessToken !== void 0 && t.accessToken !== stale && this.#now() < (t.renewAt ?? 0);
  }
  /** Runs work while no other changes the login, in this client or in another with its store. */
  #alone(work) {
    const run = async () => this.#store.exclusive ? this.#store.exclusive(work) : work();
    const result = this.#last.then(run, run);
    this.#last = result.catch(() => void 0);
    return result;
  }
  /** Takes over what another client with the same store has saved: a refresh token works once. */
  async #reload() {
    const stored = this.#unsaved ? void 0 : await this.#store.load();
    if (stored && (!this.#tokens || stored.playerId === this.#tokens.playerId)) {
      this.#set(stored);
    }
  }
  async #renew(stale) {
    await this.#reload();
    const t = this.#tokens;
    if (t?.accessToken !== void 0 && this.#usable(t, stale)) {
      return t.accessToken;
    }
    try {
      return (await this.#comeBack()).accessToken;
    } catch (error) {
      if (isTemporary(error) && t?.accessToken !== void 0 && t.accessToken !== stale && this.#now() < (t.expiresAt ?? 0)) {
        return t.accessToken;
      }
      throw error;
    }
  }
  /** Uses the refresh token, or logs the guest in. */
  async #comeBack() {
    const t = this.#tokens;
    let refused;
    if (t?.refreshToken !== void 0) {
      try {
        return await this.#enter({ method: "POST", path: "/auth/refresh", body: { refresh_token: t.refreshToken }, idempotent: true });
      } catch (error) {
        if (!isRefused(error)) {
          throw error;
        }
        refused = error;
      }
    }
    if (t?.guestSecret !== void 0) {
      const body = { player_id: t.playerId, guest_secret: t.guestSecret };
      try {
        return await this.#enter({ method: "POST", path: "/auth/guest/login", body, idempotent: true });
      } catch (error) {
        if (isRefused(error)) {
          await this.#forget(false);
        }
        throw error;
      }
    }
    if (t?.refreshToken !== void 0) {
      await this.#forget(false);
    }
    throw new LoggedOutError("log in first", { cause: refused });
  }
  async #enter(r) {
    return this.#keep(await this.#http.send(r));
  }
  async #keep(answer) {
    const s = decode(sessionShape, answer.body) ?? {};
    if (!s.playerId || !s.accessToken || !s.refreshToken || !(s.accessTokenExpiresIn > 0)) {
      throw new NetworkError("what answered a login is not the server");
    }
    const now = this.#now();
    const life = s.accessTokenExpiresIn * 1e3;
    const secret = s.guestSecret ?? (this.#tokens?.playerId === s.playerId ? this.#tokens.guestSecret : void 0);
    this.#given = s.accessToken;
    await this.#save({
      playerId: s.playerId,
      scope: s.scope,
      accessToken: s.accessToken,
      renewAt: now + renewAfter * life,
      expiresAt: now + life,
      refreshToken: s.refreshToken,
      ...secret === void 0 ? {} : { guestSecret: secret }
    });
    return s;
  }
  async #save(tokens) {
    this.#unsaved = true;
    try {
      await this.#store.save(tokens);
      this.#unsaved = false;
    } finally {
      this.#set(tokens);
    }
  }
  async #forget(all) {
    const t = this.#tokens;
    if (all || !t) {
      this.#unsaved = false;
      this.#set(void 0);
      await this.#store.clear();
      return;
    }
    const { playerId, scope, guestSecret } = t;
    await this.#save(guestSecret === void 0 ? { playerId, scope } : { playerId, scope, guestSecret });
  }
  #set(tokens) {
    const before = this.state;
    this.#tokens = tokens;
    const now = this.state;
    const player = before.playerId !== now.playerId || before.loggedIn !== now.loggedIn;
    if (player || before.scope !== now.scope) {
      this.#changed(now, player);
    }
  }
};
function isRefused(error) {
  return error instanceof ProblemError && error.status === 401;
}

// clients/typescript/src/events.ts
var Emitter = class {
  #handlers = /* @__PURE__ */ new Map();
  /** Adds a handler, and returns a function that removes it. */
  on(name, handler) {
    let all = this.#handlers.get(name);
    if (!all) {
      this.#handlers.set(name, all = /* @__PURE__ */ new Set());
    }
    const own = (data) => handler(data);
    all.add(own);
    return () => void all.delete(own);
  }
  /** Calls the handlers. An error of one is reported as uncaught, and stops no other. */
  emit(name, data) {
    for (const handler of [...this.#handlers.get(name) ?? []]) {
      try {
        handler(data);
      } catch (error) {
        queueMicrotask(() => {
          throw error;
        });
      }
    }
  }
};

// clients/typescript/src/follow.ts
var waitSeconds = 20;
var quickMs = 250;
var missesToEnd = 3;
var Inbox = class {
  #values = [];
  #wake;
  #error;
  #failed = false;
  add(value) {
    this.#values.push(value);
    this.#wake?.();
  }
  fail(error) {
    this.#failed = true;
    this.#error = error;
    this.#wake?.();
  }
  async next(signal) {
    for (; ; ) {
      const value = this.#values.shift();
      if (value !== void 0) {
        return value;
      }
      if (this.#failed) {
        throw this.#error;
      }
      await unless(
        signal,
        new Promise((resolve) => {
          this.#wake = resolve;
        })
      );
    }
  }
};
async function* follow(f, signal, closing) {
  const [stop, end] = linked(signal, closing);
  const inbox = new Inbox();
  let seq = 0;
  const see = (row) => {
    if (row.seq > seq) {
      seq = row.seq;
      inbox.add(row);
    }
  };
  const deaf = f.listen(see);
  const release = f.push.acquire();
  poll(f, () => seq, see, stop.signal).catch((error) => inbox.fail(error));
  try {
    for (; ; ) {
      const row = await inbox.next(stop.signal);
      yield row;
      if (f.ended(row)) {
        return;
      }
    }
  } finally {
    stop.abort();
    end();
    deaf();
    release();
  }
}
async function poll(f, seq, see, signal) {
  let missed = 0;
  for (let failures = 0; !signal.aborted; ) {
    const live = f.push.connection;
    const begun = performance.now();
    try {
      const row = await f.read(seq(), live > 0 || seq() === 0 ? 0 : waitSeconds, signal);
      failures = missed = 0;
      if (row) {
        see(row);
      } else if (live === 0 && performance.now() - begun < quickMs) {
        failures = 1;
      }
    } catch (error) {
      if (error instanceof ProblemError && error.status === 404 && ++missed < missesToEnd) {
        failures = missed;
      } else if (mayPass(error)) {
        failures++;
      } else {
        throw error;
      }
    }
    if (failures > 0) {
      await sleep(backoff(failures, f.random) + quickMs, signal);
    } else if (live > 0 && f.push.connection === live) {
      await f.push.change(signal);
    }
  }
}
function mayPass(error) {
  return isTemporary(error) || error instanceof ProblemError && error.status >= 500;
}

// clients/typescript/src/latency.ts
function median(values) {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN;
}
async function measure(locations, o, fetcher, udp) {
  const [controller, end] = linked(o.signal);
  const deadline = setTimeout(() => controller.abort(new TimeoutError("the measurement took too long")), o.deadlineMs ?? 6e3);
  const results = /* @__PURE__ */ new Map();
  const todo = [...locations];
  const worker = async () => {
    for (let l = todo.shift(); l; l = todo.shift()) {
      const sample = await one(l, o, controller.signal, fetcher, udp).catch(() => void 0);
      if (sample) {
        results.set(l.name, sample);
      }
    }
  };
  try {
    await Promise.all(Array.from({ length: o.parallel ?? 4 }, worker));
  } finally {
    clearTimeout(deadline);
    end();
  }
  if (o.signal?.aborted) {
    throw o.signal.reason;
  }
  return locations.flatMap((l) => results.get(l.name) ?? []);
}
async function one(l, o, signal, fetcher, udp) {
  const samples = o.samples ?? 5;
  const timeoutMs = o.timeoutMs ?? 1e3;
  const receipts = o.receipts ?? false;
  if (udp && l.udp && o.transport !== "https") {
    try {
      return { location: l.name, method: "udp", ...await udp(l.udp, samples, timeoutMs, receipts, signal) };
    } catch (error) {
      if (o.transport === "udp") {
        throw error;
      }
    }
  }
  if (!l.https || o.transport === "udp") {
    throw new NetworkError(`${l.name} has no beacon for this client`);
  }
  return { location: l.name, method: "https", ...await https(l.https, samples, timeoutMs, receipts, signal, fetcher) };
}
async function https(url, samples, timeoutMs, receipt, signal, fetcher) {
  const get = async (query2) => {
    const to = new URL(url);
    for (const [name, value] of Object.entries(query2)) {
      to.searchParams.set(name, value);
    }
    const [controller, end] = linked(signal);
    const timer = setTimeout(() => controller.abort(new TimeoutError("the beacon did not answer")), timeoutMs);
    try {
      const response = await fetcher(to, { signal: controller.signal, credentials: "omit", cache: "no-store" });
      const text = await response.text();
      if (!response.ok) {
        throw new NetworkError(`the beacon answered ${response.status}`);
      }
      return text;
    } finally {
      clearTimeout(timer);
      end();
    }
  };
  await get({});
  const trips = [];
  for (let i = 0; i < samples; i++) {
    const begun = performance.now();
    await get({});
    trips.push(performance.now() - begun);
  }
  const rttMs = median(trips);
  if (!receipt) {
    return { rttMs };
  }
  const nonce = Array.from(crypto.getRandomValues(new Uint8Array(8)), (b) => b.toString(16).padStart(2, "0")).join("");
  const stamp = await get({ nonce });
  const signed = stamp === "" ? "" : await get({ nonce, stamp });
  return signed === "" ? { rttMs } : { rttMs, receipt: signed };
}

// clients/typescript/src/socket.ts
var subprotocol = "muster.player.v1";
var openWithinMs = 1e4;
var pingEveryMs = 25e3;
var pongWithinMs = 1e4;
function connection(o) {
  return new Promise((resolve) => {
    let socket;
    let since;
    let timer;
    const end = (code3) => {
      clearTimeout(timer);
      o.signal.removeEventListener("abort", abort);
      if (socket) {
        socket.onopen = socket.onmessage = socket.onclose = socket.onerror = null;
        socket.onerror = () => void 0;
        socket.close();
      }
      resolve({ code: code3, livedMs: since === void 0 ? void 0 : performance.now() - since });
    };
    const abort = () => end(1e3);
    const within = (ms, then) => {
      clearTimeout(timer);
      timer = setTimeout(then, ms);
    };
    const lost = () => end(1006);
    const ping = () => {
      send({ type: "ping" });
      within(pongWithinMs, lost);
    };
    const send = (m) => socket?.send(JSON.stringify(m));
    try {
      socket = new o.socketClass(o.url, subprotocol);
    } catch {
      lost();
      return;
    }
    o.signal.addEventListener("abort", abort);
    within(openWithinMs, lost);
    socket.onopen = () => {
      send({ type: "auth", data: o.resume === void 0 ? { access_token: o.token } : { access_token: o.token, resume: o.resume } });
    };
    socket.onmessage = (event) => {
      const m = messageOf(event.data);
      if (!m) {
        lost();
        return;
      }
      if (m.type === "auth.ok") {
        since ??= performance.now();
      }
      if (since !== void 0) {
        within(pingEveryMs, ping);
      }
      o.onMessage(m, send);
    };
    socket.onclose = (event) => end(event.code);
    socket.onerror = () => void 0;
  });
}
function messageOf(data) {
  try {
    const m = JSON.parse(data);
    return typeof m === "object" && m !== null && "type" in m ? m : void 0;
  } catch {
    return void 0;
  }
}

// clients/typescript/src/push.ts
var code = { goingAway: 1001, unauthorized: 4401, replaced: 4409, tooMany: 4429 };
var failuresToPoll = 3;
var stableMs = 1e4;
var slowDownMs = 5e3;
var Push = class {
  events = new Emitter();
  #o;
  #state = { state: "closed" };
  #users = 0;
  #running;
  #replaced = false;
  #cursor;
  #polling;
  #connections = 0;
  #player;
  constructor(o) {
    this.#o = o;
  }
  get state() {
    return this.#state;
  }
  /** The number of the connection that is open, which no other has; 0 if there is none. */
  get connection() {
    return this.#state.state === "connected" ? this.#connections : 0;
  }
  /** Keeps the push open until the function that it returns is called. */
  acquire() {
    this.#users++;
    this.#start();
    let released = false;
    return () => {
      if (!released) {
        released = true;
        this.#users--;
        if (this.#users === 0) {
          this.stop();
        }
      }
    };
  }
  /** Connects again after a connection was replaced by another client's. */
  revive() {
    this.#replaced = false;
    this.#start();
  }
  /** Ends the connection, for example because the player has logged out. */
  stop() {
    this.#running?.abort();
    this.#running = void 0;
    this.#set({ state: "closed" });
  }
  /** Connects as the player who is logged in now. */
  restart() {
    if (this.#running && this.#player === void 0) {
      return;
    }
    this.stop();
    this.#cursor = void 0;
    this.#start();
  }
  /** Waits until the state changes. */
  change(signal) {
    return abortable((done) => this.events.on("push", () => done()), signal);
  }
  #start() {
    if (this.#running || this.#users === 0 || this.#replaced) {
      return;
    }
    const running = new AbortController();
    this.#running = running;
    this.#run(running.signal).catch(() => void 0).finally(() => {
      if (this.#running === running) {
        this.stop();
      }
    });
  }
  #set(state) {
    const was = this.#state;
    this.#state = state;
    if (state.state === "polling") {
      this.#poll();
    } else {
      this.#polling?.abort();
      this.#polling = void 0;
    }
    if (was.state !== state.state || was.code !== state.code) {
      this.events.emit("push", state);
    }
  }
  /** Connects again and again, until the signal is aborted or there is no use. */
  async #run(signal) {
    if (!this.#o.socketClass) {
      this.#set({ state: "polling" });
      return abortable(() => () => void 0, signal);
    }
    let stale;
    this.#set({ state: "connecting" });
    for (let failures = 0; !signal.aborted; ) {
      let ended;
      let token;
      try {
        token = await this.#o.account.access(stale, signal);
        ended = await this.#connect(this.#o.socketClass, token, signal);
      } catch (error) {
        if (error instanceof LoggedOutError || error instanceof ProblemError && !isTemporary(error)) {
          return;
        }
      }
      if (signal.aborted) {
        return;
      }
      if (ended?.code === code.replaced) {
        this.#replaced = true;
        this.#running = void 0;
        this.#set({ state: "closed", code: ended.code });
        return;
      }
      stale = ended?.code === code.unauthorized ? token : void 0;
      failures = (ended?.livedMs ?? 0) >= stableMs ? 0 : failures + 1;
      const why = ended && ended.code !== 1006 ? { code: ended.code } : {};
      this.#set({ state: failures >= failuresToPoll ? "polling" : "reconnecting", ...why });
      await sleep(backoff(failures, this.#o.random) + (ended?.code === code.tooMany ? slowDownMs : 0), signal);
    }
  }
  #connect(socketClass, token, signal) {
    const onMessage = (m, send) => {
      if (m.cursor !== void 0) {
        this.#cursor = m.cursor;
      }
      switch (m.type) {
        case "auth.ok":
          this.#connections += this.#state.state === "connected" ? 0 : 1;
          this.#set({ state: "connected" });
          break;
        case "token.expiring":
          this.#o.account.access(token, signal).then((fresh) => {
            token = fresh;
            send({ type: "auth", data: { access_token: fresh } });
          }).catch(() => void 0);
          break;
        case "match.ticket":
        case "party":
        case "placement":
          this.#changed(m);
          break;
        case "party.left":
          this.events.emit("partyLeft", void 0);
          break;
      }
    };
    const player = this.#o.account.state.playerId;
    if (player !== this.#player) {
      this.#player = player;
      this.#cursor = void 0;
    }
    return connection({ socketClass, url: this.#o.url, token, resume: this.#cursor, signal, onMessage });
  }
  /** Reports a row; what is none is ignored. */
  #changed({ type, data }) {
    if (typeof data !== "object" || data === null) {
      return;
    }
    if (type === "party") {
      this.events.emit("party", decode(partyShape, data));
    } else if (type === "placement") {
      this.events.emit("placement", decode(placementShape, data));
    } else {
      this.events.emit("ticket", decode(ticketShape, data));
    }
  }
  /** Polls until the state is another one. */
  #poll() {
    if (this.#polling) {
      return;
    }
    const polling = new AbortController();
    this.#polling = polling;
    const run = async () => {
      for (; ; ) {
        await this.#o.poll(polling.signal).catch(() => void 0);
        await sleep(this.#o.pollEveryMs, polling.signal);
      }
    };
    run().catch(() => void 0);
  }
};

// clients/typescript/src/store.ts
var MemoryTokenStore = class {
  #tokens;
  load() {
    return this.#tokens;
  }
  save(tokens) {
    this.#tokens = tokens;
  }
  clear() {
    this.#tokens = void 0;
  }
};
var LocalStorageTokenStore = class {
  #key;
  /** @param key - The key in the storage; use another for each server and for each player. */
  constructor(key = "muster") {
    this.#key = key;
  }
  load() {
    const text = localStorage.getItem(this.#key);
    return text === null ? void 0 : JSON.parse(text);
  }
  save(tokens) {
    localStorage.setItem(this.#key, JSON.stringify(tokens));
  }
  clear() {
    localStorage.removeItem(this.#key);
  }
  async exclusive(work) {
    const locks = navigator.locks;
    return locks ? await locks.request(`muster ${this.#key}`, work) : work();
  }
};

// clients/typescript/src/client.ts
var apiPath = "/player/v1";
var giveUpMs = 5e3;
var mostKnown = 200;
var ticketEnded = (t) => /^(completed|failed|cancelled|timed_out)$/.test(t.state);
var placementEnded = (p) => p.state !== "pending";
var Client = class extends Calls {
  #http;
  #fetch;
  #account;
  #push;
  #events = new Emitter();
  #closing = new AbortController();
  #random;
  #pollMs;
  #known = /* @__PURE__ */ new Map();
  // seq of tickets and placements, by id
  #pending = /* @__PURE__ */ new Set();
  // placements that have not ended
  #party;
  // that the player is in, as far as known
  #partyText = "";
  #releasePush;
  /**
   * Returns a client. It sends nothing.
   *
   * @param url - The server's base URL, such as https://play.example.com.
   */
  constructor(url, options = {}) {
    super();
    let base;
    try {
      base = new URL(url);
    } catch {
      throw new UsageError(`${JSON.stringify(url)} is no URL`);
    }
    if (!/^https?:$/.test(base.protocol) || base.search || base.hash || base.username) {
      throw new UsageError("the URL of a server is http://HOST or https://HOST, perhaps with a path");
    }
    const root = base.href.replace(/\/+$/, "") + apiPath;
    this.#random = options.random ?? Math.random;
    this.#pollMs = options.pollIntervalMs ?? 2e3;
    const now = options.now ?? Date.now;
    this.#fetch = options.fetch ?? fetch;
    this.#http = new Http(root, this.#fetch, options.timeoutMs ?? 15e3, this.#random, now);
    this.#account = new Account(this.#http, options.store ?? new MemoryTokenStore(), now, (state, changed) => this.#loggedIn(state, changed));
    this.#push = new Push({
      url: root.replace(/^http/, "ws") + "/ws",
      socketClass: options.webSocket === null ? void 0 : options.webSocket ?? this.defaultSocket(),
      account: this.#account,
      random: this.#random,
      poll: (signal) => this.#poll(signal),
      pollEveryMs: this.#pollMs
    });
    const heard = this.#push.events;
    heard.on("ticket", (t) => this.#report("ticket", t.ticketId, t));
    heard.on("placement", (p) => {
      this.#note(p);
      this.#report("placement", p.placementId, p);
    });
    heard.on("party", (p) => this.#inParty(p));
    heard.on("partyLeft", () => {
      this.#party = void 0;
      this.#partyText = "";
      this.#events.emit("partyLeft", void 0);
    });
    heard.on("push", (state) => this.#events.emit("push", state));
  }
  /** The platform's WebSocket, if it has one. @internal */
  defaultSocket() {
    return globalThis.WebSocket;
  }
  /** The platform's datagrams, if it has any. @internal */
  get udp() {
    return void 0;
  }
  /** Who is logged in. */
  get session() {
    return this.#account.state;
  }
  /** How changes are received. */
  get pushState() {
    return this.#push.state;
  }
  /** Calls a handler with each event, until the function that it returns is called. */
  on(name, handler) {
    return this.#events.on(name, handler);
  }
  /** Ends everything that is under way, with a {@link ClosedError}. The login remains in the store. */
  close() {
    this.#closing.abort(new ClosedError("the client was closed"));
    this.#push.stop();
  }
  // Logins
  /**
   * Logs in with what the store has, or else makes a guest account.
   *
   * @param options - displayName: of a new account.
   */
  async loginGuest(options = {}) {
    const session = await this.#within(options.signal, (signal) => unless(signal, this.#account.loginGuest()));
    if (session.created && options.displayName !== void 0) {
      await this.changeMe({ displayName: options.displayName }, options);
    }
    return this.session;
  }
  /** Logs in with an account elsewhere, such as one of Steam. A player is made unless create is false. */
  async loginProvider(provider, login, options) {
    return this.#enter("POST", path`/auth/${provider}`, login, false, options);
  }
  /**
   * Links an account elsewhere to the player. If it belongs to another player, the error is
   * `identity-in-use`, whose conflictToken is for {@link Client.merge}.
   */
  async link(provider, login, options) {
    return this.#enter("PUT", path`/players/me/identities/${provider}`, login, true, options);
  }
  /** Unlinks an account elsewhere. */
  async unlink(provider, options) {
    await this.call({ method: "DELETE", path: path`/players/me/identities/${provider}` }, options);
  }
  /** Makes one player of two. The player not kept is deleted for good: let the person choose. */
  async merge(request, options) {
    return this.#enter("POST", "/players/me/merge", request, true, options);
  }
  /** Ends this login, or all logins of the player. A guest can log in again. */
  async logout(options = {}) {
    await this.#account.load();
    const refresh = this.#account.refreshToken;
    if (refresh === void 0) {
      return;
    }
    const body = options.everywhere ? { all: true } : { refresh_token: refresh };
    try {
      await this.call({ method: "POST", path: "/auth/logout", body }, options);
    } catch (error) {
      if (!(error instanceof LoggedOutError)) {
        throw error;
      }
    }
    await this.#account.forget(false);
  }
  /** Deletes the player with all data. */
  async deleteMe(options) {
    await this.call({ method: "DELETE", path: "/players/me" }, options);
    await this.#account.forget(true);
  }
  /** Removes the stored login, a guest's secret too, without a request. */
  forget() {
    return this.#account.forget(true);
  }
  // Data
  /** Returns a value of the player's data. */
  async getData(namespace, key, options) {
    const answer = await this.#send({ method: "GET", path: path`/players/me/data/${namespace}/${key}` }, options);
    return { value: answer.body, version: Number(/\d+/.exec(answer.headers.get("ETag") ?? "")?.[0] ?? 0) };
  }
  /** Writes a value, any JSON, of the player's data. With a version, the error may be `precondition-failed`. */
  async putData(namespace, key, value, options = {}) {
    const { version } = options;
    const headers = version === void 0 ? {} : version === 0 ? { "If-None-Match": "*" } : { "If-Match": `"${version}"` };
    const r = { method: "PUT", path: path`/players/me/data/${namespace}/${key}`, body: value, headers, idempotent: version === void 0 };
    return decode(dataItemShape, (await this.#send(r, options)).body);
  }
  /** Deletes a value of the player's data. */
  async deleteData(namespace, key, options = {}) {
    const headers = options.version === void 0 ? {} : { "If-Match": `"${options.version}"` };
    await this.#send({ method: "DELETE", path: path`/players/me/data/${namespace}/${key}`, headers }, options);
  }
  // Latency
  /**
   * Measures the way to the locations where games can be. Pass the result on:
   * `client.reportLatency({ samples: await client.measureLatency() })`.
   */
  async measureLatency(options = {}) {
    const { locations } = await this.locations(options);
    return this.#within(options.signal, (signal) => measure(locations, { ...options, signal }, this.#fetch, this.udp));
  }
  // Matchmaking
  /**
   * Requests a match, answers what is proposed, and returns where to play. If the signal is
   * aborted, or the page is closed or left, the ticket is stopped. The error is a
   * {@link MatchError} if there was no match.
   */
  async findMatch(request, options = {}) {
    let ticketId;
    const end = onLeave(() => ticketId !== void 0 && this.#drop(path`/matchmaking/tickets/${ticketId}`));
    try {
      ticketId = (await this.startMatchmaking(request, options)).ticketId;
      return await this.#play(ticketId, options);
    } catch (error) {
      if (options.signal?.aborted && !this.#closing.signal.aborted) {
        await this.#giveUp(request, ticketId).catch(() => void 0);
      }
      throw error;
    } finally {
      end();
    }
  }
  /** Deletes what the player waits for, in a request that outlives the page. */
  #drop(at) {
    this.#send({ method: "DELETE", path: at, keepalive: true }).catch(() => void 0);
  }
  /** Follows a ticket to the connection, and answers proposed matches. */
  async #play(ticketId, o) {
    let last;
    let answered;
    for await (const t of this.followTicket(ticketId, o)) {
      last = t;
      o.onTicket?.(t);
      if (t.state === "requires_acceptance" && t.acceptance?.mine === null && t.matchId !== answered) {
        answered = t.matchId;
        const accept = typeof o.accept === "function" ? await o.accept(t) : o.accept ?? true;
        await this.#answer(ticketId, { accept }, o);
      }
    }
    if (last?.connection) {
      return last.connection;
    }
    throw last ? new MatchError(last) : new ClosedError("the ticket was not followed to its end");
  }
  /** Answers a proposed match; answering again does no harm. */
  async #answer(ticketId, answer, o) {
    for (let failures = 1; ; failures++) {
      try {
        await this.acceptMatch(ticketId, answer, o);
        return;
      } catch (error) {
        if (error instanceof ProblemError && /^(not-awaiting-acceptance|ticket-ended)$/.test(error.code)) {
          return;
        }
        if (!isTemporary(error) || failures > 3) {
          throw error;
        }
        await sleep(backoff(failures, this.#random), o.signal);
      }
    }
  }
  /** Stops a ticket, or those that a request without an answer may have led to. */
  async #giveUp(request, ticketId) {
    const signal = AbortSignal.timeout(giveUpMs);
    if (ticketId !== void 0) {
      await this.stopMatchmaking(ticketId, { signal });
      return;
    }
    const { items } = await this.tickets({ active: true, signal });
    await Promise.all(items.filter((t) => t.matchmaker === request.matchmaker).map((t) => this.stopMatchmaking(t.ticketId, { signal })));
  }
  /** Yields a ticket and each change of it, until it has ended. */
  followTicket(ticketId, options = {}) {
    return this.#follow("ticket", (t) => t.ticketId === ticketId, path`/matchmaking/tickets/${ticketId}`, ticketShape, ticketEnded, options);
  }
  // Parties
  /** Leaves a party; with a player, puts that member out, which only the leader may. */
  async leaveParty(party, player = "me", options) {
    await super.leaveParty(party, player, options);
  }
  /**
   * Yields a party, each change of it, and each ticket that its leader starts. It ends when the
   * player is no longer in it.
   */
  async *followParty(partyId, options = {}) {
    const [stop, end] = linked(options.signal, this.#closing.signal);
    const inbox = new Inbox();
    const reported = /* @__PURE__ */ new Set();
    let text = "";
    const party = (p) => {
      const now = JSON.stringify(p);
      if (p.partyId !== partyId) {
        inbox.add("left");
      } else if (now !== text) {
        text = now;
        inbox.add({ type: "changed", party: p });
      }
    };
    const ticket = (t) => {
      if (t.partyId === partyId && !reported.has(t.ticketId)) {
        reported.add(t.ticketId);
        inbox.add({ type: "matched", ticket: t });
      }
    };
    const heard = this.#push.events;
    const ends = [heard.on("party", party), heard.on("partyLeft", () => inbox.add("left")), heard.on("ticket", ticket), this.#push.acquire()];
    const look = async (first) => {
      party(await this.getParty(partyId, stop));
      for (const t of (await this.tickets(stop)).items) {
        if (first && ticketEnded(t)) {
          reported.add(t.ticketId);
        }
        ticket(t);
      }
    };
    this.#watch(look, () => inbox.add("left"), stop.signal).catch((error) => inbox.fail(error));
    try {
      for (let e = await inbox.next(stop.signal); e !== "left"; e = await inbox.next(stop.signal)) {
        yield e;
      }
    } finally {
      stop.abort();
      end();
      ends.forEach((off) => off());
    }
  }
  /** Looks whenever a push begins, and now and then while there is none. */
  async #watch(look, gone, signal) {
    for (let first = true; !signal.aborted; ) {
      const live = this.#push.connection;
      let failed = false;
      try {
        await look(first);
        first = false;
      } catch (error) {
        if (error instanceof ProblemError && error.status === 404) {
          gone();
          return;
        }
        if (!mayPass(error)) {
          throw error;
        }
        failed = true;
      }
      if (live > 0 && !failed && this.#push.connection === live) {
        await this.#push.change(signal);
      } else if (live === this.#push.connection) {
        await sleep(this.#pollMs, signal);
      }
    }
  }
  // Game sessions
  /**
   * Requests a new game session and returns where to play. If the signal is aborted, or the
   * page is closed or left, the request is given up. The error is a {@link PlacementError} if there was none.
   */
  async hostSession(request, options = {}) {
    const { placementId } = await this.createSession(request, options);
    const end = onLeave(() => this.#drop(path`/placements/${placementId}`));
    try {
      const placement = await this.waitForPlacement(placementId, options);
      if (placement.connection) {
        return placement.connection;
      }
      throw new PlacementError(placement);
    } catch (error) {
      if (options.signal?.aborted && !this.#closing.signal.aborted) {
        await this.stopPlacement(placementId, { signal: AbortSignal.timeout(giveUpMs) }).catch(() => void 0);
      }
      throw error;
    } finally {
      end();
    }
  }
  /** Returns a placement that is fulfilled; the error is a {@link PlacementError} if it ends in another way. */
  async waitForPlacement(placementId, options = {}) {
    let last;
    for await (last of this.followPlacement(placementId, options)) ;
    if (!last) {
      throw new ClosedError("the placement was not followed to its end");
    }
    if (last.state !== "fulfilled") {
      throw new PlacementError(last);
    }
    return last;
  }
  /** Yields a placement and each change of it, until it has ended. */
  followPlacement(placementId, options = {}) {
    return this.#follow("placement", (p) => p.placementId === placementId, path`/placements/${placementId}`, placementShape, placementEnded, options);
  }
  // Push
  /** Receives changes, which {@link Client.on} reports, until {@link Client.disconnectPush}. */
  connectPush() {
    this.#check();
    this.#releasePush ??= this.#push.acquire();
    this.#push.revive();
  }
  /** Ends what {@link Client.connectPush} has begun. What is followed is still followed. */
  disconnectPush() {
    this.#releasePush?.();
    this.#releasePush = void 0;
  }
  // Beneath
  /** @internal */
  async call(c, options) {
    const r = { method: c.method, path: c.path, ...c.body === void 0 ? {} : { body: encode(c.bodyShape, c.body) } };
    const answer = await this.#send(c.path === "/players/lookup" ? { ...r, idempotent: true } : r, options, c.open);
    const out = decode(c.shape, answer.body);
    if (c.shape && answer.status !== 204 && (typeof out !== "object" || out === null)) {
      throw new NetworkError(`${c.method} ${c.path.split("?")[0]}: what answered is not the server`);
    }
    if (out === void 0) {
    } else if (c.shape === partyShape) {
      this.#party = out.partyId;
    } else if (c.shape === placementShape) {
      this.#note(out);
    } else if (c.shape === ticketShape) {
      const { ticketId } = out;
      this.#known.set(ticketId, this.#known.get(ticketId) ?? 0);
    }
    return out;
  }
  #check() {
    if (this.#closing.signal.aborted) {
      throw this.#closing.signal.reason;
    }
  }
  /** Runs work with a signal that ends with the caller's or the client. */
  async #within(signal, work) {
    this.#check();
    const [controller, end] = linked(signal, this.#closing.signal);
    try {
      return await work(controller.signal);
    } finally {
      end();
    }
  }
  #send(r, options, open2 = false) {
    return this.#within(options?.signal, (signal) => (open2 ? this.#http : this.#account).send({ ...r, signal }));
  }
  async #enter(method, to, body, asPlayer, options) {
    await this.#within(options?.signal, (signal) => {
      const r = { method, path: to, body: encode({}, body), idempotent: false, signal };
      return asPlayer ? this.#account.enterAs(r) : this.#account.enter(r);
    });
    return this.session;
  }
  #loggedIn(state, changed) {
    if (!changed) {
      this.#events.emit("session", state);
      return;
    }
    this.#known.clear();
    this.#pending.clear();
    this.#party = void 0;
    this.#partyText = "";
    if (state.loggedIn) {
      this.#push.restart();
    } else {
      this.#push.stop();
    }
    this.#events.emit("session", state);
  }
  #follow(name, mine, at, shape, ended, options) {
    this.#check();
    const read = async (seq, wait, signal) => {
      const headers = seq > 0 ? { "If-None-Match": `"${seq}"` } : {};
      const { body } = await this.#account.send({ method: "GET", path: wait > 0 ? `${at}?wait=${wait}` : at, headers, signal, waitMs: wait * 1e3 });
      const row = body === void 0 ? void 0 : decode(shape, body);
      if (row) {
        this.#push.events.emit(name, row);
      }
      return row;
    };
    const listen = (heard) => this.#push.events.on(name, (row) => {
      if (mine(row)) {
        heard(row);
      }
    });
    return follow({ push: this.#push, random: this.#random, listen, read, ended }, options.signal, this.#closing.signal);
  }
  /** Reports a row once for each change of it. */
  #report(name, id, row) {
    if ((this.#known.get(id) ?? 0) >= row.seq) {
      return;
    }
    this.#known.delete(id);
    this.#known.set(id, row.seq);
    for (const old of this.#known.keys()) {
      if (this.#known.size <= mostKnown) {
        break;
      }
      this.#known.delete(old);
    }
    this.#events.emit(name, row);
  }
  #note(p) {
    if (placementEnded(p)) {
      this.#pending.delete(p.placementId);
    } else {
      this.#pending.add(p.placementId);
    }
  }
  #inParty(p) {
    this.#party = p.partyId;
    const text = JSON.stringify(p);
    if (text !== this.#partyText) {
      this.#partyText = text;
      this.#events.emit("party", p);
    }
  }
  /** Reads what the push would report. */
  async #poll(signal) {
    const heard = this.#push.events;
    for (const t of (await this.tickets({ signal })).items) {
      if (this.#known.has(t.ticketId) || !ticketEnded(t)) {
        heard.emit("ticket", t);
      }
    }
    for (const id of [...this.#pending]) {
      const p = await found(this.getPlacement(id, { signal }));
      if (p) {
        heard.emit("placement", p);
      } else {
        this.#pending.delete(id);
      }
    }
    if (this.#party !== void 0) {
      const p = await found(this.getParty(this.#party, { signal }));
      if (p) {
        heard.emit("party", p);
      } else {
        heard.emit("partyLeft", void 0);
      }
    }
  }
};
async function found(row) {
  try {
    return await row;
  } catch (error) {
    if (error instanceof ProblemError && error.status === 404) {
      return void 0;
    }
    throw error;
  }
}

// clients/typescript/src/node/udp.ts
import { randomBytes } from "node:crypto";
import { createSocket } from "node:dgram";
var nonceSize = 8;
var intervalMs = 120;
var askSize = { time: 64, receipt: 300 };
async function measureUdp(address, samples, timeoutMs, receipt, signal) {
  const [host, port] = splitAddress(address);
  const socket = createSocket(host.includes(":") ? "udp6" : "udp4");
  try {
    await new Promise((resolve, reject) => {
      socket.once("error", reject);
      socket.connect(port, host, resolve);
    });
    socket.on("error", () => void 0);
    const trips = [];
    for (let i = 0; i <= samples; i++) {
      const begun = performance.now();
      const number = Buffer.alloc(4);
      number.writeUInt32BE(i);
      const datagram = Buffer.concat([randomBytes(nonceSize), number]);
      const back = await exchange(socket, datagram, (answer) => answer.equals(datagram), timeoutMs, signal);
      if (back && i > 0) {
        trips.push(performance.now() - begun);
      }
      if (i < samples) {
        await new Promise((resolve) => setTimeout(resolve, Math.max(0, intervalMs - (performance.now() - begun))));
      }
    }
    if (trips.length * 2 <= samples) {
      throw new NetworkError(`${trips.length} of ${samples} datagrams came back`);
    }
    const rttMs = median(trips);
    return receipt ? { rttMs, receipt: await ask(socket, timeoutMs, signal) } : { rttMs };
  } finally {
    socket.close();
  }
}
function splitAddress(address) {
  const m = /^\[?([^\]]*)\]?:(\d+)$/.exec(address);
  if (!m) {
    throw new NetworkError(`${address} is no HOST:PORT`);
  }
  return [m[1] ?? "", Number(m[2])];
}
function exchange(socket, datagram, fits, timeoutMs, signal) {
  return new Promise((resolve, reject) => {
    const end = () => {
      clearTimeout(timer);
      socket.off("message", heard);
      signal.removeEventListener("abort", abort);
    };
    const heard = (answer) => {
      if (fits(answer)) {
        end();
        resolve(answer);
      }
    };
    const abort = () => {
      end();
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      end();
      resolve(void 0);
    }, timeoutMs);
    if (signal.aborted) {
      abort();
      return;
    }
    signal.addEventListener("abort", abort);
    socket.on("message", heard);
    socket.send(datagram, () => void 0);
  });
}
async function ask(socket, timeoutMs, signal) {
  const nonce = randomBytes(nonceSize);
  const say = (tag, body, size, expected) => {
    const begin = Buffer.concat([Buffer.from(expected), nonce]);
    const text = Buffer.concat([Buffer.from(tag), body]);
    return exchange(socket, Buffer.concat([text, Buffer.alloc(size - text.length)]), (a) => a.subarray(0, begin.length).equals(begin), timeoutMs, signal);
  };
  const stamped = await say("GLB1", nonce, askSize.time, "GLB2");
  const signed = stamped && await say("GLB3", stamped.subarray(4), askSize.receipt, "GLB4");
  return signed?.subarray(4 + nonceSize).toString("utf8") || void 0;
}

// clients/typescript/src/node/websocket.ts
import { createHash, randomBytes as randomBytes2 } from "node:crypto";
import { request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
var opcode = { more: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 };
var magic = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
var longestMessage = 1 << 20;
var longestControl = 125;
var handshakeMs = 1e4;
var closeMs = 2e3;
var code2 = { normal: 1e3, protocol: 1002, noCode: 1005, abnormal: 1006, badText: 1007, tooLong: 1009 };
var FrameError = class extends Error {
  code;
  constructor(closeCode, message) {
    super(message);
    this.code = closeCode;
  }
};
function readFrame(bytes) {
  if (bytes.length < 2) {
    return void 0;
  }
  const [first, second] = [bytes.readUInt8(0), bytes.readUInt8(1)];
  const kind = first & 15;
  let length = second & 127;
  if ((first & 112) !== 0 || (second & 128) !== 0 || kind > opcode.binary && kind < opcode.close || kind > opcode.pong) {
    throw new FrameError(code2.protocol, "no frame of a server");
  }
  if (kind >= opcode.close && (length > longestControl || first < 128)) {
    throw new FrameError(code2.protocol, "a control frame is short and whole");
  }
  let at = 2;
  if (length === 126) {
    at = 4;
    length = bytes.length < at ? 0 : bytes.readUInt16BE(2);
  } else if (length === 127) {
    at = 10;
    length = bytes.length < at ? 0 : Number(bytes.readBigUInt64BE(2));
  }
  if (length > longestMessage) {
    throw new FrameError(code2.tooLong, "a frame is too long");
  }
  if (bytes.length < at + length) {
    return void 0;
  }
  return [{ final: first >= 128, opcode: kind, data: bytes.subarray(at, at + length) }, bytes.subarray(at + length)];
}
function writeFrame(kind, data, mask) {
  const size = data.length < 126 ? 0 : data.length < 1 << 16 ? 2 : 8;
  const head = Buffer.alloc(2 + size);
  head.writeUInt8(128 | kind, 0);
  head.writeUInt8(128 | (size === 0 ? data.length : size === 2 ? 126 : 127), 1);
  if (size === 2) {
    head.writeUInt16BE(data.length, 2);
  } else if (size === 8) {
    head.writeBigUInt64BE(BigInt(data.length), 2);
  }
  return Buffer.concat([head, mask, data.map((b, i) => b ^ (mask[i % 4] ?? 0))]);
}
var NodeWebSocket = class {
  onopen = null;
  onmessage = null;
  onclose = null;
  onerror = null;
  #key = randomBytes2(16).toString("base64");
  #giveUp;
  #stream;
  #rest = Buffer.alloc(0);
  #parts = [];
  #partsSize = 0;
  #closeCode;
  // that the server sent
  #closing = false;
  #ended = false;
  #timer;
  constructor(url, protocol) {
    const to = new URL(url);
    to.protocol = to.protocol.replace("ws", "http");
    const request = (to.protocol === "https:" ? requestHttps : requestHttp)(to, {
      agent: false,
      // the connection is this socket's
      headers: {
        Connection: "Upgrade",
        Upgrade: "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": this.#key,
        "Sec-WebSocket-Protocol": protocol
      }
    });
    this.#giveUp = () => request.destroy();
    this.#timer = setTimeout(() => this.terminate(), handshakeMs);
    request.on("upgrade", (response, stream, head) => {
      const accept = createHash("sha1").update(this.#key + magic).digest("base64");
      if (response.headers["sec-websocket-accept"] !== accept || response.headers["sec-websocket-protocol"] !== protocol || this.#ended) {
        stream.destroy();
        this.#end(code2.abnormal);
        return;
      }
      this.#open(stream, head);
    });
    request.on("response", (response) => {
      response.destroy();
      this.#end(code2.abnormal);
    });
    request.on("error", () => this.#end(code2.abnormal));
    request.end();
  }
  send(text) {
    this.#write(opcode.text, Buffer.from(text));
  }
  close(closeCode = code2.normal) {
    if (!this.#stream) {
      this.terminate();
      return;
    }
    if (!this.#closing) {
      const data = Buffer.alloc(2);
      data.writeUInt16BE(closeCode);
      this.#write(opcode.close, data);
      this.#closing = true;
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => this.terminate(), closeMs);
    }
  }
  /** Cuts the connection without a close frame. */
  terminate() {
    this.#end(code2.abnormal);
  }
  #open(stream, head) {
    clearTimeout(this.#timer);
    this.#stream = stream;
    stream.on("data", (bytes) => this.#read(bytes));
    stream.on("error", () => this.#end(code2.abnormal));
    stream.on("end", () => this.#end(this.#closeCode ?? code2.abnormal));
    stream.on("close", () => this.#end(this.#closeCode ?? code2.abnormal));
    this.onopen?.({});
    this.#read(head);
  }
  #write(kind, data) {
    if (this.#stream && !this.#closing && !this.#ended) {
      this.#stream.write(writeFrame(kind, data, randomBytes2(4)));
    }
  }
  #read(bytes) {
    this.#rest = this.#rest.length === 0 ? bytes : Buffer.concat([this.#rest, bytes]);
    try {
      for (let next = readFrame(this.#rest); next && !this.#ended; next = readFrame(this.#rest)) {
        this.#rest = next[1];
        this.#take(next[0]);
      }
    } catch (error) {
      if (!(error instanceof FrameError)) {
        throw error;
      }
      this.close(error.code);
      this.terminate();
    }
  }
  #take(f) {
    switch (f.opcode) {
      case opcode.ping:
        this.#write(opcode.pong, f.data);
        return;
      case opcode.pong:
        return;
      case opcode.close:
        this.#closeCode = f.data.length < 2 ? code2.noCode : f.data.readUInt16BE(0);
        this.close(this.#closeCode === code2.noCode ? code2.normal : this.#closeCode);
        this.#end(this.#closeCode);
        return;
      case opcode.binary:
        throw new FrameError(code2.protocol, "a message is text");
    }
    if (f.opcode === opcode.more !== this.#parts.length > 0) {
      throw new FrameError(code2.protocol, "a part of no message, or a message within another");
    }
    this.#parts.push(f.data);
    this.#partsSize += f.data.length;
    if (this.#partsSize > longestMessage) {
      throw new FrameError(code2.tooLong, "a message is too long");
    }
    if (f.final) {
      const data = Buffer.concat(this.#parts);
      this.#parts = [];
      this.#partsSize = 0;
      const text = textOf2(data);
      this.onmessage?.({ data: text });
    }
  }
  #end(closeCode) {
    if (this.#ended) {
      return;
    }
    this.#ended = true;
    clearTimeout(this.#timer);
    if (closeCode === code2.abnormal) {
      this.#stream?.destroy();
    } else {
      this.#stream?.end();
    }
    this.#giveUp();
    this.onclose?.({ code: closeCode });
  }
};
function textOf2(data) {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(data);
  } catch {
    throw new FrameError(code2.badText, "a message is UTF-8");
  }
}

// clients/typescript/src/node/store.ts
import { randomUUID } from "node:crypto";
import { open, readFile, rename, rm } from "node:fs/promises";
var FileTokenStore = class {
  #file;
  /** @param file - The path of the file; use another for each player. */
  constructor(file) {
    this.#file = file;
  }
  async load() {
    let text;
    try {
      text = await readFile(this.#file, "utf8");
    } catch (error) {
      if (error.code === "ENOENT") {
        return void 0;
      }
      throw error;
    }
    return JSON.parse(text);
  }
  /** Replaces the file as a whole, so that a crash leaves the old login or the new one. */
  async save(tokens) {
    const next = `${this.#file}.${randomUUID()}`;
    try {
      const file = await open(next, "wx", 384);
      try {
        await file.writeFile(JSON.stringify(tokens));
        await file.sync();
      } finally {
        await file.close();
      }
      await rename(next, this.#file);
    } catch (error) {
      await rm(next, { force: true });
      throw error;
    }
  }
  async clear() {
    await rm(this.#file, { force: true });
  }
};

// clients/typescript/src/node.ts
var Client2 = class extends Client {
  /** @internal */
  defaultSocket() {
    return NodeWebSocket;
  }
  /** @internal */
  get udp() {
    return measureUdp;
  }
};
export {
  Client2 as Client,
  ClosedError,
  FileTokenStore,
  LocalStorageTokenStore,
  LoggedOutError,
  MatchError,
  MemoryTokenStore,
  MusterError,
  NetworkError,
  NodeWebSocket,
  PlacementError,
  ProblemError,
  TimeoutError,
  UsageError
};
