// A table that stays fast with 10,000 rows: only those in view are in the document.

import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { go, param, setParams } from "../core/route";
import { count } from "../core/text";

export interface Column<T> {
  key: string;
  title: string;
  num?: boolean;
  /** What the table sorts by; without it the column cannot be sorted. */
  value?: (row: T) => string | number | undefined;
  cell: (row: T) => ComponentChildren;
  /** Whether the column is left out on narrow screens. */
  wide?: boolean;
}

const rowHeight = 33;
const spare = 10;

/** A part of a list whose other rows the server has. */
export interface Part {
  /** The place of the first row, from 0. */
  from: number;
  /** How many rows the whole list has. */
  of: number;
  /** Is called with the places that are in view. */
  need: (first: number, last: number) => void;
}

interface Props<T> {
  rows: T[];
  columns: Column<T>[];
  id: (row: T) => string;
  to?: (row: T) => string;
  label: string;
  ended?: (row: T) => boolean;
  /** The most pixels that the table is high. */
  most?: number;
  /** Whether the rows are sorted already, by the server. */
  sorted?: boolean;
  part?: Part;
  foot?: ComponentChildren;
}

/** Follows the width of the window, and returns the height of a table. */
function useRoom(most: number | undefined): { narrow: boolean; height: number } {
  const room = () => ({ narrow: innerWidth < 640, height: most ?? Math.max(320, innerHeight - 240) });
  const [now, set] = useState(room);
  useEffect(() => {
    const resized = (): void => set(room());
    addEventListener("resize", resized);
    return () => removeEventListener("resize", resized);
  }, []);
  return now;
}

/** Returns rows in the order of a column. */
function sortedBy<T>(rows: T[], by: Column<T> | undefined, down: boolean): T[] {
  if (!by) return rows;
  const f = by.value!;
  const sorted = [...rows].sort((a, b) => {
    const x = f(a), y = f(b);
    if (x === y) return 0;
    if (x === undefined || x === null) return 1;
    if (y === undefined || y === null) return -1;
    return x < y ? -1 : 1;
  });
  return down ? sorted.reverse() : sorted;
}

/** A table of rows, sorted by the query of the page: sort=key or sort=-key. */
export function Table<T>(p: Props<T>) {
  const box = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const [at, setAt] = useState({ place: -1, id: "", told: "" });
  const { narrow, height } = useRoom(p.most);
  const columns = narrow ? p.columns.filter((c) => !c.wide) : p.columns;
  const sort = param("sort");
  const down = sort.startsWith("-");
  const by = columns.find((c) => c.key === sort.replace(/^-/, "") && c.value);
  const rows = useMemo(() => sortedBy(p.rows, p.sorted ? undefined : by, down), [p.rows, p.sorted, by?.key, down]);
  const from = p.part?.from ?? 0, all = p.part?.of ?? rows.length;
  useLayoutEffect(() => {
    if (box.current) box.current.style.maxHeight = `${height}px`;
  }, [height]);

  // The row that was chosen stays chosen where others come and go above it.
  const moved = at.place >= 0 ? rows.findIndex((r) => p.id(r) === at.id) : -1;
  const chosen = moved >= 0 ? from + moved : Math.min(at.place, all - 1);
  const tell = (place: number, id: string): string => `row ${count(place + 1)} of ${count(all)}${id && `: ${id}`}`;
  // Where the chosen row has gone, or was not here yet, the one in its place is the chosen one.
  const there = rows[chosen - from], id = there === undefined ? at.id : p.id(there);
  useLayoutEffect(() => {
    if (chosen >= 0) setAt((a) => ({ place: chosen, id, told: id === a.id ? a.told : tell(chosen, id) }));
  }, [chosen, id]);
  const first = Math.max(0, Math.min(all, Math.floor(top / rowHeight)) - spare);
  const last = Math.min(all, Math.ceil((top + height) / rowHeight) + spare);
  useEffect(() => p.part?.need(first, last), [first, last, from, all]);
  const choose = (place: number): void => {
    const next = Math.min(all - 1, Math.max(0, place)), row = rows[next - from];
    const id = row === undefined ? "" : p.id(row);
    setAt({ place: next, id, told: tell(next, id) });
    const b = box.current!, y = next * rowHeight;
    if (y < b.scrollTop) b.scrollTop = y;
    else if (y + 2 * rowHeight > b.scrollTop + b.clientHeight) b.scrollTop = y + 2 * rowHeight - b.clientHeight;
  };
  const key = (e: KeyboardEvent): void => {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const page = Math.max(1, Math.floor(height / rowHeight) - 2);
    const goal = { j: chosen + 1, ArrowDown: chosen + 1, k: chosen - 1, ArrowUp: chosen - 1, PageDown: chosen + page, PageUp: chosen - page, Home: 0, End: all - 1 }[e.key];
    if (goal !== undefined && all > 0) {
      e.preventDefault();
      choose(goal);
    } else if (e.key === "Enter" && there !== undefined && p.to && e.target === box.current) {
      go(p.to(there));
    } else if (e.key === "c" && there !== undefined) {
      void navigator.clipboard?.writeText(p.id(there));
    }
  };
  const order = (c: Column<T>): void => setParams({ sort: sort === c.key ? `-${c.key}` : sort === `-${c.key}` ? "" : c.key });
  const gap = (n: number) => n > 0 && <tr class="gap" aria-hidden="true"><td colSpan={columns.length} ref={(e) => { if (e) e.style.height = `${n * rowHeight}px`; }} /></tr>;
  const begin = Math.min(last, Math.max(first, from)), end = Math.max(begin, Math.min(last, from + rows.length)); // of the rows that are here
  return (
    <>
      <div class="tablebox" ref={box} tabIndex={0} role="region" aria-label={p.label} onScroll={(e) => setTop(e.currentTarget.scrollTop)} onKeyDown={key}>
        <table aria-rowcount={all + 1} aria-label={p.label}>
          <thead>
            <tr aria-rowindex={1}>
              {columns.map((c) => (
                <th key={c.key} class={c.num ? "num" : ""} scope="col" aria-sort={by === c ? (down ? "descending" : "ascending") : undefined}>
                  {c.value ? (
                    <button type="button" onClick={() => order(c)}>
                      {c.title}
                      {by === c ? (down ? " ↓" : " ↑") : ""}
                    </button>
                  ) : (
                    c.title
                  )}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {gap(begin)}
            {rows.slice(begin - from, end - from).map((row, i) => (
              <tr key={p.id(row)} aria-rowindex={begin + i + 2} class={`${begin + i === chosen ? "sel" : ""} ${p.ended?.(row) ? "over" : ""}`}>
                {columns.map((c) => (
                  <td key={c.key} class={c.num ? "num" : ""}>{c.cell(row)}</td>
                ))}
              </tr>
            ))}
            {gap(all - end)}
          </tbody>
        </table>
      </div>
      <span class="sr" role="status">{at.told}</span>
      {p.foot !== undefined ? p.foot !== null && <div class="tfoot">{p.foot}</div> : all > 20 && <div class="tfoot">{count(all)} rows</div>}
    </>
  );
}
