import { linked } from "./abort.js";
import type { LatencySample, Location } from "./api.js";
import { NetworkError, TimeoutError } from "./errors.js";

/** How latency is measured. */
export interface MeasureOptions {
  /** Gives the measurement up. */
  readonly signal?: AbortSignal | undefined;
  /** Round trips for each location, besides the first, which does not count; default 5. */
  readonly samples?: number | undefined;
  /** Locations at a time; default 4. */
  readonly parallel?: number | undefined;
  /** Of one round trip, in milliseconds; default 1000. */
  readonly timeoutMs?: number | undefined;
  /** Of the whole measurement, in milliseconds; default 6000. */
  readonly deadlineMs?: number | undefined;
  /** Whether beacons are asked to sign what they measure; needed where the matchmaker requires it. */
  readonly receipts?: boolean | undefined;
  /** `udp` or `https`; default: the best that the location and the platform have. */
  readonly transport?: "udp" | "https" | undefined;
}

/** What a beacon was measured with. @internal */
export interface Measured {
  readonly rttMs: number;
  readonly receipt?: string | undefined;
}

/** Measures a beacon by datagrams, where the platform has them. @internal */
export type UdpMeasure = (address: string, samples: number, timeoutMs: number, receipt: boolean, signal: AbortSignal) => Promise<Measured>;

/** Returns the middle value; the higher of two. @internal */
export function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN;
}

/**
 * Measures locations. One that cannot be reached is left out: an invented figure would invite
 * a match there.
 *
 * @internal
 */
export async function measure(locations: readonly Location[], o: MeasureOptions, fetcher: typeof fetch, udp?: UdpMeasure): Promise<LatencySample[]> {
  const [controller, end] = linked(o.signal);
  const deadline = setTimeout(() => controller.abort(new TimeoutError("the measurement took too long")), o.deadlineMs ?? 6000);
  const results = new Map<string, LatencySample>();
  const todo = [...locations];
  const worker = async (): Promise<void> => {
    for (let l = todo.shift(); l; l = todo.shift()) {
      const sample = await one(l, o, controller.signal, fetcher, udp).catch(() => undefined);
      if (sample) {
        results.set(l.name, sample);
      }
    }
  };
  try {
    await Promise.all(Array.from({ length: o.parallel ?? 4 }, worker));
  } finally {
    clearTimeout(deadline);
    end();
  }
  if (o.signal?.aborted) {
    throw o.signal.reason;
  }
  return locations.flatMap((l) => results.get(l.name) ?? []);
}

async function one(l: Location, o: MeasureOptions, signal: AbortSignal, fetcher: typeof fetch, udp?: UdpMeasure): Promise<LatencySample> {
  const samples = o.samples ?? 5;
  const timeoutMs = o.timeoutMs ?? 1000;
  const receipts = o.receipts ?? false;
  if (udp && l.udp && o.transport !== "https") {
    try {
      return { location: l.name, method: "udp", ...(await udp(l.udp, samples, timeoutMs, receipts, signal)) };
    } catch (error) {
      if (o.transport === "udp") {
        throw error;
      }
    }
  }
  if (!l.https || o.transport === "udp") {
    throw new NetworkError(`${l.name} has no beacon for this client`);
  }
  return { location: l.name, method: "https", ...(await https(l.https, samples, timeoutMs, receipts, signal, fetcher)) };
}

/** Takes the median of requests on a connection that the first one opens. */
async function https(url: string, samples: number, timeoutMs: number, receipt: boolean, signal: AbortSignal, fetcher: typeof fetch): Promise<Measured> {
  const get = async (query: Record<string, string>): Promise<string> => {
    const to = new URL(url);
    for (const [name, value] of Object.entries(query)) {
      to.searchParams.set(name, value);
    }
    const [controller, end] = linked(signal);
    const timer = setTimeout(() => controller.abort(new TimeoutError("the beacon did not answer")), timeoutMs);
    try {
      const response = await fetcher(to, { signal: controller.signal, credentials: "omit", cache: "no-store" });
      const text = await response.text();
      if (!response.ok) {
        throw new NetworkError(`the beacon answered ${response.status}`);
      }
      return text;
    } finally {
      clearTimeout(timer);
      end();
    }
  };
  await get({});
  const trips: number[] = [];
  for (let i = 0; i < samples; i++) {
    const begun = performance.now();
    await get({});
    trips.push(performance.now() - begun);
  }
  const rttMs = median(trips);
  if (!receipt) {
    return { rttMs };
  }
  const nonce = Array.from(crypto.getRandomValues(new Uint8Array(8)), (b) => b.toString(16).padStart(2, "0")).join("");
  const stamp = await get({ nonce });
  const signed = stamp === "" ? "" : await get({ nonce, stamp });
  return signed === "" ? { rttMs } : { rttMs, receipt: signed };
}
