// The arena's protocol (examples/arena/wire): each message of the WebSocket is one packet.

const version = 1;
const kind = { join: 1, input: 2, leave: 3, welcome: 4, refused: 5, snapshot: 6, over: 7 } as const;

/** What the server sends. */
export type Message = Welcome | Refused | Snapshot | Over;

export interface Welcome {
  readonly kind: "welcome";
  readonly key: bigint;
  readonly player: number;
  readonly width: number;
  readonly height: number;
}

export interface Refused {
  readonly kind: "refused";
  readonly reason: string;
}

export interface Player {
  readonly id: number;
  readonly x: number;
  readonly y: number;
  readonly facing: number;
  readonly health: number;
  readonly score: number;
}

export interface Point {
  readonly x: number;
  readonly y: number;
}

export interface Snapshot {
  readonly kind: "snapshot";
  readonly tick: number;
  readonly players: readonly Player[];
  readonly shots: readonly Point[];
  readonly pickUps: readonly Point[];
}

export interface Over {
  readonly kind: "over";
  readonly reason: string;
  readonly scores: readonly { readonly player: number; readonly score: number }[];
}

function packet(of: number, length: number): DataView<ArrayBuffer> {
  const view = new DataView(new ArrayBuffer(4 + length));
  [77, 65, version, of].forEach((b, i) => view.setUint8(i, b)); // 'M', 'A'
  return view;
}

export function join(playerSessionId: string): ArrayBuffer {
  const id = new TextEncoder().encode(playerSessionId);
  const p = packet(kind.join, 1 + id.length);
  p.setUint8(4, id.length - 1);
  new Uint8Array(p.buffer).set(id, 5);
  return p.buffer;
}

export function input(key: bigint, sequence: number, move: number, fire: boolean): ArrayBuffer {
  const p = packet(kind.input, 14);
  p.setBigUint64(4, key);
  p.setUint32(12, sequence);
  p.setUint8(16, move);
  p.setUint8(17, fire ? 1 : 0);
  return p.buffer;
}

export function leave(key: bigint): ArrayBuffer {
  const p = packet(kind.leave, 8);
  p.setBigUint64(4, key);
  return p.buffer;
}

/** Decodes a packet of the server; undefined if it is none. */
export function decode(data: ArrayBuffer): Message | undefined {
  const p = new DataView(data);
  let at = 4;
  const u8 = (): number => p.getUint8(at++);
  const u16 = (): number => p.getUint16((at += 2) - 2);
  const u32 = (): number => p.getUint32((at += 4) - 4);
  const list = <T>(n: number, one: () => T): T[] => Array.from({ length: n }, one);
  try {
    if (p.getUint16(0) !== 0x4d41 || p.getUint8(2) !== version) {
      return undefined;
    }
    switch (p.getUint8(3)) {
      case kind.welcome: {
        const key = p.getBigUint64(at);
        at += 8;
        const player = u8();
        u8(); // ticks a second
        return { kind: "welcome", key, player, width: u16(), height: u16() };
      }
      case kind.refused:
        return { kind: "refused", reason: ["", "session", "full", "ended"][u8()] ?? "unknown" };
      case kind.snapshot: {
        const tick = u32();
        u32(); // the last input
        const [players, shots, pickUps] = [u8(), u8(), u8()];
        return {
          kind: "snapshot",
          tick,
          players: list(players, () => ({ id: u8(), x: u16(), y: u16(), facing: u8(), health: u8(), score: u16() })),
          shots: list(shots, () => ({ x: u16(), y: u16(), facing: u8() })),
          pickUps: list(pickUps, () => ({ x: u16(), y: u16() })),
        };
      }
      case kind.over: {
        const reason = ["", "left", "finished", "terminating", "silent"][u8()] ?? "unknown";
        return { kind: "over", reason, scores: list(u8(), () => ({ player: u8(), score: u16() })) };
      }
    }
  } catch (error) {
    if (!(error instanceof RangeError)) {
      throw error;
    }
  }
  return undefined; // another version, or too short
}
