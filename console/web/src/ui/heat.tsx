// Hosts and their slots: a cell for each game server process, drawn on a canvas. (Nomad's
// topology: host by job, grouped by place.)

import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { go } from "../core/route";
import { many, middle } from "../core/text";
import { forced, themed, token } from "./theme";
import { shapes, type Tone } from "./glyph";
import { hint } from "./tip";
import { useWidth } from "./width";

export interface Host {
  id?: string;
  name: string;
  location: string;
  connected: boolean;
  draining?: boolean;
  cells: string;
  sessions?: string[]; // not of fleets with many processes
  instances?: number;
  starting?: number;
}

/** What the letters of cells mean. */
export const cells: Record<string, { tone: Tone; text: string; faint?: boolean }> = {
  p: { tone: "ok", text: "playing" },
  P: { tone: "hold", text: "playing, protected" },
  a: { tone: "busy", text: "activating" },
  i: { tone: "busy", text: "starting", faint: true },
  f: { tone: "idle", text: "free" },
  w: { tone: "warn", text: "connection lost" },
  t: { tone: "warn", text: "ending", faint: true },
};

interface Spot {
  host: Host;
  cell: number; // -1: the host's name
  x: number;
  y: number;
  w: number;
  h: number;
}

/** Draws hosts by location. Choosing a cell leads to its game session, a name to its host. */
export function Heat({ hosts, only, session, host }: { hosts: Host[]; only: string; session: (id: string) => string; host: (h: Host) => string | undefined }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const spots = useRef<Spot[]>([]);
  const { box, width } = useWidth<HTMLDivElement>();
  const [focus, setFocus] = useState(-1);
  const dense = hosts.length > 50 || hosts.reduce((n, h) => n + h.cells.length, 0) > 1500;
  useLayoutEffect(() => {
    if (width > 0) spots.current = draw(canvas.current!, hosts, width, dense, only, focus);
  }, [hosts, width, only, focus, dense, themed.value]);

  const at = (e: MouseEvent): Spot | undefined => {
    const box = canvas.current!.getBoundingClientRect();
    const x = e.clientX - box.left, y = e.clientY - box.top;
    return spots.current.find((s) => x >= s.x && x < s.x + s.w && y >= s.y && y < s.y + s.h);
  };
  const said = (s: Spot): string => {
    if (s.cell < 0) return `${s.host.name}, ${s.host.location}\n${s.host.connected ? "connected" : "away"}${s.host.draining ? ", draining" : ""}\n${many(s.host.cells.length, "process", "processes")}`;
    const id = s.host.sessions?.[s.cell] ?? "";
    return `${cells[s.host.cells[s.cell]!]?.text ?? ""}\n${s.host.name}, ${s.host.location}\n${id === "" ? "its host has the list" : id.startsWith("!") ? `process ${id.slice(1)}` : `game session ${id}`}`;
  };
  const open = (s: Spot | undefined): void => {
    if (!s) return;
    hint(null);
    const id = s.cell < 0 ? "" : (s.host.sessions?.[s.cell] ?? "");
    const to = id === "" || id.startsWith("!") ? host(s.host) : session(id);
    if (to) go(to);
  };
  const key = (e: KeyboardEvent): void => {
    const n = spots.current.length;
    const move = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: 12, ArrowUp: -12 }[e.key];
    if (move !== undefined && n) {
      e.preventDefault();
      setFocus(Math.max(0, Math.min(n - 1, focus + (focus < 0 ? 1 : move))));
    } else if (e.key === "Enter") open(spots.current[focus]);
  };
  const here = spots.current[focus];
  return (
    <div ref={box}>
      <canvas
        ref={canvas} class="heat" tabIndex={0} role="application" aria-label={`${many(hosts.length, "host")} and what runs on them; arrow keys move, Enter opens`}
        onMouseMove={(e) => { const s = at(e); hint(e, s ? said(s) : ""); canvas.current!.style.cursor = s ? "pointer" : ""; }}
        onMouseLeave={() => hint(null)} onClick={(e) => open(at(e))} onKeyDown={key} onBlur={() => setFocus(-1)}
      />
      <span class="sr" role="status">{here ? said(here) : ""}</span>
    </div>
  );
}

/** Draws everything, and returns where each thing is. */
function draw(canvas: HTMLCanvasElement, hosts: Host[], width: number, dense: boolean, only: string, focus: number): Spot[] {
  const size = dense ? 8 : 16, gap = dense ? 1 : 3, pitch = size + gap;
  const left = width < 640 ? 12 : 132;
  const spots: Spot[] = [];
  let y = 4;
  const labels: { text: string; x: number; y: number; dim?: boolean; bold?: boolean }[] = [];
  const locations = [...new Set(hosts.map((h) => h.location))];
  for (const location of locations) {
    const above = left < 100; // on phones the location has a line of its own
    labels.push({ text: middle(location, Math.floor((above ? width : left - 8) / 7)), x: 0, y: y + 12, bold: true });
    if (above) y += 18;
    let x = left;
    let high = 0;
    for (const h of hosts.filter((o) => o.location === location)) {
      const wide = dense ? Math.max(1, Math.ceil(Math.sqrt(h.cells.length))) : Math.min(12, Math.max(1, h.cells.length));
      const rows = Math.max(1, Math.ceil(h.cells.length / wide));
      const name = middle(h.name);
      const boxW = Math.max(wide * pitch, dense ? 0 : name.length * 6.3) + 16;
      if (x + boxW > width && x > left) {
        x = left;
        y += high + 8;
        high = 0;
      }
      let top = y;
      if (!dense) {
        labels.push({ text: name, x, y: top + 11, dim: !h.connected || h.draining });
        spots.push({ host: h, cell: -1, x, y: top, w: boxW - 16, h: 15 });
        top += 18;
      }
      for (let i = 0; i < h.cells.length; i++) spots.push({ host: h, cell: i, x: x + (i % wide) * pitch, y: top + Math.floor(i / wide) * pitch, w: size, h: size });
      if (h.cells.length === 0) labels.push({ text: h.starting ? `${h.starting} starting` : "empty", x, y: top + 12, dim: true });
      high = Math.max(high, top - y + rows * pitch);
      x += boxW;
    }
    y += high + 12;
  }
  const ratio = devicePixelRatio || 1;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(y * ratio);
  canvas.style.height = `${y}px`;
  const c = canvas.getContext("2d")!;
  c.scale(ratio, ratio);
  c.font = `11px ${token("sans")}`;
  for (const l of labels) {
    c.fillStyle = token(l.dim ? "text3" : "text2");
    c.font = `${l.bold ? "600 " : ""}11px ${token("sans")}`;
    c.fillText(l.text, l.x, l.y);
  }
  const plain = dense && !forced(); // squares, told apart by their color
  const colors: Record<string, string> = {};
  const paths: Record<string, Path2D> = {};
  for (const [letter, kind] of Object.entries(cells)) {
    colors[letter] = token(kind.tone);
    paths[letter] = new Path2D(shapes[kind.tone]);
  }
  spots.forEach((s, i) => {
    if (i === focus) {
      c.strokeStyle = token("accent");
      c.lineWidth = 2;
      c.strokeRect(s.x - 2, s.y - 2, s.w + 4, s.h + 4);
    }
    if (s.cell < 0) return;
    const letter = s.host.cells[s.cell]!;
    c.globalAlpha = only && letter !== only ? 0.15 : cells[letter]?.faint ? 0.6 : 1;
    c.fillStyle = colors[letter] ?? colors["f"]!;
    if (plain) {
      if (letter === "f") {
        c.globalAlpha *= 0.35;
      }
      c.fillRect(s.x, s.y, s.w, s.h);
    } else {
      c.save();
      c.translate(s.x + 1, s.y + 1);
      c.scale((s.w - 2) / 12, (s.h - 2) / 12);
      c.fill(paths[letter] ?? paths["f"]!, "evenodd");
      c.restore();
    }
  });
  c.globalAlpha = 1;
  return spots;
}
