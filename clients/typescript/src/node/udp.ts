import { randomBytes } from "node:crypto";
import { createSocket, type Socket } from "node:dgram";
import { NetworkError } from "../errors.js";
import { median, type Measured } from "../latency.js";

const nonceSize = 8;
/** Between two datagrams: beacons answer ten a second. */
const intervalMs = 120;
/** The least size of the datagrams that ask for a receipt: an answer is never longer. */
const askSize = { time: 64, receipt: 300 } as const;

/** Measures a beacon by datagrams: the median of those that came back, but for the first. @internal */
export async function measureUdp(address: string, samples: number, timeoutMs: number, receipt: boolean, signal: AbortSignal): Promise<Measured> {
  const [host, port] = splitAddress(address);
  const socket = createSocket(host.includes(":") ? "udp6" : "udp4");
  try {
    await new Promise<void>((resolve, reject) => {
      socket.once("error", reject);
      socket.connect(port, host, resolve);
    });
    socket.on("error", () => undefined); // nobody listens there: no answer comes
    const trips: number[] = [];
    for (let i = 0; i <= samples; i++) {
      const begun = performance.now();
      const number = Buffer.alloc(4);
      number.writeUInt32BE(i);
      const datagram = Buffer.concat([randomBytes(nonceSize), number]);
      const back = await exchange(socket, datagram, (answer) => answer.equals(datagram), timeoutMs, signal);
      if (back && i > 0) {
        trips.push(performance.now() - begun);
      }
      if (i < samples) {
        await new Promise((resolve) => setTimeout(resolve, Math.max(0, intervalMs - (performance.now() - begun))));
      }
    }
    if (trips.length * 2 <= samples) {
      throw new NetworkError(`${trips.length} of ${samples} datagrams came back`);
    }
    const rttMs = median(trips);
    return receipt ? { rttMs, receipt: await ask(socket, timeoutMs, signal) } : { rttMs };
  } finally {
    socket.close();
  }
}

/** Splits HOST:PORT. @internal */
export function splitAddress(address: string): [host: string, port: number] {
  const m = /^\[?([^\]]*)\]?:(\d+)$/.exec(address);
  if (!m) {
    throw new NetworkError(`${address} is no HOST:PORT`);
  }
  return [m[1] ?? "", Number(m[2])];
}

/** Sends a datagram and waits for the answer that fits; undefined if none comes in time. */
function exchange(socket: Socket, datagram: Buffer, fits: (answer: Buffer) => boolean, timeoutMs: number, signal: AbortSignal): Promise<Buffer | undefined> {
  return new Promise((resolve, reject) => {
    const end = (): void => {
      clearTimeout(timer);
      socket.off("message", heard);
      signal.removeEventListener("abort", abort);
    };
    const heard = (answer: Buffer): void => {
      if (fits(answer)) {
        end();
        resolve(answer);
      }
    };
    const abort = (): void => {
      end();
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      end();
      resolve(undefined);
    }, timeoutMs);
    if (signal.aborted) {
      abort();
      return;
    }
    signal.addEventListener("abort", abort);
    socket.on("message", heard);
    socket.send(datagram, () => undefined); // an error counts as no answer
  });
}

/** Has the beacon measure, and returns what it signs; undefined if it signs nothing. */
async function ask(socket: Socket, timeoutMs: number, signal: AbortSignal): Promise<string | undefined> {
  const nonce = randomBytes(nonceSize);
  const say = (tag: string, body: Buffer, size: number, expected: string): Promise<Buffer | undefined> => {
    const begin = Buffer.concat([Buffer.from(expected), nonce]);
    const text = Buffer.concat([Buffer.from(tag), body]);
    return exchange(socket, Buffer.concat([text, Buffer.alloc(size - text.length)]), (a) => a.subarray(0, begin.length).equals(begin), timeoutMs, signal);
  };
  const stamped = await say("GLB1", nonce, askSize.time, "GLB2");
  const signed = stamped && (await say("GLB3", stamped.subarray(4), askSize.receipt, "GLB4"));
  return signed?.subarray(4 + nonceSize).toString("utf8") || undefined;
}
