import { NetworkError, ProblemError, TimeoutError } from "./errors.js";

const firstPause = 250;
const longestPause = 10_000;
/** The longest Retry-After that a request waits for. */
const patience = 10_000;
const mostRetries = 3;

/**
 * Returns how long to wait after so many failures in a row: a random time up to a limit that
 * doubles with each (full jitter).
 *
 * @internal
 */
export function backoff(failures: number, random: () => number): number {
  return random() * Math.min(longestPause, firstPause * 2 ** Math.max(0, failures - 1));
}

/** Reports whether an error may be gone at the next attempt. @internal */
export function isTemporary(error: unknown): boolean {
  if (error instanceof ProblemError) {
    return error.status === 429 || (error.status >= 502 && error.status <= 504);
  }
  return error instanceof NetworkError || error instanceof TimeoutError;
}

/**
 * Returns how long to wait before a request that failed is repeated; undefined if it must not
 * be. retries is how often it was repeated already. A request that is not idempotent may have
 * had its effect, and is never repeated.
 *
 * @internal
 */
export function retryDelay(error: unknown, idempotent: boolean, retries: number, random: () => number): number | undefined {
  if (!idempotent || retries >= mostRetries || !isTemporary(error)) {
    return undefined;
  }
  const asked = error instanceof ProblemError ? (error.retryAfterMs ?? 0) : 0;
  return asked > patience ? undefined : asked + backoff(retries + 1, random);
}
