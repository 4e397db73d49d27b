// Parts of pages: panels, ids, commands, empty states, times.

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { inRegion } from "../core/api";
import { href } from "../core/route";
import { clock, type Live } from "../core/live";
import { ago, middle, moment, utc } from "../core/text";
import { Glyph } from "./glyph";
import { Icon } from "./icon";

/** A link to a page of the console. */
export function A({ to, children, ...rest }: { to: string; children: ComponentChildren } & preact.JSX.AnchorHTMLAttributes) {
  return (
    <a {...rest} href={href(to)}>
      {children}
    </a>
  );
}

/** A panel with a heading. */
export function Panel({ title, note, right, children, bare }: { title?: ComponentChildren; note?: ComponentChildren; right?: ComponentChildren; children: ComponentChildren; bare?: boolean }) {
  return (
    <section class="panel">
      {title && (
        <header>
          <h2>{title}</h2>
          {note && <span class="dim">{note}</span>}
          <span class="grow" />
          {right}
        </header>
      )}
      <div class={bare ? "bare" : "body"}>{children}</div>
    </section>
  );
}

/** The head of a page: its title and the question that it answers. */
export function Head({ title, question, children }: { title: ComponentChildren; question?: string; children?: ComponentChildren }) {
  return (
    <div class="head">
      <h1>{title}</h1>
      {question && <span class="question">{question}</span>}
      <span class="grow" />
      {children}
    </div>
  );
}

/** Copies text to the clipboard. */
export async function copy(text: string): Promise<void> {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const area = document.createElement("textarea"); // without TLS there is no clipboard
  area.value = text;
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}

/** A button that copies text. */
export function Copy({ text, what = "id" }: { text: string; what?: string }) {
  const [done, setDone] = useState(false);
  const act = async (): Promise<void> => {
    await copy(text);
    setDone(true);
    setTimeout(() => setDone(false), 1500);
  };
  return (
    <button type="button" class="copy" aria-label={done ? "copied" : `copy ${what}`} title={done ? "copied" : `copy ${what}`} data-copy={text} onClick={() => void act()}>
      <Icon name={done ? "done" : "copy"} size={14} />
    </button>
  );
}

/** An id, which can be copied, and leads to its page if it has one. */
export function ID({ id, to, most, text }: { id: string; to?: string; most?: number; text?: string }) {
  const shown = text ?? middle(id, most);
  return (
    <span class="id">
      {to ? (
        <A to={to} class="mono cut" title={id}>{shown}</A>
      ) : (
        <span class="mono cut" title={id}>{shown}</span>
      )}
      <Copy text={id} />
    </span>
  );
}

/** A command for a shell. */
export function Command({ text }: { text: string }) {
  const command = inRegion(text);
  return (
    <div class="cmd">
      <pre>{command}</pre>
      <Copy text={command} what="command" />
    </div>
  );
}

/** What a page says when there is nothing: one sentence, and what comes next. */
export function Empty({ children, command }: { children: ComponentChildren; command?: string | string[] }) {
  return (
    <div class="empty">
      <p>{children}</p>
      {([] as string[]).concat(command ?? []).map((c) => <Command key={c} text={c} />)}
    </div>
  );
}

/** How long ago something was, in a sentence with "ago"; the title has the moment in both clocks. */
export function Ago({ at, sentence }: { at?: string; sentence?: boolean }) {
  if (!at) return <span class="dim">–</span>;
  const text = ago(at, clock.value);
  return (
    <time dateTime={at} title={`${moment(at)} here, ${utc(at)}`}>{!sentence ? text : text === "now" ? "just now" : `${text} ago`}</time>
  );
}

/** Shows a view: its data, a skeleton until it has come, or why it cannot. */
export function Show<T>({ live, what, children, height = 320 }: { live: Live<T>; what: string; children: (data: T) => ComponentChildren; height?: number }) {
  const data = live.data.value;
  if (live.gone.value && data === undefined) {
    return (
      <div class="panel">
        <Empty>{live.error.value || `${what} does not exist (any more).`}</Empty>
      </div>
    );
  }
  return (
    <>
      {live.error.value && (
        <div class="alert b-fail" role="alert">
          <Glyph tone="fail" />
          <span>
            {what} cannot be shown: {live.error.value}
          </span>
        </div>
      )}
      {data === undefined ? !live.error.value && <div class="skel" style={{ height: `${height}px` }} /> : children(data)}
    </>
  );
}

/** What stands for a part of a page while the server computes it: it takes longer than the rest. */
export function Computing({ problem }: { problem?: string }) {
  if (problem) return <div class="alert b-fail" role="alert"><Glyph tone="fail" /><span>{problem}</span></div>;
  return <p class="skel computing dim">It is being computed …</p>;
}

/** When something was true, if that is a moment ago: what is expensive is not computed all the time. */
export function AsOf({ at }: { at: string }) {
  return clock.value - Date.parse(at) < 3000 ? null : <>, as of <Ago at={at} sentence /></>;
}

/** A large figure with what it counts. */
export function Figure({ value, unit, label, to, children }: { value: ComponentChildren; unit?: string; label: string; to?: string; children?: ComponentChildren }) {
  const inner = (
    <>
      <span>{label}</span>
      <b>
        {value}
        {unit && <small class="dim"> {unit}</small>}
      </b>
      {children}
    </>
  );
  return to ? <A to={to} class="figure">{inner}</A> : <div class="figure">{inner}</div>;
}

/** Terms and what they stand for; those without a value are left out. */
export function Facts({ of }: { of: [string, ComponentChildren][] }) {
  return (
    <dl class="dl">
      {of.filter(([, v]) => v !== undefined && v !== null && v !== "" && v !== false).map(([k, v]) => (
        <>
          <dt>{k}</dt>
          <dd>{v}</dd>
        </>
      ))}
    </dl>
  );
}
