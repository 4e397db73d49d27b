import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { createSocket } from "node:dgram";
import { mkdtemp, readdir, rm, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import { test } from "node:test";
import { median } from "../src/latency.js";
import { FileTokenStore } from "../src/node/store.js";
import { measureUdp, splitAddress } from "../src/node/udp.js";
import { FrameError, NodeWebSocket, readFrame, writeFrame } from "../src/node/websocket.js";
import { stored } from "./helpers.js";

test("a file keeps a login for its owner alone", async () => {
  const dir = await mkdtemp(join(tmpdir(), "muster-"));
  try {
    const file = join(dir, "login.json");
    const store = new FileTokenStore(file);
    assert.equal(await store.load(), undefined);
    await store.save(stored);
    await store.save({ ...stored, refreshToken: "refresh-1" });
    assert.equal((await stat(file)).mode & 0o777, 0o600);
    assert.deepEqual(await readdir(dir), ["login.json"]);
    assert.deepEqual(await new FileTokenStore(file).load(), { ...stored, refreshToken: "refresh-1" });
    await writeFile(file, "{");
    await assert.rejects(async () => store.load(), SyntaxError, "a new guest must not replace an account");
    await store.clear();
    await store.clear();
    assert.equal(await store.load(), undefined);
  } finally {
    await rm(dir, { recursive: true });
  }
});

/** Undoes the mask of a client's frame, so that it is a server's. */
function unmask(frame: Buffer): Buffer {
  const size = frame.readUInt8(1) & 0x7f;
  const at = size === 126 ? 4 : size === 127 ? 10 : 2;
  const mask = frame.subarray(at, at + 4);
  const head = Buffer.from(frame.subarray(0, at));
  head.writeUInt8(head.readUInt8(1) & 0x7f, 1);
  return Buffer.concat([head, frame.subarray(at + 4).map((b, i) => b ^ (mask[i % 4] ?? 0))]);
}

test("frames of all lengths are read as they were written, in whatever pieces", () => {
  for (const length of [0, 1, 125, 126, 127, 65535, 65536, 1 << 20]) {
    const data = randomBytes(length);
    const frame = unmask(writeFrame(1, data, randomBytes(4)));
    for (const cut of [0, 1, 2, 3, 5, 9, frame.length - 1]) {
      assert.equal(cut < frame.length ? readFrame(frame.subarray(0, cut)) : undefined, undefined, `${length}, cut at ${cut}`);
    }
    const [f, rest] = readFrame(Buffer.concat([frame, Buffer.from("more")])) ?? assert.fail();
    assert.ok(f.data.equals(data) && f.final && f.opcode === 1);
    assert.equal(rest.toString(), "more");
  }
});

test("what is no frame of a server is refused", () => {
  for (const bytes of [[0x81, 0x80], [0xc1, 0], [0x83, 0], [0x8b, 0], [0x89, 126], [0x09, 0], [0x81, 127, 1, 0, 0, 0, 0, 0, 0, 0], [0x81, 127, 0, 0, 0, 0, 0, 0x20, 0, 0]]) {
    assert.throws(() => readFrame(Buffer.from(bytes)), FrameError, String(bytes));
  }
});

/** Runs a server that upgrades, and passes the connection on. */
async function upgrading(then: (stream: Duplex) => void, run: (url: string) => Promise<void>): Promise<void> {
  const s = createServer();
  const streams: Duplex[] = [];
  s.on("upgrade", (request, stream) => {
    const accept = createHash("sha1").update(`${request.headers["sec-websocket-key"]}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest("base64");
    stream.write(`HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\nSec-WebSocket-Protocol: p\r\n\r\n`);
    stream.on("error", () => undefined);
    streams.push(stream);
    then(stream);
  });
  await new Promise<void>((resolve) => s.listen(0, "127.0.0.1", resolve));
  try {
    await run(`ws://127.0.0.1:${(s.address() as AddressInfo).port}/`);
  } finally {
    streams.forEach((stream) => stream.destroy()); // those that were upgraded are not the server's any more
    s.close();
  }
}

const text = (s: string): Buffer => unmask(writeFrame(1, Buffer.from(s), randomBytes(4)));

test("a WebSocket reads messages in parts, answers pings, and ends with the server's code", async () => {
  const heard: Buffer[] = [];
  await upgrading(
    (stream) => {
      stream.on("data", (b: Buffer) => heard.push(b));
      const [first, second] = [text("zwei"), text("fünf")];
      first.writeUInt8(0x01, 0); // not final
      second.writeUInt8(0x80, 0); // the rest
      const ping = Buffer.concat([Buffer.from([0x89, 2]), Buffer.from("hi")]);
      const close = Buffer.concat([Buffer.from([0x88, 2]), Buffer.from([0x11, 0x39])]);
      for (const b of Buffer.concat([text("eins"), first, ping, second, close])) {
        stream.write(Buffer.from([b]));
      }
    },
    async (url) => {
      const ws = new NodeWebSocket(url, "p");
      const all: string[] = [];
      const code = await new Promise((resolve) => {
        ws.onmessage = ((e: { data: string }) => all.push(e.data)) as never;
        ws.onclose = ((e: { code: number }) => resolve(e.code)) as never;
      });
      assert.deepEqual(all, ["eins", "zweifünf"]);
      assert.equal(code, 4409);
    },
  );
});

test("a server that breaks the protocol, or is none, ends the WebSocket", async () => {
  const codeOf = (url: string): Promise<number> =>
    new Promise((resolve) => {
      new NodeWebSocket(url, "p").onclose = ((e: { code: number }) => resolve(e.code)) as never;
    });
  await upgrading((stream) => stream.write(Buffer.from([0x81, 0x80, 0, 0])), async (url) => assert.equal(await codeOf(url), 1006));
  await upgrading((stream) => stream.destroy(), async (url) => assert.equal(await codeOf(url), 1006));
  await upgrading((stream) => stream.write(Buffer.from([0x81, 2, 0xff, 0xff])), async (url) => assert.equal(await codeOf(url), 1006));
  assert.equal(await codeOf("ws://127.0.0.1:1/"), 1006);
});

test("the median is the middle value", () => {
  assert.equal(median([3, 1, 2]), 2);
  assert.equal(median([10, 1]), 10);
  assert.ok(Number.isNaN(median([])));
});

test("a beacon is measured by datagrams, and lost ones are bounded", async () => {
  const beacon = createSocket("udp4");
  let n = 0;
  let lost = 0;
  beacon.on("message", (m, from) => (n++ < lost ? undefined : beacon.send(m, from.port, from.address)));
  await new Promise<void>((resolve) => beacon.bind(0, "127.0.0.1", resolve));
  const address = `127.0.0.1:${beacon.address().port}`;
  try {
    const { rttMs } = await measureUdp(address, 3, 500, false, new AbortController().signal);
    assert.ok(rttMs > 0);
    [n, lost] = [0, 3];
    await assert.rejects(measureUdp(address, 3, 20, false, new AbortController().signal), /1 of 3/);
    const enough = AbortSignal.abort(new Error("enough"));
    await assert.rejects(measureUdp(address, 3, 20, false, enough), /enough/);
  } finally {
    beacon.close();
  }
  assert.deepEqual(splitAddress("[::1]:7"), ["::1", 7]);
  assert.throws(() => splitAddress("host"));
});
