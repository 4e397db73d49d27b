import { linked, sleep, unless } from "./abort.js";
import { ProblemError } from "./errors.js";
import type { Push } from "./push.js";
import { backoff, isTemporary } from "./retry.js";

/** What can be followed: rises in seq with each change, until it has ended. @internal */
export interface Row {
  readonly seq: number;
}

/** How a row is followed. @internal */
export interface Following<T extends Row> {
  readonly push: Push;
  readonly random: () => number;
  /** Is called with what is heard; returns what ends that. */
  readonly listen: (heard: (row: T) => void) => () => void;
  /**
   * Reads the row. If waitSeconds is not 0, it waits so long for a change from seq; undefined:
   * there was none.
   */
  readonly read: (seq: number, waitSeconds: number, signal: AbortSignal) => Promise<T | undefined>;
  readonly ended: (row: T) => boolean;
}

/** How long a request waits for a change; the API allows 25 s. */
const waitSeconds = 20;
/** A request that waited for less time without news did not wait: the server is stopping. */
const quickMs = 250;
/** In a row, until a row counts as unknown. */
const missesToEnd = 3;

/** Values that one function awaits and others add. @internal */
export class Inbox<T> {
  readonly #values: T[] = [];
  #wake: (() => void) | undefined;
  #error: unknown;
  #failed = false;

  add(value: T): void {
    this.#values.push(value);
    this.#wake?.();
  }

  fail(error: unknown): void {
    this.#failed = true;
    this.#error = error;
    this.#wake?.();
  }

  async next(signal: AbortSignal): Promise<T> {
    for (;;) {
      const value = this.#values.shift();
      if (value !== undefined) {
        return value;
      }
      if (this.#failed) {
        throw this.#error;
      }
      await unless(
        signal,
        new Promise<void>((resolve) => {
          this.#wake = resolve;
        }),
      );
    }
  }
}

/**
 * Yields a row and each change of it that is seen, until it has ended. It hears changes by
 * push, reads the row once whenever a push begins, since what happened before was not pushed,
 * and asks for it while there is none.
 *
 * @internal
 */
export async function* follow<T extends Row>(f: Following<T>, signal?: AbortSignal, closing?: AbortSignal): AsyncGenerator<T, void, undefined> {
  const [stop, end] = linked(signal, closing);
  const inbox = new Inbox<T>();
  let seq = 0;
  const see = (row: T): void => {
    if (row.seq > seq) {
      seq = row.seq;
      inbox.add(row);
    }
  };
  const deaf = f.listen(see);
  const release = f.push.acquire();
  poll(f, () => seq, see, stop.signal).catch((error: unknown) => inbox.fail(error));
  try {
    for (;;) {
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

async function poll<T extends Row>(f: Following<T>, seq: () => number, see: (row: T) => void, signal: AbortSignal): Promise<void> {
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

/** Reports whether following goes on after an error. @internal */
export function mayPass(error: unknown): boolean {
  return isTemporary(error) || (error instanceof ProblemError && error.status >= 500);
}
