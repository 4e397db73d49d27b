// Time series in little, without axes. A missing value is a gap, never zero.

import { clock } from "../core/live";
import { rangeSeconds } from "./range";

/** Values by time, as the server sends them. */
export interface Series {
  from: string;
  begun?: string;
  step_ms: number;
  values: Record<string, (number | null)[]>;
}

/** Returns the length of a step in words. */
export function every(series: Series): string {
  const s = series.step_ms / 1000;
  return s < 60 ? `${s} s` : s < 3600 ? `${s / 60} min` : `${s / 3600} h`;
}

/** From when to when charts and their like are drawn, in seconds: the whole range, but not much more than is known, so that the charts of a page line up. length is that of the range in seconds. */
export function extent(series: Series, length = rangeSeconds()): [number, number] {
  const end = clock.peek() / 1000;
  const begun = series.begun ? Date.parse(series.begun) / 1000 : end;
  return [Math.min(Math.max(end - length, begun), end - length / 6), end];
}

/** A small square of a token's color, with a pattern of the page over it. */
export function Swatch({ color, hatch }: { color: string; hatch?: string }) {
  return (
    <svg width="10" height="10" class="glyph" aria-hidden="true">
      <rect width="10" height="10" rx="2" fill={`var(--${color})`} />
      {hatch && <rect width="10" height="10" rx="2" fill={`url(#hatch-${hatch})`} />}
    </svg>
  );
}

/** A series in little: one line without axes. */
export function Spark({ series, name, label }: { series: Series; name: string; label: string }) {
  const full = series.values[name] ?? [];
  const all = full.slice(Math.max(0, Math.floor((extent(series)[0] * 1000 - Date.parse(series.from)) / series.step_ms)));
  const group = Math.max(1, Math.ceil(all.length / 90));
  const v: (number | null)[] = [];
  for (let i = 0; i < all.length; i += group) {
    const known = all.slice(i, i + group).filter((x): x is number => x !== null);
    v.push(known.length ? Math.max(...known) : null);
  }
  const top = Math.max(1, ...v.map((x) => x ?? 0));
  let d = "";
  let pen = false;
  v.forEach((y, i) => {
    if (y === null) {
      pen = false;
      return;
    }
    d += `${pen ? "L" : "M"}${((i / Math.max(1, v.length - 1)) * 100).toFixed(2)} ${(30 - (y / top) * 28).toFixed(2)}`;
    pen = true;
  });
  return (
    <svg class="spark" viewBox="0 0 100 32" preserveAspectRatio="none" role="img" aria-label={label}>
      <path d="M0 31H100" class="grid" vector-effect="non-scaling-stroke" />
      <path d={d} fill="none" stroke="currentColor" stroke-width="1.5" stroke-linejoin="round" vector-effect="non-scaling-stroke" />
    </svg>
  );
}
