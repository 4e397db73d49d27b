// Two distributions on the same axis, and two intervals.

import { count } from "../core/text";
import { Toned } from "../ui/glyph";
import { hint } from "../ui/tip";
import { useWidth } from "../ui/width";
import type { Interval, Pair, Row } from "./types";

/** Returns a number with the digits that matter. */
export const digits = (v: number): string => (Math.abs(v) >= 1000 ? count(Math.round(v)) : Math.abs(v) >= 100 || Number.isInteger(v) ? String(Math.round(v)) : Math.abs(v) >= 10 ? v.toFixed(1) : String(Math.round(v * 100) / 100));

const unitOf = (unit: string | undefined): string => (unit === "%" ? " %" : unit ? ` ${unit}` : "");

const tall = 60, foot = 20, head = 22;

/** The distributions of one number: above as it is, below as it would be; that alone if there is nothing to compare. */
export function Histograms({ of: p, alone }: { of: Pair; alone: boolean }) {
  const { box, width } = useWidth<HTMLDivElement>();
  const top = Math.max(0.1, ...p.a, ...p.b);
  const bins = p.a.length;
  const x = (v: number): number => Math.min(width, (v / (p.step * bins)) * width);
  const every = [1, 2, 3, 4, 6, 8, 12].find((n) => (width / bins) * n >= 48) ?? 12;
  const edited: [string, number[], number, number | null, number] = [alone ? "new" : "edited", p.b, p.count[1], p.limit?.[1] ?? null, p.over[1]];
  const sides = alone ? [edited] : [["now", p.a, p.count[0], p.limit?.[0] ?? null, p.over[0]] as typeof edited, edited];
  const row = tall + head;
  return (
    <div ref={box} class="histograms">
      <h3>{p.name}{p.unit && <span class="dim">, {p.unit}</span>}</h3>
      {width > 0 && (
        <svg width={width} height={sides.length * row + foot} role="img" aria-label={`Distribution of ${p.name}: ${sides.map(([who, , n, limit]) => `${who} ${count(n)} values${limit === null ? "" : `, limit ${digits(limit)}`}`).join("; ")}`}>
          {sides.map(([who, shares, n, limit, over], i) => {
            const base = (i + 1) * row;
            return (
              <g key={who}>
                <text x="0" y={base - tall - 6} class="axis">{alone ? "" : `${who}, `}n = {count(n)}{over >= 0.1 ? `, ${digits(over)} % beyond` : ""}{limit !== null && <tspan class="limit-text" dx="10">limit {digits(limit)}</tspan>}</text>
                {shares.map((v, k) => {
                  const h = (v / top) * tall;
                  return <rect key={k} class={i === sides.length - 1 ? "after" : "before"} x={(k * width) / bins + 0.5} width={Math.max(1, width / bins - 1)} y={base - h} height={h} />;
                })}
                {shares.map((v, k) => (
                  <rect
                    key={k} class="hit" x={(k * width) / bins} width={width / bins} y={base - tall} height={tall}
                    onMouseMove={(e) => hint(e, `${who}: ${digits(v)} % ${k === bins - 1 ? `from ${digits(k * p.step)}` : `${digits(k * p.step)} to ${digits((k + 1) * p.step)}`}${unitOf(p.unit)}`)} onMouseLeave={() => hint(null)}
                  />
                ))}
                <line class="grid" x1="0" x2={width} y1={base + 0.5} y2={base + 0.5} />
                {limit !== null && limit <= p.step * bins && (
                  <line class="limit" x1={x(limit)} x2={x(limit)} y1={base - tall - 2} y2={base} />
                )}
              </g>
            );
          })}
          {Array.from({ length: Math.floor(bins / every) + 1 }, (_, k) => k * every).map((k) => (
            <text key={k} class="axis" x={(k * width) / bins} y={sides.length * row + 14} text-anchor={k === 0 ? "start" : k === bins ? "end" : "middle"}>{digits(k * p.step)}</text>
          ))}
        </svg>
      )}
    </div>
  );
}

/** The interval of a difference, beside zero. */
function Difference({ row: r }: { row: Row }) {
  const i = r.delta_interval!;
  const far = Math.max(Math.abs(i.low), Math.abs(i.high), 1e-9);
  const x = (v: number): number => 48 + (v / far) * 44;
  const text = `95 % interval of the change ${digits(i.low)} to ${digits(i.high)}${unitOf(r.unit)}\nnow ${digits(r.a_interval!.low)} to ${digits(r.a_interval!.high)}, edited ${digits(r.b_interval!.low)} to ${digits(r.b_interval!.high)}`;
  return (
    <svg class={`difference ${r.b_is ?? ""}`} width="96" height="20" role="img" aria-label={`${r.name}: ${text}`} onMouseMove={(e) => hint(e, text)} onMouseLeave={() => hint(null)}>
      <path class="zero" d="M48 0v20" />
      <path d={`M${x(i.low)} 6v8M${x(i.low)} 10H${x(i.high)}M${x(i.high)} 6v8`} />
      <circle cx={x(r.delta)} cy="10" r="3.5" />
    </svg>
  );
}

const verdicts: Record<string, preact.ComponentChildren> = {
  better: <Toned tone="ok">better</Toned>,
  worse: <Toned tone="warn">worse</Toned>,
  same: <span class="dim">the same</span>,
  unclear: <span class="dim">no clear difference</span>,
};

/** What is compared, side by side; with alone, the figures of one rule set. */
export function Figures({ rows, alone }: { rows: Row[]; alone: boolean }) {
  if (alone) return <Alone rows={rows} />;
  const several = rows.some((r) => r.a_interval);
  const half = (i: Interval | undefined): preact.ComponentChildren => i && <span class="dim"> ± {digits((i.high - i.low) / 2)}</span>;
  return (
    <table class="figures">
      <thead>
        <tr><th scope="col">Measure</th><th scope="col" class="num">Now</th><th scope="col" class="num">Edited</th><th scope="col" class="num">Change</th>{several && <th scope="col" class="wide" title="95 % interval of the change; the line is 0">less | more</th>}<th scope="col">Edited is</th></tr>
      </thead>
      <tbody>
        {rows.map((r) => (
          <tr key={r.name}>
            <td>{r.name}{r.unit && <span class="dim">, {r.unit}</span>}</td>
            <td class="num">{digits(r.a)}<span class="plus">{half(r.a_interval)}</span></td>
            <td class="num">{digits(r.b)}<span class="plus">{half(r.b_interval)}</span></td>
            <td class="num">{r.delta > 0 ? "+" : ""}{r.unit === "%" || r.a === 0 ? digits(r.delta) : `${digits((100 * r.delta) / r.a)} %`}</td>
            {several && <td class="wide">{r.delta_interval && r.delta !== 0 && <Difference row={r} />}</td>}
            <td>{verdicts[r.b_is ?? ""]}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Alone({ rows }: { rows: Row[] }) {
  const several = rows.some((r) => r.b_interval);
  return (
    <table class="figures">
      <thead>
        <tr><th scope="col">Measure</th><th scope="col" class="num">Mean</th>{several && <th scope="col" class="num">95 % interval</th>}</tr>
      </thead>
      <tbody>
        {rows.map((r) => (
          <tr key={r.name}>
            <td>{r.name}{r.unit && <span class="dim">, {r.unit}</span>}</td>
            <td class="num">{digits(r.b)}</td>
            {several && <td class="num">{r.b_interval && <span class="dim">{digits(r.b_interval.low)} to {digits(r.b_interval.high)}</span>}</td>}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
