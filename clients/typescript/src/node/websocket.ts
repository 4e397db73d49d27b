import { createHash, randomBytes } from "node:crypto";
import { request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import type { Duplex } from "node:stream";
import type { SocketLike } from "../socket.js";

const opcode = { more: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;
const magic = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
/** The server's messages are tickets and parties: small. */
const longestMessage = 1 << 20;
const longestControl = 125;
const handshakeMs = 10_000;
/** Until the other side has answered a close. */
const closeMs = 2_000;
const code = { normal: 1000, protocol: 1002, noCode: 1005, abnormal: 1006, badText: 1007, tooLong: 1009 } as const;

type Handler = ((event: never) => void) | null;

/** One frame (RFC 6455). @internal */
export interface Frame {
  readonly final: boolean;
  readonly opcode: number;
  readonly data: Buffer;
}

/** Why bytes are no frames of a server; code is what to close with. @internal */
export class FrameError extends Error {
  readonly code: number;

  constructor(closeCode: number, message: string) {
    super(message);
    this.code = closeCode;
  }
}

/**
 * Returns the first frame of a server, and the bytes after it; undefined if it is not whole.
 *
 * @internal
 */
export function readFrame(bytes: Buffer): [Frame, Buffer] | undefined {
  if (bytes.length < 2) {
    return undefined;
  }
  const [first, second] = [bytes.readUInt8(0), bytes.readUInt8(1)];
  const kind = first & 0x0f;
  let length = second & 0x7f;
  if ((first & 0x70) !== 0 || (second & 0x80) !== 0 || (kind > opcode.binary && kind < opcode.close) || kind > opcode.pong) {
    throw new FrameError(code.protocol, "no frame of a server");
  }
  if (kind >= opcode.close && (length > longestControl || first < 0x80)) {
    throw new FrameError(code.protocol, "a control frame is short and whole");
  }
  let at = 2;
  if (length === 126) {
    at = 4;
    length = bytes.length < at ? 0 : bytes.readUInt16BE(2);
  } else if (length === 127) {
    at = 10;
    length = bytes.length < at ? 0 : Number(bytes.readBigUInt64BE(2));
  }
  if (length > longestMessage) {
    throw new FrameError(code.tooLong, "a frame is too long");
  }
  if (bytes.length < at + length) {
    return undefined;
  }
  return [{ final: first >= 0x80, opcode: kind, data: bytes.subarray(at, at + length) }, bytes.subarray(at + length)];
}

/** Returns a frame of a client, with the mask. @internal */
export function writeFrame(kind: number, data: Buffer, mask: Buffer): Buffer {
  const size = data.length < 126 ? 0 : data.length < 1 << 16 ? 2 : 8;
  const head = Buffer.alloc(2 + size);
  head.writeUInt8(0x80 | kind, 0);
  head.writeUInt8(0x80 | (size === 0 ? data.length : size === 2 ? 126 : 127), 1);
  if (size === 2) {
    head.writeUInt16BE(data.length, 2);
  } else if (size === 8) {
    head.writeBigUInt64BE(BigInt(data.length), 2);
  }
  return Buffer.concat([head, mask, data.map((b, i) => b ^ (mask[i % 4] ?? 0))]);
}

/** The WebSocket of Node.js versions that have none: text messages, as the player API has them. */
export class NodeWebSocket implements SocketLike {
  onopen: Handler = null;
  onmessage: Handler = null;
  onclose: Handler = null;
  onerror: Handler = null;
  readonly #key = randomBytes(16).toString("base64");
  readonly #giveUp: () => void;
  #stream: Duplex | undefined;
  #rest: Buffer = Buffer.alloc(0);
  #parts: Buffer[] = [];
  #partsSize = 0;
  #closeCode: number | undefined; // that the server sent
  #closing = false;
  #ended = false;
  #timer: ReturnType<typeof setTimeout>;

  constructor(url: string, protocol: string) {
    const to = new URL(url);
    to.protocol = to.protocol.replace("ws", "http");
    const request = (to.protocol === "https:" ? requestHttps : requestHttp)(to, {
      agent: false, // the connection is this socket's
      headers: {
        Connection: "Upgrade",
        Upgrade: "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": this.#key,
        "Sec-WebSocket-Protocol": protocol,
      },
    });
    this.#giveUp = () => request.destroy();
    this.#timer = setTimeout(() => this.terminate(), handshakeMs);
    request.on("upgrade", (response, stream, head) => {
      const accept = createHash("sha1").update(this.#key + magic).digest("base64");
      if (response.headers["sec-websocket-accept"] !== accept || response.headers["sec-websocket-protocol"] !== protocol || this.#ended) {
        stream.destroy();
        this.#end(code.abnormal);
        return;
      }
      this.#open(stream, head);
    });
    request.on("response", (response) => {
      response.destroy();
      this.#end(code.abnormal);
    });
    request.on("error", () => this.#end(code.abnormal));
    request.end();
  }

  send(text: string): void {
    this.#write(opcode.text, Buffer.from(text));
  }

  close(closeCode: number = code.normal): void {
    if (!this.#stream) {
      this.terminate();
      return;
    }
    if (!this.#closing) {
      const data = Buffer.alloc(2);
      data.writeUInt16BE(closeCode);
      this.#write(opcode.close, data);
      this.#closing = true;
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => this.terminate(), closeMs);
    }
  }

  /** Cuts the connection without a close frame. */
  terminate(): void {
    this.#end(code.abnormal);
  }

  #open(stream: Duplex, head: Buffer): void {
    clearTimeout(this.#timer);
    this.#stream = stream;
    stream.on("data", (bytes: Buffer) => this.#read(bytes));
    stream.on("error", () => this.#end(code.abnormal));
    stream.on("end", () => this.#end(this.#closeCode ?? code.abnormal));
    stream.on("close", () => this.#end(this.#closeCode ?? code.abnormal));
    this.onopen?.({} as never);
    this.#read(head);
  }

  #write(kind: number, data: Buffer): void {
    if (this.#stream && !this.#closing && !this.#ended) {
      this.#stream.write(writeFrame(kind, data, randomBytes(4)));
    }
  }

  #read(bytes: Buffer): void {
    this.#rest = this.#rest.length === 0 ? bytes : Buffer.concat([this.#rest, bytes]);
    try {
      for (let next = readFrame(this.#rest); next && !this.#ended; next = readFrame(this.#rest)) {
        this.#rest = next[1];
        this.#take(next[0]);
      }
    } catch (error) {
      if (!(error instanceof FrameError)) {
        throw error;
      }
      this.close(error.code);
      this.terminate();
    }
  }

  #take(f: Frame): void {
    switch (f.opcode) {
      case opcode.ping:
        this.#write(opcode.pong, f.data);
        return;
      case opcode.pong:
        return;
      case opcode.close:
        this.#closeCode = f.data.length < 2 ? code.noCode : f.data.readUInt16BE(0);
        this.close(this.#closeCode === code.noCode ? code.normal : this.#closeCode);
        this.#end(this.#closeCode);
        return;
      case opcode.binary:
        throw new FrameError(code.protocol, "a message is text");
    }
    if ((f.opcode === opcode.more) !== this.#parts.length > 0) {
      throw new FrameError(code.protocol, "a part of no message, or a message within another");
    }
    this.#parts.push(f.data);
    this.#partsSize += f.data.length;
    if (this.#partsSize > longestMessage) {
      throw new FrameError(code.tooLong, "a message is too long");
    }
    if (f.final) {
      const data = Buffer.concat(this.#parts);
      this.#parts = [];
      this.#partsSize = 0;
      const text = textOf(data);
      this.onmessage?.({ data: text } as never);
    }
  }

  #end(closeCode: number): void {
    if (this.#ended) {
      return;
    }
    this.#ended = true;
    clearTimeout(this.#timer);
    if (closeCode === code.abnormal) {
      this.#stream?.destroy();
    } else {
      this.#stream?.end();
    }
    this.#giveUp();
    this.onclose?.({ code: closeCode } as never);
  }
}

function textOf(data: Buffer): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(data);
  } catch {
    throw new FrameError(code.badText, "a message is UTF-8");
  }
}
