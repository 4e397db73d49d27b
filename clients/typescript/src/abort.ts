/**
 * Returns a controller that is aborted with any of the signals, and a function that ends its
 * ties to them, which the caller must call.
 *
 * @internal
 */
export function linked(...signals: (AbortSignal | undefined)[]): [AbortController, () => void] {
  const controller = new AbortController();
  const ends: (() => void)[] = [];
  for (const signal of signals) {
    if (signal?.aborted) {
      controller.abort(signal.reason);
    }
    const abort = (): void => controller.abort(signal?.reason);
    signal?.addEventListener("abort", abort);
    ends.push(() => signal?.removeEventListener("abort", abort));
  }
  return [controller, () => ends.forEach((end) => end())];
}

/** Waits; rejects with the signal's reason if that is aborted first. @internal */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return abortable(
    (done) => {
      const timer = setTimeout(done, ms);
      return () => clearTimeout(timer);
    },
    signal,
  );
}

/**
 * Returns a promise that start fulfills, unless the signal is aborted first. start returns
 * what ends its work; it is called in either case.
 *
 * @internal
 */
export function abortable(start: (done: () => void) => () => void, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(signal.reason);
      return;
    }
    const abort = (): void => {
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

/** Waits for work that others wait for too, until the signal is aborted. @internal */
export function unless<T>(signal: AbortSignal | undefined, work: Promise<T>): Promise<T> {
  if (!signal) {
    return work;
  }
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason);
    if (signal.aborted) {
      abort();
    }
    signal.addEventListener("abort", abort);
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}

/**
 * Calls a handler when the player leaves the page, until the function that it returns is
 * called. Where there is no page, it never calls it.
 *
 * @internal
 */
export function onLeave(handler: () => void): () => void {
  if (typeof document === "undefined") {
    return () => undefined;
  }
  addEventListener("pagehide", handler);
  return () => removeEventListener("pagehide", handler);
}
