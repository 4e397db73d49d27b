// What the console asks its server: views, operations of the AWS API, and who one is.

import { signal } from "@preact/signals";
import { root } from "./route";

/** Whose console it is. */
export interface Me {
  local: boolean;
  key_id?: string;
  person?: boolean;
  name: string;
  role: string;
  scope?: string;
  /** The name of one's own login. */
  login?: string;
  region: string;
  /** All regions of the deployment, the home region first, if there are several. */
  regions?: string[];
  account: string;
  expires?: string;
  csrf?: string;
  may: string[];
  now: string;
}

/** Who one is; undefined before it is known, null if one has to log in. */
export const me = signal<Me | null | undefined>(undefined);

/** A refusal or failure of the server. */
export class Failure extends Error {
  constructor(
    readonly status: number,
    message: string,
    readonly request = "",
    readonly code = "",
    /** After how many seconds the server may say something else; 0 if it is not known. */
    readonly wait = 0,
  ) {
    super(message);
  }
}

/** Reports whether the reader's role allows an action. */
export const may = (action: string): boolean => me.value?.may.includes(action) ?? false;

function headers(more: Record<string, string> = {}): Record<string, string> {
  const csrf = me.peek()?.csrf;
  return csrf ? { ...more, "X-Muster-Csrf": csrf } : more;
}

async function failure(r: Response): Promise<Failure> {
  let message = `the server answered ${r.status}`;
  let code = "";
  try {
    const body = (await r.json()) as { message?: string; Message?: string; __type?: string };
    message = body.message ?? body.Message ?? message;
    code = body.__type?.split("#").pop() ?? "";
  } catch {
    // not JSON: the status is all there is to say
  }
  return new Failure(r.status, message, r.headers.get("X-Amzn-Requestid") ?? "", code, Number(r.headers.get("Retry-After")) || 0);
}

/** The server as other programs reach the region that is shown: what does not sign names the region in its path. */
export const server = location.origin + root;

/** Returns a command as it has to be for the region that is shown: it signs for that. */
export function inRegion(command: string): string {
  const who = me.value;
  if (!who?.regions) return command;
  if (/^muster (?!local|serve|simulate|agent)/.test(command)) return `${command} --region ${who.region}`;
  return command.replace(/^aws gamelift /, `aws gamelift --region ${who.region} `);
}

async function checked(r: Response): Promise<Response> {
  if (r.ok) return r;
  const f = await failure(r);
  if (r.status === 401 && me.peek()) me.value = null; // the login has ended
  throw f;
}

/** Asks who one is. */
export async function whoami(): Promise<void> {
  const r = await fetch(root + "/console/api/me", { headers: { Accept: "application/json" } });
  if (r.status === 401) {
    me.value = null;
    return;
  }
  me.value = (await (await checked(r)).json()) as Me;
}

/** Logs in with an access key. */
export async function logIn(keyID: string, secret: string): Promise<void> {
  const r = await fetch(root + "/console/api/login", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ key_id: keyID, secret }),
  });
  if (!r.ok) throw await failure(r);
  await whoami();
  for (let i = 0; !me.peek() && i < 20; i++) {
    await new Promise((resolve) => setTimeout(resolve, 100)); // the login is of the home region, and other regions know it a moment later
    await whoami();
  }
}

/** How one can log in. */
export interface Ways {
  provider?: { name: string };
  /** Why the last attempt with the provider failed; it is told once. */
  problem?: string;
}

/** Asks how one can log in. */
export async function ways(): Promise<Ways> {
  const r = await fetch(root + "/console/api/login", { headers: { Accept: "application/json" } });
  if (!r.ok) throw await failure(r);
  return (await r.json()) as Ways;
}

/** Goes to the identity provider, which sends the browser back to this page. */
export async function leave(): Promise<void> {
  const r = await fetch(root + "/console/api/login/provider", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ to: location.pathname + location.search }),
  });
  if (!r.ok) throw await failure(r);
  location.assign(((await r.json()) as { url: string }).url);
}

/** Logs out. */
export async function logOut(): Promise<void> {
  await checked(await fetch(root + "/console/api/login", { method: "DELETE", headers: headers() }));
  me.value = null;
}

/** Returns the answer of a path that is read with GET. */
export async function read<T>(path: string, signal?: AbortSignal): Promise<T> {
  return (await (await checked(await fetch(root + path, { signal, headers: { Accept: "application/json" } }))).json()) as T;
}

/** Calls an operation until its answers have no more pages, and returns a list of all of them. */
export async function all<T>(operation: string, list: string, input: Record<string, unknown> = {}): Promise<T[]> {
  const out: T[] = [];
  for (let token: string | undefined; ; ) {
    const page = await call<Record<string, unknown>>(operation, token ? { ...input, NextToken: token } : input);
    out.push(...((page[list] as T[] | undefined) ?? []));
    token = page["NextToken"] as string | undefined;
    if (!token || out.length > 5000) return out;
  }
}

/** Sends a request to one of Muster's own paths. */
export async function send<T>(method: string, path: string, body?: unknown): Promise<T> {
  const r = await checked(
    await fetch(root + path, {
      method,
      headers: headers(body === undefined ? {} : { "Content-Type": "application/json" }),
      body: body === undefined ? undefined : JSON.stringify(body),
    }),
  );
  const text = await r.text();
  return (text ? JSON.parse(text) : undefined) as T;
}

/** Calls an operation of the AWS API. */
export async function call<T>(operation: string, input: unknown = {}): Promise<T> {
  const r = await fetch(root + "/", {
    method: "POST",
    headers: headers({ "Content-Type": "application/x-amz-json-1.1", "X-Amz-Target": `GameLift.${operation}` }),
    body: JSON.stringify(input),
  });
  const text = await (await checked(r)).text();
  return (text ? JSON.parse(text) : {}) as T;
}

/** Returns a view of the server at this moment. */
export async function view<T>(name: string, params: Record<string, string> = {}, signal?: AbortSignal): Promise<T> {
  const frame = await read<{ data: T }>(`/console/api/views/${name}?${new URLSearchParams(params)}`, signal);
  return frame.data;
}

/** Opens a stream of JSON lines, by POST if it has a body, and calls f with each. It returns when the stream ends. */
export async function lines(path: string, signal: AbortSignal, f: (line: unknown) => void, body?: unknown): Promise<void> {
  const r = await checked(await fetch(root + path, body === undefined ? { signal } : { signal, method: "POST", headers: headers({ "Content-Type": "application/json" }), body: JSON.stringify(body) }));
  const reader = r.body!.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const parts = (rest + value).split("\n");
    rest = parts.pop()!;
    for (const part of parts) if (part) f(JSON.parse(part));
  }
}
