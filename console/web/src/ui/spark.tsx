// Time series in little, without axes. A missing value is a gap, never zero.

/** Values by time, as the server sends them. */
export interface Series {
  from: string;
  step_ms: number;
  values: Record<string, (number | null)[]>;
}

/** Returns how many steps to leave out at the beginning, of which nothing is known; the last ones, at least least, stay. */
export function begins(all: (number | null)[][], n: number, least: number): number {
  const known = all.map((v) => v.findIndex((x) => x !== null)).filter((i) => i >= 0);
  return Math.max(0, Math.min(n - Math.round(least), known.length ? Math.min(...known) : n));
}

/** A small square of a token's color, with a pattern of the page over it. */
export function Swatch({ color, hatch }: { color: string; hatch?: string }) {
  return (
    <svg width="10" height="10" class="glyph" aria-hidden="true">
      <rect width="10" height="10" rx="2" class={`f-${color}`} fill={`var(--${color})`} />
      {hatch && <rect width="10" height="10" rx="2" fill={`url(#hatch-${hatch})`} />}
    </svg>
  );
}

/** An hour in little: one line without axes. */
export function Spark({ series, name, label }: { series: Series; name: string; label: string }) {
  const every = series.values[name] ?? [];
  const all = every.slice(begins([every], every.length, 300_000 / series.step_ms));
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
