// Time series on axes, drawn by uPlot. A missing value is a gap, never zero; counts begin at zero.

import uPlot from "uplot";
import { useEffect, useRef } from "preact/hooks";
import { useSignal } from "@preact/signals";
import { count, moment, seconds, time } from "../core/text";
import { extent, Swatch, type Series } from "./spark";
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

/** The beginning of a step in words; longer ranges need the day. */
const when = (ms: number, step: number): string => (step < 300_000 ? time(ms) : moment(ms).slice(0, -3));

/** Reports whether a series has so few values that they are drawn as points. */
const few = (v: (number | null | undefined)[]): boolean => v.filter((x) => x !== null && x !== undefined).length < 12;

/** Times along the axis: the day at midnight, else the time of day. */
function axisTimes(_u: uPlot, at: number[], _axis: number, _space: number, step: number): string[] {
  return at.map((s) => {
    const d = new Date(s * 1000);
    const text = time(d.getTime());
    return step >= 86_400 || text === "00:00:00" ? `${d.toLocaleString("en-US", { month: "short" })} ${d.getDate()}` : step < 60 ? text : text.slice(0, -3);
  });
}

/** Durations along the axis, all in the unit in which their distance is whole. */
function axisSeconds(at: number[], step: number): string[] {
  const [size, unit] = step >= 3600 ? [3600, "h"] : step >= 60 ? [60, "min"] : step >= 0.1 ? [1, "s"] : [0.001, "ms"];
  return at.map((s) => (s === 0 ? "0" : `${(s / size).toFixed(step >= 0.1 && step < 1 ? 1 : 0)} ${unit}`));
}

/** Lines over time, and one cursor for all charts of the page. Below them stand the values at the cursor, else the newest. length is in seconds, for a series that is not of the chosen range. */
export function Chart({ series, lines, unit, height = 160, length, label }: { series: Series; lines: Line[]; unit?: (value: number) => string; height?: number; length?: number; label: string }) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const show = unit ?? figure;
  const pointed = useSignal<number | null>(null); // the index under the cursor, and of what is drawn
  const drawn = useRef<number[]>([]);
  const newest = useRef(series);
  newest.current = series;
  const order = lines.some((l) => l.band) ? lines : [...lines].reverse(); // the first line is drawn over the others
  const data = (): uPlot.AlignedData => {
    const from = Date.parse(series.from) / 1000, step = series.step_ms / 1000;
    const n = Math.max(0, ...lines.map((l) => series.values[l.key]?.length ?? 0));
    const x = Array.from({ length: n }, (_, i) => from + i * step);
    drawn.current = x;
    return [x, ...order.map((l) => series.values[l.key] ?? new Array(n).fill(null))] as uPlot.AlignedData;
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
          hooks: { setCursor: [(u: uPlot) => (pointed.value = u.cursor.idx ?? null)] },
          padding: [10, 20, 0, 0],
          scales: { x: { time: true, range: () => extent(newest.current, length) }, y: { range: (_u, _min, max) => [0, Math.max(max ?? 0, 1) * 1.1] } },
          axes: [
            { ...axis, size: 24, space: 64, values: axisTimes },
            { ...axis, size: (_u: uPlot, v: string[]) => 16 + 6.5 * Math.max(2, ...(v ?? []).map((t) => t.length)), values: (_u: uPlot, v: number[], _axis: number, _space: number, step: number) => (unit === seconds ? axisSeconds(v, step) : v.map(unit ?? count)), space: 32, incrs: unit === seconds ? [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 60, 120, 300, 600, 1200, 3600, 7200, 36_000, 86_400] : [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 100_000] },
          ],
          series: [{}, ...order.map((l) => ({ label: l.title, stroke: token(l.color), width: 1.5, dash: forced() && lines.indexOf(l) > 0 ? dash(lines.indexOf(l)) : undefined, points: { show: (u: uPlot, n: number) => few(u.data[n] as (number | null)[]), size: 5 }, spanGaps: false, fill: l.band === "0" ? fade(token(l.color), 0.15) : undefined }))],
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
  const at = pointed.value !== null && pointed.value < drawn.current.length ? pointed.value : null;
  const value = (key: string, i: number | null): string => {
    const all = series.values[key] ?? [];
    const v = i === null ? all.findLast((x) => x !== null) : all[i];
    return v === undefined || v === null ? "–" : show(v);
  };
  const unknown = lines.every((l) => (series.values[l.key] ?? []).every((x) => x === null));
  return (
    <div class="charted">
      <div class="chart" ref={box} role="img" aria-label={`${label}: ${lines.map((l) => `${l.title} ${value(l.key, null)}`).join(", ")}`} />
      {unknown && <p class="unknown dim" style={{ height: `${height}px` }}><span>Nothing to show in this range yet.</span></p>}
      <div class="legend">
        {lines.map((l, i) => (
          <span key={l.key}>
            {forced() ? <svg width="18" height="10" aria-hidden="true"><path d="M0 5H18" stroke={`var(--${l.color})`} stroke-width="2" stroke-dasharray={i > 0 ? dash(i).join(" ") : undefined} /></svg> : <Swatch color={l.color} />}
            {l.title} <b>{value(l.key, at)}</b>
          </span>
        ))}
        <span class="grow" />
        <span class="dim">{at === null ? "newest" : `from ${when(drawn.current[at]! * 1000, series.step_ms)}`}</span>
      </div>
    </div>
  );
}

/** A count, or a mean of counts with a decimal if it is small. */
const figure = (n: number): string => (Number.isInteger(n) || n >= 100 ? count(Math.round(n)) : n.toFixed(1));
