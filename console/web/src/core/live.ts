// One stream to the server: what the page shows, whenever it has changed.

import { batch, computed, effect, signal, type ReadonlySignal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { Failure, lines } from "./api";

interface Frame {
  at: string;
  seq: number;
  data?: unknown;
  error?: string;
  gone?: boolean;
}

/** Whether updates are held back. */
export const paused = signal(false);

/** How many updates have been held back since. */
export const behind = signal(0);

/** The server's clock minus this machine's, in milliseconds. */
export const offset = signal(0);

/** The number of the last event that is part of what is shown. */
export const shownSeq = signal(0);

/** When the last frame came, in this machine's time; 0 before. */
export const heard = signal(0);

/** Since when there has been no connection, in this machine's time; 0 while there is one. */
export const offlineSince = signal(0);

/** This moment on the server's clock, to the second; it stands still while paused. */
export const clock = signal(Date.now());

setInterval(() => {
  if (!paused.peek()) clock.value = Math.floor((Date.now() + offset.peek()) / 1000) * 1000;
}, 250);

/** What is known of a view. */
export interface Live<T> {
  data: ReadonlySignal<T | undefined>;
  error: ReadonlySignal<string>;
  gone: ReadonlySignal<boolean>;
}

const hiddenFor = 10_000; // before a tab that nobody sees gives up its stream

/** Follows a view of the server while the component is shown. When its parameters change, what
 *  was known stays until the new answer comes. */
export function useLive<T>(name: string, params: Record<string, string> = {}, every = 500): Live<T> {
  const first = useRef(true);
  const key = `${name}?${new URLSearchParams({ ...params, every: String(every) })}`;
  const live = useMemo(() => ({ data: signal<T | undefined>(undefined), error: signal(""), gone: signal(false) }), [name]);
  useEffect(() => {
    const wait = setTimeout(() => (end = follow(key, live)), first.current ? 0 : 150); // while one types a filter
    let end = (): void => {};
    first.current = false;
    return () => {
      clearTimeout(wait);
      end();
    };
  }, [key]);
  return live;
}

interface Cells {
  data: { value: unknown };
  error: { value: string };
  gone: { value: boolean };
}

/** Keeps cells filled with a view until the function that it returns is called. */
function follow(key: string, cells: Cells): () => void {
  let stop: AbortController | undefined;
  let over = false;
  let pause = 500;
  let retry = 0;
  let held: Frame | undefined;
  let hide = 0;

  const apply = (frame: Frame): void => {
    batch(() => {
      offset.value = Date.parse(frame.at) - Date.now();
      shownSeq.value = frame.seq;
      cells.error.value = frame.error ?? "";
      cells.gone.value = frame.gone ?? false;
      if (frame.data !== undefined) cells.data.value = frame.data;
    });
  };
  let pending: Frame | undefined;
  let any = false; // the first frame is shown even while paused
  const take = (frame: Frame): void => {
    heard.value = Date.now();
    if (paused.peek() && any) {
      held = frame;
      behind.value++;
      return;
    }
    any = true;
    if (!pending) requestAnimationFrame(() => {
      const next = pending;
      pending = undefined;
      if (next && !over) apply(next);
    });
    pending = frame;
    if (document.hidden) { apply(frame); pending = undefined; }
  };
  const open = async (): Promise<void> => {
    stop = new AbortController();
    try {
      await lines(`/console/api/live/${key}`, stop.signal, (line) => {
        pause = 500;
        if (offlineSince.peek()) offlineSince.value = 0;
        take(line as Frame);
      });
    } catch (e) {
      if (over || stop.signal.aborted) return;
      if (e instanceof Failure && e.status < 500) {
        batch(() => {
          cells.error.value = e.message;
          cells.gone.value = e.status === 404;
        });
        if (e.status === 429) retry = window.setTimeout(open, Math.max(pause, 1000 * e.wait) * (1 + Math.random() / 4)); // too many pages are open
        return; // otherwise asking again would not help
      }
    }
    if (over || stop.signal.aborted) return;
    if (!offlineSince.peek()) offlineSince.value = Date.now();
    retry = window.setTimeout(open, pause * (0.75 + Math.random() / 2));
    pause = Math.min(2 * pause, 15_000);
  };
  const release = effect(() => {
    if (paused.value || !held) return;
    const frame = held;
    held = undefined;
    behind.value = 0;
    apply(frame);
  });
  const seen = (): void => {
    clearTimeout(hide);
    if (document.hidden) hide = window.setTimeout(() => stop?.abort(), hiddenFor);
    else if (stop?.signal.aborted) void open();
  };
  document.addEventListener("visibilitychange", seen);
  void open();
  return () => {
    over = true;
    release();
    stop?.abort();
    clearTimeout(retry);
    clearTimeout(hide);
    behind.value = 0;
    offlineSince.value = 0;
    document.removeEventListener("visibilitychange", seen);
  };
}

/** Reports whether the connection is lost: for how many seconds, 0 if it is not. */
export const offlineFor = computed(() => (offlineSince.value ? Math.max(1, Math.round((clock.value - offset.value - offlineSince.value) / 1000)) : 0));
