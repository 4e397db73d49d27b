import type { Connection } from "../../../../clients/typescript/src/index.js";
import { decode, input, join, leave, type Message, type Snapshot, type Welcome } from "./wire.js";

/** What the player does until the next input. */
export interface Intent {
  /** 0 for none, 1 to 8 for the compass from north, clockwise. */
  readonly move: number;
  readonly fire: boolean;
}

/** How a game ended. */
export interface Result {
  readonly ending: string;
  readonly score: number;
  readonly place: number;
  readonly players: number;
  readonly snapshots: number;
}

const joinEveryMs = 250;
const inputEveryMs = 50;
const leaveEveryMs = 100;
const silentMs = 5000;

/** One game on a game server: joins, plays until the end, or until leave is called. */
export class Game {
  /** The end, also of a game that was never played. */
  readonly over: Promise<Result>;
  readonly #socket: WebSocket;
  readonly #intent: (view: Snapshot, me: number) => Intent;
  readonly #show: (view: Snapshot, welcome: Welcome) => void;
  #end: (r: Result) => void = () => undefined;
  #timer: ReturnType<typeof setInterval> | undefined;
  #silence: ReturnType<typeof setTimeout> | undefined;
  #welcome: Welcome | undefined;
  #view: Snapshot | undefined;
  #snapshots = 0;
  #sequence = 0;

  constructor(to: Connection, intent: (view: Snapshot, me: number) => Intent, show: (view: Snapshot, welcome: Welcome) => void) {
    this.#intent = intent;
    this.#show = show;
    this.over = new Promise((resolve) => (this.#end = resolve));
    const host = to.host.includes(":") ? `[${to.host}]` : to.host;
    this.#socket = new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${host}:${to.port}/`);
    this.#socket.binaryType = "arraybuffer";
    const knock = (): void => this.#socket.send(join(to.playerSessionId));
    this.#socket.onopen = () => {
      knock();
      this.#every(joinEveryMs, knock);
    };
    this.#socket.onmessage = ({ data }) => {
      const m = decode(data as ArrayBuffer);
      if (m) {
        this.#hear(m);
      }
    };
    this.#socket.onclose = () => this.#finish("lost");
    this.#heard();
  }

  /** Leaves the game; over resolves when the server knows, or soon. */
  leave(): void {
    const key = this.#welcome?.key;
    if (key === undefined) {
      this.#finish("left");
      return;
    }
    let tries = 10;
    const go = (): void => (tries-- > 0 ? this.#socket.send(leave(key)) : this.#finish("left"));
    go();
    this.#every(leaveEveryMs, go);
  }

  #hear(m: Message): void {
    this.#heard();
    switch (m.kind) {
      case "welcome":
        if (!this.#welcome) {
          this.#welcome = m;
          this.#every(inputEveryMs, () => this.#act(m));
        }
        break;
      case "refused":
        this.#finish(`refused: ${m.reason}`);
        break;
      case "snapshot":
        if (this.#welcome && (!this.#view || m.tick > this.#view.tick)) {
          this.#view = m;
          this.#snapshots++;
          this.#show(m, this.#welcome);
        }
        break;
      case "over":
        this.#finish(m.reason, m.scores);
        break;
    }
  }

  #act(w: Welcome): void {
    if (this.#view) {
      const { move, fire } = this.#intent(this.#view, w.player);
      this.#socket.send(input(w.key, ++this.#sequence, move, fire));
    }
  }

  #every(ms: number, then: () => void): void {
    clearInterval(this.#timer);
    this.#timer = setInterval(then, ms);
  }

  #heard(): void {
    clearTimeout(this.#silence);
    this.#silence = setTimeout(() => this.#finish("silent server"), silentMs);
  }

  #finish(ending: string, scores?: readonly { readonly player: number; readonly score: number }[]): void {
    clearInterval(this.#timer);
    clearTimeout(this.#silence);
    this.#socket.onclose = this.#socket.onmessage = null;
    this.#socket.close();
    const all = scores ?? (this.#view?.players ?? []).map((p) => ({ player: p.id, score: p.score }));
    const score = all.find((s) => s.player === this.#welcome?.player)?.score ?? 0;
    const place = 1 + all.filter((s) => s.score > score).length;
    this.#end({ ending, score, place, players: all.length, snapshots: this.#snapshots });
  }
}
