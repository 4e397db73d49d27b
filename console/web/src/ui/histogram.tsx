// Histograms: how values are spread, with the limits that are set for them drawn in.

import { many } from "../core/text";
import { hint } from "./tip";
import { useWidth } from "./width";

/** Counts in bins of one width; the last bin may hold all that is larger. */
export interface Spread {
  title: string;
  counts: number[];
}

/** A limit that is drawn as a line. */
export interface Limit {
  at: number;
  text: string;
}

const sum = (v: number[]): number => v.reduce((a, b) => a + b, 0);

/** Bars of what is, an outline of what it is compared with, as shares if both are there. */
export function Histogram({ main, other, step, show, limits = [], height = 180, open, label }: { main: Spread; other?: Spread; step: number; show: (v: number) => string; limits?: Limit[]; height?: number; open?: boolean; label: string }) {
  const { box, width } = useWidth<HTMLDivElement>();
  const n = Math.max(main.counts.length, other?.counts.length ?? 0);
  const a = sum(main.counts), b = sum(other?.counts ?? []);
  const left = 4, top = 18 + 14 * Math.max(0, limits.length - 1), bottom = 22, w = Math.max(0, width - left - 12), h = height - bottom - top;
  const share = (v: number | undefined, all: number): number => (all ? (v ?? 0) / all : 0);
  const most = Math.max(0.0001, ...main.counts.map((v) => share(v, a)), ...(other?.counts ?? []).map((v) => share(v, b)));
  const x = (i: number): number => left + (i / n) * w;
  const y = (s: number): number => top + h - (s / most) * h;
  const range = (i: number): string => (open && i === n - 1 ? `${show(i * step)} and more` : `${show(i * step)} to ${show((i + 1) * step)}`);
  const said = (i: number): string =>
    `${range(i)}\n${main.title}: ${main.counts[i] ?? 0} of ${a}${other ? `\n${other.title}: ${other.counts[i] ?? 0} of ${b}` : ""}`;
  let outline = `M${x(0)} ${y(0)}`;
  for (let i = 0; i < n; i++) outline += `V${y(share(other?.counts[i], b))}H${x(i + 1)}`;
  outline += `V${y(0)}`;
  const every = Math.max(1, Math.ceil(n / Math.max(2, Math.floor(w / 70))));
  const shown = limits.filter((l) => l.at <= n * step);
  return (
    <div ref={box}>
      {width > 0 && (
        <svg width={width} height={height} role="img" aria-label={`${label}: ${many(a, "value")}${other ? `, compared with ${b}` : ""}${limits.map((l) => `; ${l.text}`).join("")}`}>
          <line class="grid" x1={left} x2={left + w} y1={top + h + 0.5} y2={top + h + 0.5} />
          {main.counts.map((v, i) => v > 0 && <rect key={i} class="f-accent" x={x(i) + 0.5} y={y(share(v, a))} width={Math.max(1, w / n - 1)} height={Math.max(1, top + h - y(share(v, a)))} />)}
          {other && b > 0 && <path class="outline" d={outline} />}
          {Array.from({ length: Math.floor(n / every) + 1 }, (_, i) => i * every).map((i) => (
            <text key={i} class="axis" x={x(i)} y={height - 6} text-anchor={i === 0 ? "start" : i === n ? "end" : "middle"}>{show(i * step)}</text>
          ))}
          {shown.map((l, i) => {
            const at = left + (l.at / (n * step)) * w, after = at < width - 8 - l.text.length * 6.2;
            return (
              <g key={l.text + l.at}>
                <line class="limit" x1={at} x2={at} y1={4 + 14 * i} y2={top + h} />
                <text class="limit-text" x={after ? at + 5 : at - 5} y={13 + 14 * i} text-anchor={after ? "start" : "end"}>{l.text}</text>
              </g>
            );
          })}
          {Array.from({ length: n }, (_, i) => (
            <rect key={i} class="clear" x={x(i)} y={top} width={w / n} height={h} onMouseMove={(e) => hint(e, said(i))} onMouseLeave={() => hint(null)} />
          ))}
        </svg>
      )}
    </div>
  );
}

/** Joins bins, so that there are at most some of them; it leaves out what is empty at the end. */
export function fewer(counts: number[], step: number, most: number, least = 0): { counts: number[]; step: number; open: boolean } {
  let last = counts.length;
  while (last > 1 && !counts[last - 1] && (last - 1) * step >= least) last--;
  const open = last === counts.length;
  const by = Math.max(1, Math.ceil(last / most));
  const out: number[] = [];
  for (let i = 0; i < last; i += by) out.push(sum(counts.slice(i, Math.min(i + by, last))));
  return { counts: out, step: step * by, open };
}
