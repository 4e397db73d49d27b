import type { Tokens } from "../src/store.js";

/** A request that a fake server got. */
export interface Got {
  readonly method: string;
  readonly path: string;
  readonly headers: Headers;
  readonly body: unknown;
}

/** Returns a fetch that is answered by a function, and what it was asked. */
export function server(answer: (r: Got, n: number) => Response | Promise<Response>): { fetch: typeof fetch; got: Got[] } {
  const got: Got[] = [];
  const fetcher = async (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
    init?.signal?.throwIfAborted();
    const r: Got = {
      method: init?.method ?? "GET",
      path: String(input).replace("http://muster.test/player/v1", ""),
      headers: new Headers(init?.headers),
      body: typeof init?.body === "string" ? JSON.parse(init.body) : undefined,
    };
    got.push(r);
    return answer(r, got.length);
  };
  return { fetch: fetcher, got };
}

/** Returns an answer of JSON. */
export function json(status: number, body: unknown, headers: Record<string, string> = {}): Response {
  return new Response(JSON.stringify(body), { status, headers });
}

/** Returns a problem. */
export function problem(status: number, code: string, more: Record<string, unknown> = {}, headers: Record<string, string> = {}): Response {
  return json(status, { type: `urn:muster:problem:${code}`, title: code, status, code, instance: "urn:1", ...more }, headers);
}

/** Returns the answer to a login. */
export function login(n: number, more: Record<string, unknown> = {}): Response {
  return json(200, {
    player_id: "p-1",
    scope: "guest",
    access_token: `access-${n}`,
    access_token_expires_in: 900,
    refresh_token: `refresh-${n}`,
    refresh_token_expires_in: 3600,
    created: false,
    identities: [],
    ...more,
  });
}

/** A login that is stored. */
export const stored: Tokens = {
  playerId: "p-1",
  scope: "guest",
  guestSecret: "secret-0",
  accessToken: "access-0",
  renewAt: 720_000,
  expiresAt: 900_000,
  refreshToken: "refresh-0",
};
