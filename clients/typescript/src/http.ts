import { linked, sleep } from "./abort.js";
import { NetworkError, ProblemError, problemOf, TimeoutError, UsageError } from "./errors.js";
import { retryDelay } from "./retry.js";

/** One request. @internal */
export interface HttpRequest {
  readonly method: string;
  /** The path below the API's, with the query. */
  readonly path: string;
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
  /** Whether it may be repeated; default: by the method. */
  readonly idempotent?: boolean;
  readonly signal?: AbortSignal | undefined;
  /** How long the server is asked to wait, in addition to the time that an answer may take. */
  readonly waitMs?: number;
  /** Whether it is sent even if the page is closed at once. */
  readonly keepalive?: boolean;
}

/** What was answered. @internal */
export interface HttpAnswer {
  readonly status: number;
  readonly headers: Headers;
  /** The JSON of the body; undefined if it is empty. */
  readonly body: unknown;
}

/** The longest answer that is read, in bytes. */
const longestAnswer = 4 << 20;

/** Sends requests: JSON both ways, with a time limit, repeated where that is safe. @internal */
export class Http {
  readonly base: string;
  readonly #fetch: typeof fetch;
  readonly #timeoutMs: number;
  readonly #random: () => number;
  readonly #now: () => number;

  constructor(base: string, fetcher: typeof fetch, timeoutMs: number, random: () => number, now: () => number) {
    this.base = base;
    this.#fetch = fetcher;
    this.#timeoutMs = timeoutMs;
    this.#random = random;
    this.#now = now;
  }

  async send(r: HttpRequest): Promise<HttpAnswer> {
    const idempotent = r.idempotent ?? /^(GET|PUT|DELETE)$/.test(r.method);
    for (let retries = 0; ; retries++) {
      try {
        return await this.#once(r);
      } catch (error) {
        if (retries > 0 && r.method === "DELETE" && error instanceof ProblemError && error.status === 404) {
          return { status: 204, headers: new Headers(), body: undefined }; // an earlier attempt did it
        }
        const delay = retryDelay(error, idempotent, retries, this.#random);
        if (delay === undefined || r.signal?.aborted) {
          throw error;
        }
        await sleep(delay, r.signal);
      }
    }
  }

  async #once(r: HttpRequest): Promise<HttpAnswer> {
    const [controller, end] = linked(r.signal);
    const timer = setTimeout(
      () => controller.abort(new TimeoutError(`${r.method} ${r.path.split("?")[0]}: no answer in time`)),
      this.#timeoutMs + (r.waitMs ?? 0),
    );
    try {
      const headers: Record<string, string> = { ...r.headers };
      const init: RequestInit = {
        method: r.method,
        headers,
        signal: controller.signal,
        credentials: "omit",
        cache: "no-store",
        redirect: "error",
        keepalive: r.keepalive ?? false,
      };
      if (r.body !== undefined) {
        headers["Content-Type"] = "application/json";
        init.body = JSON.stringify(r.body);
      }
      const fetcher = this.#fetch; // not called as a method: browsers refuse another this
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

  #answer(r: HttpRequest, response: Response, text: string): HttpAnswer {
    if (response.status >= 400) {
      throw problemOf(response.status, text, response.headers.get("Retry-After"), this.#now());
    }
    try {
      return { status: response.status, headers: response.headers, body: text === "" ? undefined : JSON.parse(text) };
    } catch {
      throw new NetworkError(`${r.method} ${r.path.split("?")[0]}: the answer is not JSON`);
    }
  }
}

/** Reads a body, up to a limit. */
async function textOf(response: Response): Promise<string> {
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

/**
 * Builds a path of text and names, which are escaped.
 *
 * @internal
 */
export function path(text: TemplateStringsArray, ...names: string[]): string {
  return names.reduce((all, name, i) => {
    if (name === "" || name === "." || name === "..") {
      throw new UsageError(`${JSON.stringify(name)} cannot be a part of a path`); // URLs have no such segments
    }
    return all + encodeURIComponent(name) + text[i + 1];
  }, text[0] ?? "");
}

/**
 * Builds a query of members that are defined.
 *
 * @internal
 */
export function query(members: Record<string, string | number | boolean | undefined>): string {
  const all = Object.entries(members).filter(([, value]) => value !== undefined);
  return all.length === 0 ? "" : "?" + new URLSearchParams(all.map(([name, value]) => [name, String(value)]));
}
