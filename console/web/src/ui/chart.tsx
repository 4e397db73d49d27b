// Time series on axes, drawn by uPlot. A missing value is a gap, never zero; counts begin at zero.

import uPlot from "uplot";
import { useEffect, useRef } from "preact/hooks";
import { count } from "../core/text";
import { begins, Swatch, type Series } from "./spark";
import { forced, themed, token } from "./theme";

export interface Line {
  key: string;
  title: string;
  color: string; // the name of a token, such as ok
  band?: string; // fills down to the line with this key
}

const fade = (color: string, share: number): string => `color-mix(in srgb, ${color} ${100 * share}%, transparent)`;

/** Returns how a line is dashed where colors tell nothing. */
const dash = (i: number): number[] => [6, 3 * i];

/** Reports whether a series has so few values that they are drawn as points. */
const few = (v: (number | null | undefined)[]): boolean => v.filter((x) => x !== null && x !== undefined).length < 12;

/** Lines over time, with a legend and one cursor for all charts of the page. */
export function Chart({ series, lines, unit, height = 160, label }: { series: Series; lines: Line[]; unit?: (v: number) => string; height?: number; label: string }) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const show = unit ?? count;
  const data = (): uPlot.AlignedData => {
    const from = Date.parse(series.from) / 1000, step = series.step_ms / 1000;
    const n = Math.max(0, ...lines.map((l) => series.values[l.key]?.length ?? 0));
    const skip = begins(lines.map((l) => series.values[l.key] ?? []), n, 600 / step);
    const x = Array.from({ length: n - skip }, (_, i) => from + (i + skip) * step);
    return [x, ...lines.map((l) => (series.values[l.key] ?? new Array(n).fill(null)).slice(skip))] as uPlot.AlignedData;
  };
  useEffect(() => {
    const el = box.current!;
    const make = (): void => {
      plot.current?.destroy();
      const axis = { stroke: token("text3"), font: `11px ${token("sans")}`, grid: { stroke: token("line"), width: 1 }, ticks: { show: false } };
      plot.current = new uPlot(
        {
          width: el.clientWidth || 300,
          height,
          cursor: { sync: { key: "page" }, y: false, points: { size: 6 }, drag: { x: false, y: false } },
          legend: { show: false },
          padding: [10, 20, 0, 0],
          scales: { x: { time: true }, y: { range: (_u, _min, max) => [0, Math.max(max ?? 0, 1) * 1.1] } },
          axes: [
            { ...axis, size: 24, values: [[3600, "{HH}:{mm}", null, null, null, null, null, null, 1], [60, "{HH}:{mm}", null, null, null, null, null, null, 1], [1, "{HH}:{mm}:{ss}", null, null, null, null, null, null, 1]] },
            { ...axis, size: (_u: uPlot, v: string[]) => 16 + 6.5 * Math.max(2, ...(v ?? []).map((t) => t.length)), values: (_u: uPlot, v: number[]) => v.map((t) => show(t)), space: 32, incrs: unit ? undefined : [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000, 1_000_000] },
          ],
          series: [{}, ...lines.map((l, i) => ({ label: l.title, stroke: token(l.color), width: 1.5, dash: forced() && i > 0 ? dash(i) : undefined, points: { show: (u: uPlot, n: number) => few(u.data[n] as (number | null)[]), size: 5 }, spanGaps: false, fill: l.band === "0" ? fade(token(l.color), 0.15) : undefined }))],
          bands: lines.flatMap((l, i) => {
            const under = lines.findIndex((o) => o.key === l.band);
            return under < 0 ? [] : [{ series: [i + 1, under + 1] as [number, number], fill: fade(token(l.color), 0.2) }];
          }),
        },
        data(),
        el,
      );
    };
    make();
    const resize = new ResizeObserver(() => plot.current?.setSize({ width: el.clientWidth, height }));
    resize.observe(el);
    let first = true;
    const off = themed.subscribe(() => {
      if (!first) make();
      first = false;
    });
    return () => {
      off();
      resize.disconnect();
      plot.current?.destroy();
    };
  }, []);
  useEffect(() => plot.current?.setData(data()), [series]);
  const last = (key: string): string => {
    const v = (series.values[key] ?? []).findLast((x) => x !== null);
    return v === undefined || v === null ? "–" : show(v);
  };
  return (
    <div>
      <div class="chart" ref={box} role="img" aria-label={`${label}: ${lines.map((l) => `${l.title} ${last(l.key)}`).join(", ")}`} />
      {lines.length > 1 && (
        <div class="legend">
          {lines.map((l, i) => (
            <span key={l.key}>
              {forced() ? <svg width="18" height="10" aria-hidden="true"><path d="M0 5H18" stroke={`var(--${l.color})`} stroke-width="2" stroke-dasharray={i > 0 ? dash(i).join(" ") : undefined} /></svg> : <Swatch color={l.color} />}
              {l.title} {last(l.key)}
            </span>
          ))}
        </div>
      )}
    </div>
  );
}
