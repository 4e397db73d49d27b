// A text with line numbers, and marks at the places of problems.

import { useEffect, useMemo, useRef } from "preact/hooks";
import { Glyph } from "../ui/glyph";
import { hint } from "../ui/tip";
import { diff } from "./diff";
import type { Problem } from "./types";

const high = 18; // of a line, in the style sheet too
const inset = 8;

/** Where the editor goes: a line, and how often it was asked. */
export interface Goal {
  line: number;
  column: number;
  turn: number;
}

/** Returns how many characters a mark at a place is wide: a word, a string or a number. */
function extent(line: string, column: number): number {
  const rest = [...line].slice(column - 1).join("");
  return Math.max(1, /^("(\\.|[^"\\])*"?|[\w.-]+|.)/.exec(rest)?.[0].length ?? 1);
}

/** A text that can be edited, with the lines that differ from what it was. */
export function Editor({ text, was, problems, goal, set }: { text: string; was: string; problems: (Problem & { bad: boolean })[]; goal: Goal | null; set: (text: string) => void }) {
  const box = useRef<HTMLDivElement>(null);
  const area = useRef<HTMLTextAreaElement>(null);
  const rows = text.split("\n");
  const longest = Math.max(40, ...rows.map((r) => [...r].length));
  const changed = useMemo(() => new Set(text === was ? [] : diff(was, text).flatMap((l) => (l.kind === "same" ? [] : [Math.min(l.at, rows.length)]))), [text, was]);
  const worst = new Map<number, Problem & { bad: boolean }>();
  for (const p of problems) if (!worst.get(p.line)?.bad) worst.set(p.line, p);
  useEffect(() => {
    if (!goal || !area.current || !box.current) return;
    let at = 0;
    for (const row of rows.slice(0, goal.line - 1)) at += row.length + 1;
    at += Math.min(goal.column - 1, rows[goal.line - 1]?.length ?? 0);
    area.current.focus({ preventScroll: true });
    area.current.setSelectionRange(at, at);
    box.current.scrollTop = Math.max(0, (goal.line - 6) * high);
    box.current.scrollLeft = 0;
  }, [goal]);
  const key = (e: KeyboardEvent): void => {
    const el = e.currentTarget as HTMLTextAreaElement;
    if (e.key === "Enter" && !e.ctrlKey && !e.metaKey) {
      const line = el.value.slice(0, el.selectionStart).split("\n").pop()!;
      const indent = /^ */.exec(line)![0] + (/[{[]\s*$/.test(line) ? "  " : "");
      if (!indent) return;
      e.preventDefault();
      el.setRangeText("\n" + indent, el.selectionStart, el.selectionEnd, "end");
      set(el.value);
    }
  };
  const at = (e: MouseEvent): void => {
    const el = box.current!;
    const line = 1 + Math.floor((e.clientY - el.getBoundingClientRect().top + el.scrollTop - inset) / high);
    const p = worst.get(line);
    hint(p ? e : null, p ? `${line}:${p.column} ${p.message}` : "");
  };
  return (
    <div class="editor" ref={box} onMouseMove={at} onMouseLeave={() => hint(null)}>
      <div class="gutter" aria-hidden="true">
        {rows.map((_, i) => (
          <span key={i} class={`${changed.has(i + 1) ? "changed" : ""} ${goal?.line === i + 1 ? "at" : ""}`}>
            {worst.has(i + 1) && <Glyph tone={worst.get(i + 1)!.bad ? "fail" : "warn"} size={9} />}
            {i + 1}
          </span>
        ))}
      </div>
      <div class="paper" style={{ minWidth: `calc(${longest + 2} * 1ch + 16px)`, height: `${rows.length * high + 2 * inset}px` }}>
        {goal && <i class="goal" style={{ top: `${(goal.line - 1) * high + inset}px` }} />}
        {[...changed].map((line) => <i key={line} class="new" style={{ top: `${(line - 1) * high + inset}px` }} />)}
        {problems.map((p) => (
          <i
            key={`${p.line}:${p.column}:${p.message}`} class={`mark ${p.bad ? "bad" : ""}`}
            style={{ top: `${(p.line - 1) * high + inset}px`, left: `calc(${inset}px + ${p.column - 1}ch)`, width: `${extent(rows[p.line - 1] ?? "", p.column)}ch` }}
          />
        ))}
        <textarea ref={area} aria-label="Rule set body" spellcheck={false} autocapitalize="off" autocomplete="off" wrap="off" value={text} onInput={(e) => set(e.currentTarget.value)} onKeyDown={key} />
      </div>
    </div>
  );
}
