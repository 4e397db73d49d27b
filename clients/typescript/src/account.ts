import { type Session, sessionShape } from "./api.js";
import { unless } from "./abort.js";
import { LoggedOutError, NetworkError, ProblemError } from "./errors.js";
import type { Http, HttpAnswer, HttpRequest } from "./http.js";
import { isTemporary } from "./retry.js";
import type { Tokens, TokenStore } from "./store.js";
import { decode } from "./wire.js";

/** Who is logged in. */
export interface LoginState {
  /** The player; undefined before the first login. */
  readonly playerId: string | undefined;
  /** What the player has proven: `guest` or `authenticated`. */
  readonly scope: string | undefined;
  /** Whether there is a login. A login that the server has refused is over. */
  readonly loggedIn: boolean;
}

/** The share of an access token's life after which it is renewed. */
const renewAfter = 0.8;

/** How many tokens are tried: the client's own, one that another client has saved, a new one. */
const mostTries = 3;

/**
 * The login that requests are made with. It is renewed ahead of its end, by one request at a
 * time, and saved before it is used.
 *
 * @internal
 */
export class Account {
  readonly #http: Http;
  readonly #store: TokenStore;
  readonly #now: () => number;
  readonly #changed: (state: LoginState, player: boolean) => void;
  #tokens: Tokens | undefined;
  #given: string | undefined; // the access token that the server gave to this client last
  #unsaved = false; // the store has a login that was used up
  #loaded: Promise<void> | undefined;
  #renewal: Promise<string> | undefined;
  #last: Promise<unknown> = Promise.resolve();

  constructor(http: Http, store: TokenStore, now: () => number, changed: (state: LoginState, player: boolean) => void) {
    this.#http = http;
    this.#store = store;
    this.#now = now;
    this.#changed = changed;
  }

  get state(): LoginState {
    const t = this.#tokens;
    return { playerId: t?.playerId, scope: t?.scope, loggedIn: t?.refreshToken !== undefined };
  }

  get refreshToken(): string | undefined {
    return this.#tokens?.refreshToken;
  }

  /** Sends a request as the player, again with a newer token if that is refused. */
  async send(r: HttpRequest): Promise<HttpAnswer> {
    return this.#sendWith((stale) => this.access(stale, r.signal), r);
  }

  /**
   * The first token refused may be older than what another client with the same store has
   * saved, and that refused, too. One that was given to this client is the newest there is.
   */
  async #sendWith(access: (stale?: string) => Promise<string>, r: HttpRequest): Promise<HttpAnswer> {
    let stale: string | undefined;
    for (let tries = 1; ; tries++) {
      const token = await access(stale);
      try {
        return await this.#http.send({ ...r, headers: { ...r.headers, Authorization: `Bearer ${token}` } });
      } catch (error) {
        const refused = error instanceof ProblemError && (error.code === "token-invalid" || error.code === "token-expired");
        if (!refused || tries === mostTries || (tries > 1 && token === this.#given)) {
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
  async access(stale?: string, signal?: AbortSignal): Promise<string> {
    await unless(signal, this.load());
    const t = this.#tokens;
    if (t?.accessToken !== undefined && this.#usable(t, stale)) {
      return t.accessToken;
    }
    this.#renewal ??= this.#alone(() => this.#renew(stale)).finally(() => {
      this.#renewal = undefined;
    });
    return unless(signal, this.#renewal);
  }

  /** Logs in with what is stored, or makes a guest account. Reports whether it is new. */
  async loginGuest(): Promise<Session> {
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
  async enter(r: HttpRequest): Promise<Session> {
    await this.load();
    return this.#alone(() => this.#enter(r));
  }

  /** Sends a request of the player that returns a login. */
  async enterAs(r: HttpRequest): Promise<Session> {
    await this.load();
    return this.#alone(async () => this.#keep(await this.#sendWith((stale) => this.#renew(stale), r)));
  }

  /** Ends the login, but keeps a guest's secret: it is the only way back. */
  async forget(all: boolean): Promise<void> {
    await this.#alone(() => this.#forget(all));
  }

  /** Loads the stored login, once. */
  load(): Promise<void> {
    return (this.#loaded ??= this.#reload().catch((error: unknown) => {
      this.#loaded = undefined;
      throw error;
    }));
  }

  #usable(t: Tokens, stale?: string): boolean {
    return t.accessToken !== undefined && t.accessToken !== stale && this.#now() < (t.renewAt ?? 0);
  }

  /** Runs work while no other changes the login, in this client or in another with its store. */
  #alone<T>(work: () => Promise<T>): Promise<T> {
    const run = async (): Promise<T> => (this.#store.exclusive ? this.#store.exclusive(work) : work());
    const result = this.#last.then(run, run);
    this.#last = result.catch(() => undefined);
    return result;
  }

  /** Takes over what another client with the same store has saved: a refresh token works once. */
  async #reload(): Promise<void> {
    const stored = this.#unsaved ? undefined : await this.#store.load();
    if (stored && (!this.#tokens || stored.playerId === this.#tokens.playerId)) {
      this.#set(stored);
    }
  }

  async #renew(stale?: string): Promise<string> {
    await this.#reload();
    const t = this.#tokens;
    if (t?.accessToken !== undefined && this.#usable(t, stale)) {
      return t.accessToken;
    }
    try {
      return (await this.#comeBack()).accessToken;
    } catch (error) {
      if (isTemporary(error) && t?.accessToken !== undefined && t.accessToken !== stale && this.#now() < (t.expiresAt ?? 0)) {
        return t.accessToken; // is still valid: the renewal can wait
      }
      throw error;
    }
  }

  /** Uses the refresh token, or logs the guest in. */
  async #comeBack(): Promise<Session> {
    const t = this.#tokens;
    let refused: unknown;
    if (t?.refreshToken !== undefined) {
      try {
        return await this.#enter({ method: "POST", path: "/auth/refresh", body: { refresh_token: t.refreshToken }, idempotent: true });
      } catch (error) {
        if (!isRefused(error)) {
          throw error;
        }
        refused = error;
      }
    }
    if (t?.guestSecret !== undefined) {
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
    if (t?.refreshToken !== undefined) {
      await this.#forget(false);
    }
    throw new LoggedOutError("log in first", { cause: refused });
  }

  async #enter(r: HttpRequest): Promise<Session> {
    return this.#keep(await this.#http.send(r));
  }

  async #keep(answer: HttpAnswer): Promise<Session> {
    const s = (decode(sessionShape, answer.body) ?? {}) as Session;
    if (!s.playerId || !s.accessToken || !s.refreshToken || !(s.accessTokenExpiresIn > 0)) {
      throw new NetworkError("what answered a login is not the server"); // the login before is kept
    }
    const now = this.#now();
    const life = s.accessTokenExpiresIn * 1000;
    const secret = s.guestSecret ?? (this.#tokens?.playerId === s.playerId ? this.#tokens.guestSecret : undefined);
    this.#given = s.accessToken;
    await this.#save({
      playerId: s.playerId,
      scope: s.scope,
      accessToken: s.accessToken,
      renewAt: now + renewAfter * life,
      expiresAt: now + life,
      refreshToken: s.refreshToken,
      ...(secret === undefined ? {} : { guestSecret: secret }),
    });
    return s;
  }

  async #save(tokens: Tokens): Promise<void> {
    this.#unsaved = true;
    try {
      await this.#store.save(tokens);
      this.#unsaved = false;
    } finally {
      this.#set(tokens); // the login before was used up
    }
  }

  async #forget(all: boolean): Promise<void> {
    const t = this.#tokens;
    if (all || !t) {
      this.#unsaved = false;
      this.#set(undefined);
      await this.#store.clear();
      return;
    }
    const { playerId, scope, guestSecret } = t;
    await this.#save(guestSecret === undefined ? { playerId, scope } : { playerId, scope, guestSecret });
  }

  #set(tokens: Tokens | undefined): void {
    const before = this.state;
    this.#tokens = tokens;
    const now = this.state;
    const player = before.playerId !== now.playerId || before.loggedIn !== now.loggedIn;
    if (player || before.scope !== now.scope) {
      this.#changed(now, player);
    }
  }
}

/** Reports whether the server has refused a login for good. */
function isRefused(error: unknown): boolean {
  return error instanceof ProblemError && error.status === 401;
}
