import { linked, onLeave, sleep, unless } from "./abort.js";
import { Account, type LoginState } from "./account.js";
import {
  type AcceptRequest,
  type Call,
  type CallOptions,
  Calls,
  type Connection,
  type DataItem,
  dataItemShape,
  type LatencySample,
  type MergeRequest,
  type Party,
  partyShape,
  type Placement,
  placementShape,
  type ProviderLogin,
  type Session,
  type SessionRequest,
  type Ticket,
  type TicketRequest,
  ticketShape,
} from "./api.js";
import { ClosedError, LoggedOutError, MatchError, NetworkError, PlacementError, ProblemError, UsageError } from "./errors.js";
import { Emitter } from "./events.js";
import { follow, Inbox, mayPass, type Row } from "./follow.js";
import { Http, type HttpAnswer, type HttpRequest, path } from "./http.js";
import { measure, type MeasureOptions, type UdpMeasure } from "./latency.js";
import { Push, type PushState } from "./push.js";
import { backoff, isTemporary } from "./retry.js";
import type { SocketClass } from "./socket.js";
import { MemoryTokenStore, type TokenStore } from "./store.js";
import { decode, encode } from "./wire.js";

/** How a client works; each member has a default. */
export interface ClientOptions {
  /** Keeps the login; default: in memory, so that it is lost with the page or the process. */
  readonly store?: TokenStore | undefined;
  /** Makes the requests; default: the platform's fetch. */
  readonly fetch?: typeof fetch | undefined;
  /** Opens the WebSocket; default: the platform's. null: changes are polled. */
  readonly webSocket?: SocketClass | null | undefined;
  /** How long an answer may take, in milliseconds; default 15 s. */
  readonly timeoutMs?: number | undefined;
  /** How often to ask where there is no push, in milliseconds; default 2 s. */
  readonly pollIntervalMs?: number | undefined;
  /** For tests: values from 0 to 1; default Math.random. */
  readonly random?: (() => number) | undefined;
  /** For tests: milliseconds since 1970; default Date.now. */
  readonly now?: (() => number) | undefined;
}

/** What {@link Client.on} reports. */
export interface ClientEvents {
  /** A ticket of the player has changed. */
  ticket: Ticket;
  /** The player's party has changed. */
  party: Party;
  /** The player is no longer in a party. */
  partyLeft: undefined;
  /** A game session that the player requested is closer, or there. */
  placement: Placement;
  /** Changes are received in another way now. */
  push: PushState;
  /** Another player is logged in, or none. */
  session: LoginState;
}

/** A change of a party. */
export type PartyEvent =
  /** The party as it is now. */
  | { readonly type: "changed"; readonly party: Party }
  /** The leader has requested a match: follow the ticket. */
  | { readonly type: "matched"; readonly ticket: Ticket };

/** How a match is found. */
export interface FindMatchOptions extends CallOptions {
  /** Whether to accept a proposed match; default true. */
  readonly accept?: boolean | ((ticket: Ticket) => boolean | Promise<boolean>) | undefined;
  /** Is called with each change of the ticket. */
  readonly onTicket?: ((ticket: Ticket) => void) | undefined;
}

/** A value of the player's data. */
export interface DataValue {
  readonly value: unknown;
  /** Rises with each write; for {@link Client.putData}. */
  readonly version: number;
}

/** How a value is written. */
export interface PutDataOptions extends CallOptions {
  /** Write only if this is the version; 0: only if there is no value. Default: in any case. */
  readonly version?: number | undefined;
}

/** The path of the API on its server. */
const apiPath = "/player/v1";
/** How long to try to stop what was given up, in milliseconds. */
const giveUpMs = 5000;
/** Rows that are remembered, to report each change once. */
const mostKnown = 200;

const ticketEnded = (t: Ticket): boolean => /^(completed|failed|cancelled|timed_out)$/.test(t.state);
const placementEnded = (p: Placement): boolean => p.state !== "pending";

/**
 * A player of a game that Muster hosts.
 *
 * ```ts
 * const client = new Client("https://play.example.com", { store: new LocalStorageTokenStore() });
 * await client.loginGuest();
 * const connection = await client.findMatch({ matchmaker: "ranked" });
 * ```
 *
 * A promise of a call rejects with a {@link ProblemError} if the server refuses it, with a
 * {@link NetworkError} or a {@link TimeoutError} if it was not reached, and with the signal's
 * reason if that is aborted. Calls that can be repeated safely are repeated a few times first.
 */
export class Client extends Calls {
  readonly #http: Http;
  readonly #fetch: typeof fetch;
  readonly #account: Account;
  readonly #push: Push;
  readonly #events = new Emitter<ClientEvents>();
  readonly #closing = new AbortController();
  readonly #random: () => number;
  readonly #pollMs: number;
  readonly #known = new Map<string, number>(); // seq of tickets and placements, by id
  readonly #pending = new Set<string>(); // placements that have not ended
  #party: string | undefined; // that the player is in, as far as known
  #partyText = "";
  #releasePush: (() => void) | undefined;

  /**
   * Returns a client. It sends nothing.
   *
   * @param url - The server's base URL, such as https://play.example.com.
   */
  constructor(url: string, options: ClientOptions = {}) {
    super();
    let base: URL;
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
    this.#pollMs = options.pollIntervalMs ?? 2000;
    const now = options.now ?? Date.now;
    this.#fetch = options.fetch ?? fetch;
    this.#http = new Http(root, this.#fetch, options.timeoutMs ?? 15_000, this.#random, now);
    this.#account = new Account(this.#http, options.store ?? new MemoryTokenStore(), now, (state, changed) => this.#loggedIn(state, changed));
    this.#push = new Push({
      url: root.replace(/^http/, "ws") + "/ws",
      socketClass: options.webSocket === null ? undefined : (options.webSocket ?? this.defaultSocket()),
      account: this.#account,
      random: this.#random,
      poll: (signal) => this.#poll(signal),
      pollEveryMs: this.#pollMs,
    });
    const heard = this.#push.events;
    heard.on("ticket", (t) => this.#report("ticket", t.ticketId, t));
    heard.on("placement", (p) => {
      this.#note(p);
      this.#report("placement", p.placementId, p);
    });
    heard.on("party", (p) => this.#inParty(p));
    heard.on("partyLeft", () => {
      this.#party = undefined;
      this.#partyText = "";
      this.#events.emit("partyLeft", undefined);
    });
    heard.on("push", (state) => this.#events.emit("push", state));
  }

  /** The platform's WebSocket, if it has one. @internal */
  protected defaultSocket(): SocketClass | undefined {
    return (globalThis as { WebSocket?: SocketClass }).WebSocket;
  }

  /** The platform's datagrams, if it has any. @internal */
  protected get udp(): UdpMeasure | undefined {
    return undefined;
  }

  /** Who is logged in. */
  get session(): LoginState {
    return this.#account.state;
  }

  /** How changes are received. */
  get pushState(): PushState {
    return this.#push.state;
  }

  /** Calls a handler with each event, until the function that it returns is called. */
  on<Name extends keyof ClientEvents>(name: Name, handler: (data: ClientEvents[Name]) => void): () => void {
    return this.#events.on(name, handler);
  }

  /** Ends everything that is under way, with a {@link ClosedError}. The login remains in the store. */
  close(): void {
    this.#closing.abort(new ClosedError("the client was closed"));
    this.#push.stop();
  }

  // Logins

  /**
   * Logs in with what the store has, or else makes a guest account.
   *
   * @param options - displayName: of a new account.
   */
  async loginGuest(options: CallOptions & { readonly displayName?: string | undefined } = {}): Promise<LoginState> {
    const session = await this.#within(options.signal, (signal) => unless(signal, this.#account.loginGuest()));
    if (session.created && options.displayName !== undefined) {
      await this.changeMe({ displayName: options.displayName }, options);
    }
    return this.session;
  }

  /** Logs in with an account elsewhere, such as one of Steam. A player is made unless create is false. */
  async loginProvider(provider: string, login: ProviderLogin, options?: CallOptions): Promise<LoginState> {
    return this.#enter("POST", path`/auth/${provider}`, login, false, options);
  }

  /**
   * Links an account elsewhere to the player. If it belongs to another player, the error is
   * `identity-in-use`, whose conflictToken is for {@link Client.merge}.
   */
  async link(provider: string, login: ProviderLogin, options?: CallOptions): Promise<LoginState> {
    return this.#enter("PUT", path`/players/me/identities/${provider}`, login, true, options);
  }

  /** Unlinks an account elsewhere. */
  async unlink(provider: string, options?: CallOptions): Promise<void> {
    await this.call({ method: "DELETE", path: path`/players/me/identities/${provider}` }, options);
  }

  /** Makes one player of two. The player not kept is deleted for good: let the person choose. */
  async merge(request: MergeRequest, options?: CallOptions): Promise<LoginState> {
    return this.#enter("POST", "/players/me/merge", request, true, options);
  }

  /** Ends this login, or all logins of the player. A guest can log in again. */
  async logout(options: CallOptions & { readonly everywhere?: boolean | undefined } = {}): Promise<void> {
    await this.#account.load();
    const refresh = this.#account.refreshToken;
    if (refresh === undefined) {
      return;
    }
    const body = options.everywhere ? { all: true } : { refresh_token: refresh };
    try {
      await this.call({ method: "POST", path: "/auth/logout", body }, options);
    } catch (error) {
      if (!(error instanceof LoggedOutError)) {
        throw error; // else the login had ended already
      }
    }
    await this.#account.forget(false);
  }

  /** Deletes the player with all data. */
  async deleteMe(options?: CallOptions): Promise<void> {
    await this.call({ method: "DELETE", path: "/players/me" }, options);
    await this.#account.forget(true);
  }

  /** Removes the stored login, a guest's secret too, without a request. */
  forget(): Promise<void> {
    return this.#account.forget(true);
  }

  // Data

  /** Returns a value of the player's data. */
  async getData(namespace: string, key: string, options?: CallOptions): Promise<DataValue> {
    const answer = await this.#send({ method: "GET", path: path`/players/me/data/${namespace}/${key}` }, options);
    return { value: answer.body, version: Number(/\d+/.exec(answer.headers.get("ETag") ?? "")?.[0] ?? 0) };
  }

  /** Writes a value, any JSON, of the player's data. With a version, the error may be `precondition-failed`. */
  async putData(namespace: string, key: string, value: unknown, options: PutDataOptions = {}): Promise<DataItem> {
    const { version } = options;
    const headers: Record<string, string> = version === undefined ? {} : version === 0 ? { "If-None-Match": "*" } : { "If-Match": `"${version}"` };
    const r = { method: "PUT", path: path`/players/me/data/${namespace}/${key}`, body: value, headers, idempotent: version === undefined };
    return decode(dataItemShape, (await this.#send(r, options)).body) as DataItem;
  }

  /** Deletes a value of the player's data. */
  async deleteData(namespace: string, key: string, options: PutDataOptions = {}): Promise<void> {
    const headers: Record<string, string> = options.version === undefined ? {} : { "If-Match": `"${options.version}"` };
    await this.#send({ method: "DELETE", path: path`/players/me/data/${namespace}/${key}`, headers }, options);
  }

  // Latency

  /**
   * Measures the way to the locations where games can be. Pass the result on:
   * `client.reportLatency({ samples: await client.measureLatency() })`.
   */
  async measureLatency(options: MeasureOptions = {}): Promise<LatencySample[]> {
    const { locations } = await this.locations(options);
    return this.#within(options.signal, (signal) => measure(locations, { ...options, signal }, this.#fetch, this.udp));
  }

  // Matchmaking

  /**
   * Requests a match, answers what is proposed, and returns where to play. If the signal is
   * aborted, or the page is closed or left, the ticket is stopped. The error is a
   * {@link MatchError} if there was no match.
   */
  async findMatch(request: TicketRequest, options: FindMatchOptions = {}): Promise<Connection> {
    let ticketId: string | undefined;
    const end = onLeave(() => ticketId !== undefined && this.#drop(path`/matchmaking/tickets/${ticketId}`));
    try {
      ticketId = (await this.startMatchmaking(request, options)).ticketId;
      return await this.#play(ticketId, options);
    } catch (error) {
      if (options.signal?.aborted && !this.#closing.signal.aborted) {
        await this.#giveUp(request, ticketId).catch(() => undefined); // it times out otherwise
      }
      throw error;
    } finally {
      end();
    }
  }

  /** Deletes what the player waits for, in a request that outlives the page. */
  #drop(at: string): void {
    this.#send({ method: "DELETE", path: at, keepalive: true }).catch(() => undefined); // nobody is there any more
  }

  /** Follows a ticket to the connection, and answers proposed matches. */
  async #play(ticketId: string, o: FindMatchOptions): Promise<Connection> {
    let last: Ticket | undefined;
    let answered: string | undefined;
    for await (const t of this.followTicket(ticketId, o)) {
      last = t;
      o.onTicket?.(t);
      if (t.state === "requires_acceptance" && t.acceptance?.mine === null && t.matchId !== answered) {
        answered = t.matchId;
        const accept = typeof o.accept === "function" ? await o.accept(t) : (o.accept ?? true);
        await this.#answer(ticketId, { accept }, o);
      }
    }
    if (last?.connection) {
      return last.connection;
    }
    throw last ? new MatchError(last) : new ClosedError("the ticket was not followed to its end");
  }

  /** Answers a proposed match; answering again does no harm. */
  async #answer(ticketId: string, answer: AcceptRequest, o: CallOptions): Promise<void> {
    for (let failures = 1; ; failures++) {
      try {
        await this.acceptMatch(ticketId, answer, o);
        return;
      } catch (error) {
        if (error instanceof ProblemError && /^(not-awaiting-acceptance|ticket-ended)$/.test(error.code)) {
          return; // the ticket shows what became of it
        }
        if (!isTemporary(error) || failures > 3) {
          throw error;
        }
        await sleep(backoff(failures, this.#random), o.signal);
      }
    }
  }

  /** Stops a ticket, or those that a request without an answer may have led to. */
  async #giveUp(request: TicketRequest, ticketId: string | undefined): Promise<void> {
    const signal = AbortSignal.timeout(giveUpMs);
    if (ticketId !== undefined) {
      await this.stopMatchmaking(ticketId, { signal });
      return;
    }
    const { items } = await this.tickets({ active: true, signal });
    await Promise.all(items.filter((t) => t.matchmaker === request.matchmaker).map((t) => this.stopMatchmaking(t.ticketId, { signal })));
  }

  /** Yields a ticket and each change of it, until it has ended. */
  followTicket(ticketId: string, options: CallOptions = {}): AsyncGenerator<Ticket, void, undefined> {
    return this.#follow("ticket", (t) => t.ticketId === ticketId, path`/matchmaking/tickets/${ticketId}`, ticketShape, ticketEnded, options);
  }

  // Parties

  /** Leaves a party; with a player, puts that member out, which only the leader may. */
  override async leaveParty(party: string, player = "me", options?: CallOptions): Promise<void> {
    await super.leaveParty(party, player, options);
  }

  /**
   * Yields a party, each change of it, and each ticket that its leader starts. It ends when the
   * player is no longer in it.
   */
  async *followParty(partyId: string, options: CallOptions = {}): AsyncGenerator<PartyEvent, void, undefined> {
    const [stop, end] = linked(options.signal, this.#closing.signal);
    const inbox = new Inbox<PartyEvent | "left">();
    const reported = new Set<string>();
    let text = "";
    const party = (p: Party): void => {
      const now = JSON.stringify(p);
      if (p.partyId !== partyId) {
        inbox.add("left"); // a player is in one at a time
      } else if (now !== text) {
        text = now;
        inbox.add({ type: "changed", party: p });
      }
    };
    const ticket = (t: Ticket): void => {
      if (t.partyId === partyId && !reported.has(t.ticketId)) {
        reported.add(t.ticketId);
        inbox.add({ type: "matched", ticket: t });
      }
    };
    const heard = this.#push.events;
    const ends = [heard.on("party", party), heard.on("partyLeft", () => inbox.add("left")), heard.on("ticket", ticket), this.#push.acquire()];
    const look = async (first: boolean): Promise<void> => {
      party(await this.getParty(partyId, stop));
      for (const t of (await this.tickets(stop)).items) {
        if (first && ticketEnded(t)) {
          reported.add(t.ticketId);
        }
        ticket(t);
      }
    };
    this.#watch(look, () => inbox.add("left"), stop.signal).catch((error: unknown) => inbox.fail(error));
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
  async #watch(look: (first: boolean) => Promise<void>, gone: () => void, signal: AbortSignal): Promise<void> {
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
  async hostSession(request: SessionRequest, options: CallOptions = {}): Promise<Connection> {
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
        await this.stopPlacement(placementId, { signal: AbortSignal.timeout(giveUpMs) }).catch(() => undefined);
      }
      throw error;
    } finally {
      end();
    }
  }

  /** Returns a placement that is fulfilled; the error is a {@link PlacementError} if it ends in another way. */
  async waitForPlacement(placementId: string, options: CallOptions = {}): Promise<Placement> {
    let last: Placement | undefined;
    for await (last of this.followPlacement(placementId, options));
    if (!last) {
      throw new ClosedError("the placement was not followed to its end");
    }
    if (last.state !== "fulfilled") {
      throw new PlacementError(last);
    }
    return last;
  }

  /** Yields a placement and each change of it, until it has ended. */
  followPlacement(placementId: string, options: CallOptions = {}): AsyncGenerator<Placement, void, undefined> {
    return this.#follow("placement", (p) => p.placementId === placementId, path`/placements/${placementId}`, placementShape, placementEnded, options);
  }

  // Push

  /** Receives changes, which {@link Client.on} reports, until {@link Client.disconnectPush}. */
  connectPush(): void {
    this.#check();
    this.#releasePush ??= this.#push.acquire();
    this.#push.revive();
  }

  /** Ends what {@link Client.connectPush} has begun. What is followed is still followed. */
  disconnectPush(): void {
    this.#releasePush?.();
    this.#releasePush = undefined;
  }

  // Beneath

  /** @internal */
  protected override async call<T>(c: Call, options?: CallOptions): Promise<T> {
    const r = { method: c.method, path: c.path, ...(c.body === undefined ? {} : { body: encode(c.bodyShape, c.body) }) };
    const answer = await this.#send(c.path === "/players/lookup" ? { ...r, idempotent: true } : r, options, c.open);
    const out = decode(c.shape, answer.body);
    if (c.shape && answer.status !== 204 && (typeof out !== "object" || out === null)) {
      throw new NetworkError(`${c.method} ${c.path.split("?")[0]}: what answered is not the server`);
    }
    if (out === undefined) {
      // an earlier attempt was not answered
    } else if (c.shape === partyShape) {
      this.#party = (out as Party).partyId;
    } else if (c.shape === placementShape) {
      this.#note(out as Placement);
    } else if (c.shape === ticketShape) {
      const { ticketId } = out as Ticket;
      this.#known.set(ticketId, this.#known.get(ticketId) ?? 0); // even if it ends before the next poll
    }
    return out as T;
  }

  #check(): void {
    if (this.#closing.signal.aborted) {
      throw this.#closing.signal.reason;
    }
  }

  /** Runs work with a signal that ends with the caller's or the client. */
  async #within<T>(signal: AbortSignal | undefined, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    this.#check();
    const [controller, end] = linked(signal, this.#closing.signal);
    try {
      return await work(controller.signal);
    } finally {
      end();
    }
  }

  #send(r: HttpRequest, options?: CallOptions, open = false): Promise<HttpAnswer> {
    return this.#within(options?.signal, (signal) => (open ? this.#http : this.#account).send({ ...r, signal }));
  }

  async #enter(method: string, to: string, body: ProviderLogin | MergeRequest, asPlayer: boolean, options?: CallOptions): Promise<LoginState> {
    await this.#within(options?.signal, (signal): Promise<Session> => {
      const r = { method, path: to, body: encode({}, body), idempotent: false, signal }; // what proves an account works once
      return asPlayer ? this.#account.enterAs(r) : this.#account.enter(r);
    });
    return this.session;
  }

  #loggedIn(state: LoginState, changed: boolean): void {
    if (!changed) {
      this.#events.emit("session", state); // such as a guest who has linked an account
      return;
    }
    this.#known.clear();
    this.#pending.clear();
    this.#party = undefined;
    this.#partyText = "";
    if (state.loggedIn) {
      this.#push.restart();
    } else {
      this.#push.stop();
    }
    this.#events.emit("session", state);
  }

  #follow<Name extends "ticket" | "placement", T extends Row & ClientEvents[Name]>(
    name: Name,
    mine: (row: T) => boolean,
    at: string,
    shape: typeof ticketShape,
    ended: (row: T) => boolean,
    options: CallOptions,
  ): AsyncGenerator<T, void, undefined> {
    this.#check();
    const read = async (seq: number, wait: number, signal: AbortSignal): Promise<T | undefined> => {
      const headers: Record<string, string> = seq > 0 ? { "If-None-Match": `"${seq}"` } : {};
      const { body } = await this.#account.send({ method: "GET", path: wait > 0 ? `${at}?wait=${wait}` : at, headers, signal, waitMs: wait * 1000 });
      const row = body === undefined ? undefined : (decode(shape, body) as T);
      if (row) {
        this.#push.events.emit(name, row as never);
      }
      return row;
    };
    const listen = (heard: (row: T) => void): (() => void) =>
      this.#push.events.on(name, (row) => {
        if (mine(row as unknown as T)) {
          heard(row as unknown as T);
        }
      });
    return follow({ push: this.#push, random: this.#random, listen, read, ended }, options.signal, this.#closing.signal);
  }

  /** Reports a row once for each change of it. */
  #report<Name extends "ticket" | "placement">(name: Name, id: string, row: ClientEvents[Name] & Row): void {
    if ((this.#known.get(id) ?? 0) >= row.seq) {
      return;
    }
    this.#known.delete(id); // to the end of the order
    this.#known.set(id, row.seq);
    for (const old of this.#known.keys()) {
      if (this.#known.size <= mostKnown) {
        break;
      }
      this.#known.delete(old);
    }
    this.#events.emit(name, row);
  }

  #note(p: Placement): void {
    if (placementEnded(p)) {
      this.#pending.delete(p.placementId);
    } else {
      this.#pending.add(p.placementId);
    }
  }

  #inParty(p: Party): void {
    this.#party = p.partyId;
    const text = JSON.stringify(p);
    if (text !== this.#partyText) {
      this.#partyText = text;
      this.#events.emit("party", p);
    }
  }

  /** Reads what the push would report. */
  async #poll(signal: AbortSignal): Promise<void> {
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
    if (this.#party !== undefined) {
      const p = await found(this.getParty(this.#party, { signal }));
      if (p) {
        heard.emit("party", p);
      } else {
        heard.emit("partyLeft", undefined);
      }
    }
  }
}

/** Returns undefined for what is not found. */
async function found<T>(row: Promise<T>): Promise<T | undefined> {
  try {
    return await row;
  } catch (error) {
    if (error instanceof ProblemError && error.status === 404) {
      return undefined;
    }
    throw error;
  }
}
