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

/** A table of rows, sorted by the query of the page: sort=key or sort=-key. If they are sorted
 *  already, by the server, their order stays. */
export function Table<T>(p: { rows: T[]; columns: Column<T>[]; id: (row: T) => string; to?: (row: T) => string; label: string; ended?: (row: T) => boolean; most?: number; sorted?: boolean; foot?: ComponentChildren }) {
  const box = useRef<HTMLDivElement>(null);
  const [from, setFrom] = useState(0);
  const [height, setHeight] = useState(p.most ?? 640);
  const [at, setAt] = useState(-1);
  const [narrow, setNarrow] = useState(innerWidth < 640);
  const columns = narrow ? p.columns.filter((c) => !c.wide) : p.columns;
  const sort = param("sort");
  const down = sort.startsWith("-");
  const by = columns.find((c) => c.key === sort.replace(/^-/, "") && c.value);
  const rows = useMemo(() => {
    if (!by || p.sorted) return p.rows;
    const f = by.value!;
    const sorted = [...p.rows].sort((a, b) => {
      const x = f(a), y = f(b);
      if (x === y) return 0;
      if (x === undefined || x === null) return 1;
      if (y === undefined || y === null) return -1;
      return x < y ? -1 : 1;
    });
    return down ? sorted.reverse() : sorted;
  }, [p.rows, by, down]);

  useEffect(() => {
    const resized = (): void => {
      setNarrow(innerWidth < 640);
      setHeight(p.most ?? Math.max(320, innerHeight - 240));
    };
    resized();
    addEventListener("resize", resized);
    return () => removeEventListener("resize", resized);
  }, []);
  useLayoutEffect(() => {
    if (box.current) box.current.style.maxHeight = `${height}px`;
  }, [height]);

  const first = Math.max(0, Math.floor(from / rowHeight) - spare);
  const last = Math.min(rows.length, Math.ceil((from + height) / rowHeight) + spare);
  const gap = (n: number) => n > 0 && <tr class="gap" aria-hidden="true"><td colSpan={columns.length} ref={(e) => { if (e) e.style.height = `${n * rowHeight}px`; }} /></tr>;
  const key = (e: KeyboardEvent): void => {
    const move = e.key === "j" || e.key === "ArrowDown" ? 1 : e.key === "k" || e.key === "ArrowUp" ? -1 : 0;
    if (move) {
      e.preventDefault();
      const next = Math.min(rows.length - 1, Math.max(0, at + move));
      setAt(next);
      const top = next * rowHeight;
      const b = box.current!;
      if (top < b.scrollTop) b.scrollTop = top;
      else if (top + 2 * rowHeight > b.scrollTop + b.clientHeight) b.scrollTop = top + 2 * rowHeight - b.clientHeight;
    } else if (e.key === "Enter" && at >= 0 && p.to && e.target === box.current) {
      go(p.to(rows[at]!));
    } else if (e.key === "c" && at >= 0 && !e.ctrlKey && !e.metaKey) {
      void navigator.clipboard?.writeText(p.id(rows[at]!));
    }
  };
  const order = (c: Column<T>): void => setParams({ sort: sort === c.key ? `-${c.key}` : sort === `-${c.key}` ? "" : c.key });
  return (
    <>
      <div class="tablebox" ref={box} tabIndex={0} role="region" aria-label={p.label} onScroll={(e) => setFrom(e.currentTarget.scrollTop)} onKeyDown={key}>
        <table aria-rowcount={rows.length + 1} aria-label={p.label}>
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
            {gap(first)}
            {rows.slice(first, last).map((row, i) => (
              <tr key={p.id(row)} aria-rowindex={first + i + 2} class={`${first + i === at ? "sel" : ""} ${p.ended?.(row) ? "over" : ""}`}>
                {columns.map((c) => (
                  <td key={c.key} class={c.num ? "num" : ""}>{c.cell(row)}</td>
                ))}
              </tr>
            ))}
            {gap(rows.length - last)}
          </tbody>
        </table>
      </div>
      {p.foot !== undefined ? p.foot !== null && <div class="tfoot">{p.foot}</div> : rows.length > 20 && <div class="tfoot">{count(rows.length)} rows</div>}
    </>
  );
}
