// A rule's limit as a ticket waits: a step where it changes, with what is near to it as dots.

import { seconds } from "../core/text";
import { hint } from "./tip";
import { useWidth } from "./width";

/** The limit of a rule by age. */
export interface Stairs {
  rule: string;
  steps: { from_ms: number; limit: number }[];
}

/** A value beside the limit: of another ticket, or of the best teams. */
export interface Dot {
  value: number;
  text: string;
  /** After how many milliseconds the limit allows it, if it does. */
  in?: number;
}

/** Returns a figure with one decimal, or none for whole numbers. */
export const figure = (n: number): string => String(Math.round(n * 10) / 10);

/** An age to the second, as rule sets have it. */
const age = (ms: number): string => (ms < 600_000 ? `${Math.round(ms / 1000)} s` : seconds(ms / 1000));

/** The limit of a rule by age, to the right of now dashed. seen are the best values of earlier moments. */
export function Staircase({ of, waited, dots, seen, until }: { of: Stairs; waited: number; dots: Dot[]; seen: { at: number; value: number }[]; until: number }) {
  const { box, width: room } = useWidth<HTMLDivElement>();
  const width = Math.max(320, room || 0), height = 172, left = 8, right = 24, top = 22, bottom = 24;
  const last = of.steps.at(-1)!.from_ms;
  const end = Math.min(Math.max(until, waited + 1), Math.max(1.2 * last, 1.25 * waited, 10_000));
  const limits = of.steps.map((s) => s.limit), far = 2.5 * Math.max(...limits, 1e-9);
  const near = dots.filter((d, i) => i === 0 || d.value <= far).map((d) => ({ ...d, at: Math.min(d.value, far) })); // what is far above stands at the edge
  const most = 1.12 * Math.max(1e-9, ...limits, ...near.map((d) => d.at), ...seen.map((s) => Math.min(s.value, far)));
  const x = (ms: number): number => left + (Math.min(ms, end) / end) * (width - left - right);
  const y = (v: number): number => height - bottom - (v / most) * (height - bottom - top);
  const flats = of.steps.filter((s) => s.from_ms < end).map((s, i, all) => ({ limit: s.limit, from: s.from_ms, to: all[i + 1]?.from_ms ?? end }));
  const path = (from: number, to: number): string => {
    let d = "";
    for (const f of flats) {
      if (f.to <= from || f.from >= to) continue;
      const a = x(Math.max(f.from, from)), b = x(Math.min(f.to, to)), at = y(f.limit).toFixed(1);
      d += d ? `V${at}H${b.toFixed(1)}` : `M${a.toFixed(1)} ${at}H${b.toFixed(1)}`;
    }
    return d;
  };
  const now = x(waited);
  const said = `The limit of ${of.rule} by age: ${of.steps.map((s) => `${figure(s.limit)} from ${age(s.from_ms)}`).join(", ")}. The ticket has waited ${age(waited)}.${near[0] ? ` Nearest: ${near[0].text}.` : ""}`;
  return (
    <div class="hero" ref={box} tabIndex={0} role="region" aria-label={`The limit of ${of.rule}`}>
      {room > 0 && (
        <svg width={width} height={height} role="img" aria-label={said}>
          <line class="grid" x1={left} x2={width - right} y1={height - bottom + 0.5} y2={height - bottom + 0.5} />
          <line class="now" x1={now} x2={now} y1={top - 8} y2={height - bottom} />
          <text class="axis" x={now} y={top - 12} text-anchor={now < 60 ? "start" : now > width - right - 20 ? "end" : "middle"}>now, {age(waited)}</text>
          <path class="stair" d={path(0, waited)} />
          <path class="stair coming" d={path(waited, end)} />
          {flats.map((f, i) => (
            <g key={f.from}>
              {x(f.to) - x(f.from) > 24 && <text class="stair-text" x={x(f.from) + 6} y={y(f.limit) - 6}>{figure(f.limit)}</text>}
              {(i === 0 || x(f.from) - x(flats[i - 1]!.from) > 36) && <text class="axis" x={x(f.from)} y={height - 8} text-anchor={i === 0 ? "start" : "middle"}>{f.from ? age(f.from) : "0"}</text>}
            </g>
          ))}
          {seen.map((s) => <circle key={s.at} class="seen" cx={x(s.at)} cy={y(Math.min(s.value, most))} r="2" />)}
          {near.map((d, i) => {
            const reach = d.in !== undefined && waited + d.in <= end ? x(waited + d.in) : undefined;
            return (
              <g key={d.text} onMouseMove={(e) => hint(e, d.text)} onMouseLeave={() => hint(null)}>
                {reach !== undefined && <line class="reaches" x1={now} x2={reach} y1={y(d.at)} y2={y(d.at)} />}
                {reach !== undefined && <circle class="goal" cx={reach} cy={y(d.at)} r="4" />}
                <circle class="dot" cx={now} cy={y(d.at)} r="4.5" />
                {i === 0 && <text class="stair-text" x={reach !== undefined ? reach + 9 : now < 150 ? now + 9 : now - 9} y={y(d.at) + 4} text-anchor={reach !== undefined || now < 150 ? "start" : "end"}>{figure(d.value)}{d.value > far && " (not to scale)"}</text>}
              </g>
            );
          })}
        </svg>
      )}
    </div>
  );
}
