/** The part of the WebSocket interface of browsers that this library uses. */
export interface SocketLike {
  onopen: ((event: never) => void) | null;
  onmessage: ((event: never) => void) | null;
  onclose: ((event: never) => void) | null;
  onerror: ((event: never) => void) | null;
  send(text: string): void;
  close(code?: number): void;
}

/** A WebSocket class, such as that of browsers. */
export type SocketClass = new (url: string, protocol: string) => SocketLike;

/** A message of the push, as it is on the wire. @internal */
export interface Message {
  readonly type: string;
  readonly id?: string;
  readonly re?: string;
  readonly cursor?: string;
  readonly data?: unknown;
}

/** Why a connection ended. @internal */
export interface Ended {
  /** The close code; 1006 if there was none. */
  readonly code: number;
  /** How long the player was logged in on it, in milliseconds; undefined if never. */
  readonly livedMs: number | undefined;
}

/** How a connection is opened. @internal */
export interface SocketOptions {
  readonly socketClass: SocketClass;
  readonly url: string;
  readonly token: string;
  /** The last cursor. */
  readonly resume: string | undefined;
  readonly signal: AbortSignal;
  /** Is called with each message, beginning with auth.ok. */
  readonly onMessage: (m: Message, send: (m: Message) => void) => void;
}

const subprotocol = "muster.player.v1";
/** Until the player is logged in. */
const openWithinMs = 10_000;
/** Pages see no control frames, so they ask for a message. */
const pingEveryMs = 25_000;
const pongWithinMs = 10_000;

/** Opens a connection, and resolves when it has ended. It never rejects. @internal */
export function connection(o: SocketOptions): Promise<Ended> {
  return new Promise((resolve) => {
    let socket: SocketLike | undefined;
    let since: number | undefined;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const end = (code: number): void => {
      clearTimeout(timer);
      o.signal.removeEventListener("abort", abort);
      if (socket) {
        socket.onopen = socket.onmessage = socket.onclose = socket.onerror = null;
        socket.onerror = () => undefined; // of a connection that is given up
        socket.close();
      }
      resolve({ code, livedMs: since === undefined ? undefined : performance.now() - since });
    };
    const abort = (): void => end(1000);
    const within = (ms: number, then: () => void): void => {
      clearTimeout(timer);
      timer = setTimeout(then, ms);
    };
    const lost = (): void => end(1006);
    const ping = (): void => {
      send({ type: "ping" });
      within(pongWithinMs, lost);
    };
    const send = (m: Message): void => socket?.send(JSON.stringify(m));
    try {
      socket = new o.socketClass(o.url, subprotocol);
    } catch {
      lost();
      return;
    }
    o.signal.addEventListener("abort", abort);
    within(openWithinMs, lost);
    socket.onopen = () => {
      send({ type: "auth", data: o.resume === undefined ? { access_token: o.token } : { access_token: o.token, resume: o.resume } });
    };
    socket.onmessage = (event: MessageEvent) => {
      const m = messageOf(event.data);
      if (!m) {
        lost(); // what answers is not the server
        return;
      }
      if (m.type === "auth.ok") {
        since ??= performance.now();
      }
      if (since !== undefined) {
        within(pingEveryMs, ping);
      }
      o.onMessage(m, send);
    };
    socket.onclose = (event: CloseEvent) => end(event.code);
    socket.onerror = () => undefined; // a close follows
  });
}

/** Parses a message; undefined if it is none. */
function messageOf(data: unknown): Message | undefined {
  try {
    const m: unknown = JSON.parse(data as string);
    return typeof m === "object" && m !== null && "type" in m ? (m as Message) : undefined;
  } catch {
    return undefined;
  }
}
