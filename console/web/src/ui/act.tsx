// Actions: a dialog that says what happens and the command that would do the same, then the
// call, then what came of it.

import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { Failure } from "../core/api";
import { Command } from "./parts";
import { Glyph } from "./glyph";
import { Icon } from "./icon";

interface Toast {
  id: number;
  text: string;
  bad: boolean;
}

const toasts = signal<Toast[]>([]);
let next = 0;

/** Tells what came of an action; failures stay until they are closed. */
export function tell(text: string, bad = false): void {
  const id = ++next;
  toasts.value = [...toasts.value, { id, text, bad }];
  if (!bad) setTimeout(() => (toasts.value = toasts.value.filter((t) => t.id !== id)), 6000);
}

/** The messages of the page. */
export function Toasts() {
  return (
    <div class="toasts" role="status">
      {toasts.value.map((t) => (
        <div class="toast" key={t.id}>
          <Glyph tone={t.bad ? "fail" : "ok"} />
          <span class="grow">{t.text}</span>
          <button type="button" class="copy" aria-label="close" onClick={() => (toasts.value = toasts.value.filter((o) => o.id !== t.id))}>
            <Icon name="close" size={12} />
          </button>
        </div>
      ))}
    </div>
  );
}

export interface Action {
  title: string;
  /** What it does, and to what. */
  effect: ComponentChildren;
  /** The command that does the same; a function of the signals that the form sets. */
  command: string | (() => string);
  /** What the button says. */
  verb: string;
  destroys?: boolean;
  /** A word to type first, if more than one object is hit. */
  type?: string;
  run: () => Promise<string | void>;
  form?: ComponentChildren;
}

const open = signal<Action | null>(null);

/** Asks before an action. */
export const ask = (a: Action): void => {
  open.value = a;
};

/** Keeps the focus within an element, and restores it afterwards. */
export function useTrap(close: () => void): { current: HTMLDivElement | null } {
  const box = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const before = document.activeElement as HTMLElement | null;
    const key = (e: KeyboardEvent): void => {
      if (e.key === "Escape") {
        e.stopPropagation();
        close();
      }
      if (e.key !== "Tab" || !box.current) return;
      const all = [...box.current.querySelectorAll<HTMLElement>("button:not(:disabled), input, select, textarea, a[href]")];
      const first = all[0], last = all.at(-1);
      if (e.shiftKey && document.activeElement === first) {
        e.preventDefault();
        last?.focus();
      } else if (!e.shiftKey && document.activeElement === last) {
        e.preventDefault();
        first?.focus();
      }
    };
    document.addEventListener("keydown", key, true);
    return () => {
      document.removeEventListener("keydown", key, true);
      before?.focus?.();
    };
  }, []);
  return box;
}

/** The dialog of the page. */
export function Ask() {
  return open.value ? <Dialog action={open.value} /> : null;
}

function Dialog({ action }: { action: Action }) {
  const close = (): void => {
    open.value = null;
  };
  const box = useTrap(close);
  const cancel = useRef<HTMLButtonElement>(null);
  const [typed, setTyped] = useState("");
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState("");
  const command = typeof action.command === "string" ? action.command : action.command();
  useLayoutEffect(() => {
    const input = box.current?.querySelector<HTMLElement>("input, textarea, select");
    (action.destroys ? cancel.current : (input ?? cancel.current))?.focus();
  }, []);
  const run = async (): Promise<void> => {
    setBusy(true);
    setProblem("");
    try {
      const text = await action.run();
      close();
      if (text) tell(text);
    } catch (e) {
      const f = e as Failure;
      setProblem(f.message + (f.request ? ` (request ${f.request})` : ""));
      setBusy(false);
    }
  };
  return (
    <div class="overlay" onMouseDown={(e) => e.target === e.currentTarget && close()}>
      <div class="dialog" role="dialog" aria-modal="true" aria-label={action.title} ref={box}>
        <h2>{action.title}</h2>
        <div class="soft">{action.effect}</div>
        {action.form}
        {action.type && (
          <label class="field">
            <span>Type {action.type} to go on</span>
            <input class="input" value={typed} onInput={(e) => setTyped(e.currentTarget.value)} />
          </label>
        )}
        {command && <Command text={command} />}
        {problem && (
          <div class="alert b-fail" role="alert">
            <Glyph tone="fail" />
            <span>{problem}</span>
          </div>
        )}
        <footer>
          <button type="button" class="btn" ref={cancel} onClick={close}>Cancel</button>
          <button type="button" class={`btn ${action.destroys ? "ends" : "first"}`} disabled={busy || (!!action.type && typed !== action.type)} onClick={() => void run()}>
            {action.verb}
          </button>
        </footer>
      </div>
    </div>
  );
}
