import { abortable, sleep } from "./abort.js";
import type { Account } from "./account.js";
import { type Party, partyShape, type Placement, placementShape, type Ticket, ticketShape } from "./api.js";
import { LoggedOutError, ProblemError } from "./errors.js";
import { Emitter } from "./events.js";
import { backoff, isTemporary } from "./retry.js";
import { connection, type Message, type SocketClass } from "./socket.js";
import { decode } from "./wire.js";

/** How changes reach the client. */
export interface PushState {
  /**
   * `closed`: not at all, because nothing needs them or because another client of the player
   * has replaced this one; `connecting`: soon; `connected`: by WebSocket; `reconnecting`: the
   * WebSocket was cut; `polling`: by requests, until a WebSocket can be opened.
   */
  readonly state: "closed" | "connecting" | "connected" | "reconnecting" | "polling";
  /** The close code of the last WebSocket, if it was closed with one. */
  readonly code?: number;
}

/** What the push reports. @internal */
export interface PushEvents {
  ticket: Ticket;
  party: Party;
  partyLeft: undefined;
  placement: Placement;
  push: PushState;
}

/** Close codes of the server. */
const code = { goingAway: 1001, unauthorized: 4401, replaced: 4409, tooMany: 4429 } as const;
/** Failures in a row until the client polls. */
const failuresToPoll = 3;
/** A connection that was open for less counts as a failure. */
const stableMs = 10_000;
const slowDownMs = 5_000;

/** What the push needs of its client. @internal */
export interface PushOptions {
  readonly url: string;
  /** undefined where there is no WebSocket. */
  readonly socketClass: SocketClass | undefined;
  readonly account: Account;
  readonly random: () => number;
  /** Reads once what the push would report. */
  readonly poll: (signal: AbortSignal) => Promise<void>;
  readonly pollEveryMs: number;
}

/**
 * A WebSocket that resumes where it was interrupted, shared by all that follow something.
 * While there is none, what is followed is polled.
 *
 * @internal
 */
export class Push {
  readonly events = new Emitter<PushEvents>();
  readonly #o: PushOptions;
  #state: PushState = { state: "closed" };
  #users = 0;
  #running: AbortController | undefined;
  #replaced = false;
  #cursor: string | undefined;
  #polling: AbortController | undefined;
  #connections = 0;
  #player: string | undefined;

  constructor(o: PushOptions) {
    this.#o = o;
  }

  get state(): PushState {
    return this.#state;
  }

  /** The number of the connection that is open, which no other has; 0 if there is none. */
  get connection(): number {
    return this.#state.state === "connected" ? this.#connections : 0;
  }

  /** Keeps the push open until the function that it returns is called. */
  acquire(): () => void {
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
  revive(): void {
    this.#replaced = false;
    this.#start();
  }

  /** Ends the connection, for example because the player has logged out. */
  stop(): void {
    this.#running?.abort();
    this.#running = undefined;
    this.#set({ state: "closed" });
  }

  /** Connects as the player who is logged in now. */
  restart(): void {
    if (this.#running && this.#player === undefined) {
      return; // it has waited for the login
    }
    this.stop();
    this.#cursor = undefined;
    this.#start();
  }

  /** Waits until the state changes. */
  change(signal: AbortSignal): Promise<void> {
    return abortable((done) => this.events.on("push", () => done()), signal);
  }

  #start(): void {
    if (this.#running || this.#users === 0 || this.#replaced) {
      return;
    }
    const running = new AbortController();
    this.#running = running;
    this.#run(running.signal)
      .catch(() => undefined)
      .finally(() => {
        if (this.#running === running) {
          this.stop();
        }
      });
  }

  #set(state: PushState): void {
    const was = this.#state;
    this.#state = state;
    if (state.state === "polling") {
      this.#poll();
    } else {
      this.#polling?.abort();
      this.#polling = undefined;
    }
    if (was.state !== state.state || was.code !== state.code) {
      this.events.emit("push", state);
    }
  }

  /** Connects again and again, until the signal is aborted or there is no use. */
  async #run(signal: AbortSignal): Promise<void> {
    if (!this.#o.socketClass) {
      this.#set({ state: "polling" });
      return abortable(() => () => undefined, signal);
    }
    let stale: string | undefined;
    this.#set({ state: "connecting" });
    for (let failures = 0; !signal.aborted; ) {
      let ended: { code: number; livedMs: number | undefined } | undefined;
      let token: string | undefined;
      try {
        token = await this.#o.account.access(stale, signal);
        ended = await this.#connect(this.#o.socketClass, token, signal);
      } catch (error) {
        if (error instanceof LoggedOutError || (error instanceof ProblemError && !isTemporary(error))) {
          return; // such as a player who is banned
        }
      }
      if (signal.aborted) {
        return;
      }
      if (ended?.code === code.replaced) {
        this.#replaced = true;
        this.#running = undefined;
        this.#set({ state: "closed", code: ended.code });
        return;
      }
      stale = ended?.code === code.unauthorized ? token : undefined;
      failures = (ended?.livedMs ?? 0) >= stableMs ? 0 : failures + 1;
      const why = ended && ended.code !== 1006 ? { code: ended.code } : {};
      this.#set({ state: failures >= failuresToPoll ? "polling" : "reconnecting", ...why });
      await sleep(backoff(failures, this.#o.random) + (ended?.code === code.tooMany ? slowDownMs : 0), signal);
    }
  }

  #connect(socketClass: SocketClass, token: string, signal: AbortSignal): Promise<{ code: number; livedMs: number | undefined }> {
    const onMessage = (m: Message, send: (m: Message) => void): void => {
      if (m.cursor !== undefined) {
        this.#cursor = m.cursor;
      }
      switch (m.type) {
        case "auth.ok":
          this.#connections += this.#state.state === "connected" ? 0 : 1;
          this.#set({ state: "connected" });
          break;
        case "token.expiring":
          // If the login has ended, the server closes the connection.
          this.#o.account
            .access(token, signal)
            .then((fresh) => {
              token = fresh;
              send({ type: "auth", data: { access_token: fresh } });
            })
            .catch(() => undefined);
          break;
        case "match.ticket":
        case "party":
        case "placement":
          this.#changed(m);
          break;
        case "party.left":
          this.events.emit("partyLeft", undefined);
          break;
      }
    };
    const player = this.#o.account.state.playerId;
    if (player !== this.#player) {
      this.#player = player;
      this.#cursor = undefined; // it is another player's
    }
    return connection({ socketClass, url: this.#o.url, token, resume: this.#cursor, signal, onMessage });
  }

  /** Reports a row; what is none is ignored. */
  #changed({ type, data }: Message): void {
    if (typeof data !== "object" || data === null) {
      return;
    }
    if (type === "party") {
      this.events.emit("party", decode(partyShape, data) as Party);
    } else if (type === "placement") {
      this.events.emit("placement", decode(placementShape, data) as Placement);
    } else {
      this.events.emit("ticket", decode(ticketShape, data) as Ticket);
    }
  }

  /** Polls until the state is another one. */
  #poll(): void {
    if (this.#polling) {
      return;
    }
    const polling = new AbortController();
    this.#polling = polling;
    const run = async (): Promise<void> => {
      for (;;) {
        await this.#o.poll(polling.signal).catch(() => undefined); // the next may succeed
        await sleep(this.#o.pollEveryMs, polling.signal);
      }
    };
    run().catch(() => undefined);
  }
}
