// What surrounds each page: navigation, search, the state of the connection, keys.

import type { ComponentChildren } from "preact";
import { signal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { logOut, me, view } from "./core/api";
import { behind, clock, heard, offlineFor, paused, shownSeq } from "./core/live";
import { base, go, href, path, query, to } from "./core/route";
import { moment, time, utc } from "./core/text";
import { Ask, tell, Toasts, useTrap } from "./ui/act";
import { themed } from "./ui/theme";
import { Glyph } from "./ui/glyph";
import { Icon, type IconName } from "./ui/icon";
import { copy } from "./ui/parts";
import { stepRange } from "./ui/range";
import { Tip } from "./ui/tip";

/** A page in the navigation. */
export interface Entry {
  to: string;
  title: string;
  icon: IconName;
  key: string; // after g
  action?: string; // that the role must allow
  under?: string[]; // other pages that belong to it
}

/** The pages in groups. */
export const groups: Entry[][] = [
  [
    { to: "/", title: "Now", icon: "now", key: "n", action: "DescribeFleetUtilization" },
    { to: "/world", title: "World", icon: "world", key: "w", action: "DescribeFleetUtilization" },
  ],
  [
    { to: "/queues", title: "Queues", icon: "queues", key: "q", action: "DescribeGameSessionQueues" },
    { to: "/matchmaking", title: "Matchmaking", icon: "matchmaking", key: "m", action: "DescribeMatchmaking", under: ["/tickets"] },
    { to: "/quality", title: "Quality", icon: "quality", key: "u", action: "DescribeMatchmaking" },
    { to: "/rules", title: "Rules", icon: "rules", key: "r", action: "DescribeMatchmakingRuleSets" },
  ],
  [
    { to: "/fleets", title: "Fleets", icon: "fleets", key: "f", action: "DescribeFleetAttributes" },
    { to: "/hosts", title: "Hosts", icon: "hosts", key: "h", action: "muster:ReadHosts" },
    { to: "/sessions", title: "Sessions", icon: "sessions", key: "s", action: "DescribeGameSessions" },
    { to: "/players", title: "Players", icon: "players", key: "p", action: "DescribePlayerSessions" },
    { to: "/crashes", title: "Crashes", icon: "crashes", key: "c", action: "DescribeFleetEvents" },
  ],
  [
    { to: "/events", title: "Events", icon: "events", key: "e", action: "DescribeFleetEvents" },
    { to: "/webhooks", title: "Webhooks", icon: "webhooks", key: "k", action: "DescribeGameSessionQueues" },
    { to: "/access", title: "Access", icon: "access", key: "a", action: "muster:ManageKeys" },
    { to: "/operations", title: "API", icon: "api", key: "i" },
  ],
];

/** Chooses a theme: light, dark, or "" for that of the system. */
export function setTheme(theme: string): void {
  if (theme) document.documentElement.dataset["theme"] = theme;
  else delete document.documentElement.dataset["theme"];
  try {
    localStorage.setItem("theme", theme);
  } catch {
    // without storage the choice lasts as long as the page
  }
  themed.value++;
}

/** Applies the theme that was chosen before. */
export function restoreTheme(): void {
  try {
    const theme = localStorage.getItem("theme");
    if (theme) document.documentElement.dataset["theme"] = theme;
  } catch {
    // without storage the system's theme it is
  }
}

function nextTheme(): void {
  const dark = document.documentElement.dataset["theme"] ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  setTheme(dark === "dark" ? "light" : "dark");
}

const finding = signal(false);
const helping = signal(false);

/** The frame of the console around a page. */
export function Shell({ children }: { children: ComponentChildren }) {
  useKeys();
  const who = me.value!;
  const at = path.value;
  const current = (e: Entry): boolean => e.to === at || (e.under?.includes(at) ?? false);
  const offline = offlineFor.value;
  useEffect(() => document.querySelector(".nav [aria-current]")?.scrollIntoView({ block: "nearest", inline: "nearest" }), [at]); // of a phone's bar
  return (
    <>
      <div class="shell">
        <a class="skip" href="#main">Skip to the page</a>
        <nav class="nav" aria-label="Pages">
          <a class="brand" href={href("/")}>
            <Icon name="logo" size={18} />
            <span>Muster</span>
          </a>
          {groups.map((entries, i) => (
            <>
              {i > 0 && <hr />}
              {entries.filter((e) => !e.action || who.may.includes(e.action)).map((e) => (
                <a key={e.to} class="item" href={href(e.to)} aria-current={current(e) ? "page" : undefined} title={e.title}>
                  <Icon name={e.icon} />
                  <span>{e.title}</span>
                </a>
              ))}
            </>
          ))}
        </nav>
        <header class="top">
          <button type="button" class="find" onClick={() => (finding.value = true)} aria-label="Search any id, name or player">
            <Icon name="search" size={14} />
            <span>Search any id, name or player</span>
            <span class="grow" />
            <kbd aria-hidden="true">/</kbd>
          </button>
          <span class="grow" />
          {who.regions && <Region all={who.regions} now={who.region} />}
          <Connection />
          <button type="button" class="iconbtn" aria-label="light or dark" title="light or dark" onClick={nextTheme}>
            <Icon name="sun" />
          </button>
          <a class="iconbtn" href="/docs/" aria-label="documentation" title="documentation">
            <Icon name="docs" />
          </a>
          <button type="button" class="iconbtn" aria-label="keys" title="keys (?)" onClick={() => (helping.value = true)}>
            <Icon name="help" />
          </button>
          <span class="who" title={who.scope ? `scope ${who.scope}` : undefined}>
            {who.local ? "local" : who.name} · {who.role}
          </span>
          {!who.local && (
            <button type="button" class="iconbtn" aria-label="log out" title="log out" onClick={() => void logOut().catch((e: Error) => tell(e.message, true))}>
              <Icon name="out" />
            </button>
          )}
        </header>
        <main class="main" id="main" tabIndex={-1} data-seq={shownSeq.value}>
          {offline > 0 && (
            <div class="offline" role="alert">
              No connection for {offline} s.{heard.value > 0 && ` What is shown is of ${time(heard.value)}.`}
            </div>
          )}
          <div class={offline > 0 ? "stale stack" : "stack"} key={at + (query.value.get("id") ?? query.value.get("name") ?? "")}>{children}</div>
        </main>
      </div>
      {finding.value && <Finder />}
      {helping.value && <Keys />}
      <Ask />
      <Toasts />
      <Tip />
    </>
  );
}

/** The region that is shown; another one has the same page with other things on it. */
function Region({ all, now }: { all: string[]; now: string }) {
  const range = query.value.get("range");
  return (
    <select class="input region" aria-label="region" title="region" value={now} onChange={(e) => location.assign(`/regions/${e.currentTarget.value}/console${to(path.value, { range: range ?? "" })}`)}>
      {all.map((r) => <option key={r} value={r}>{r}</option>)}
    </select>
  );
}

/** Whether the page is live, and the server's clock. */
function Connection() {
  const off = offlineFor.value > 0;
  const at = clock.value;
  return (
    <button type="button" class="livebtn" aria-pressed={paused.value} title={`${moment(at)} here, ${utc(at)}; Space pauses`} onClick={() => (paused.value = !paused.value)}>
      <Glyph tone={off ? "warn" : paused.value ? "hold" : "ok"} size={10} />
      {off ? "offline" : paused.value ? `paused${behind.value ? `, ${behind.value} behind` : ""}` : "live"} <span class="mono">{time(at)}</span>
    </button>
  );
}

interface Hit {
  kind: string;
  name: string;
  note?: string;
  to: string;
}

/** Finds anything by id, name, player or address. */
function Finder() {
  const close = (): void => {
    finding.value = false;
  };
  const box = useTrap(close);
  const input = useRef<HTMLInputElement>(null);
  const [text, setText] = useState("");
  const [hits, setHits] = useState<Hit[]>([]);
  const [at, setAt] = useState(0);
  const [told, setTold] = useState("");
  useLayoutEffect(() => input.current?.focus(), []);
  useEffect(() => {
    const stop = new AbortController();
    const wait = setTimeout(() => {
      const pages = groups.flat().filter((e) => text && e.title.toLowerCase().startsWith(text.toLowerCase())).map((e) => ({ kind: "page", name: e.title, to: e.to }));
      if (!text) {
        setHits([]);
        setTold("");
        return;
      }
      view<Hit[]>("search", { text }, stop.signal)
        .then((found) => {
          setHits([...pages, ...found].slice(0, 8));
          setAt(0);
          setTold(found.length + pages.length ? "" : `Nothing has an id, name or address like “${text}”.`);
        })
        .catch((e: Error) => stop.signal.aborted || setTold(e.message));
    }, 120);
    return () => {
      clearTimeout(wait);
      stop.abort();
    };
  }, [text]);
  const choose = (h: Hit | undefined): void => {
    if (!h) return;
    close();
    go(h.to);
  };
  const key = (e: KeyboardEvent): void => {
    if (e.key === "ArrowDown" || e.key === "ArrowUp") {
      e.preventDefault();
      setAt((at + (e.key === "ArrowDown" ? 1 : hits.length - 1)) % Math.max(1, hits.length));
    } else if (e.key === "Enter") choose(hits[at]);
  };
  return (
    <div class="overlay" onMouseDown={(e) => e.target === e.currentTarget && close()}>
      <div class="dialog finder" role="dialog" aria-modal="true" aria-label="Search" ref={box}>
        <input
          ref={input} role="combobox" aria-expanded={hits.length > 0} aria-controls="hits" aria-activedescendant={hits.length ? `hit${at}` : undefined}
          aria-label="Search any id, name, player or address" placeholder="Any id, name, player or address" autocomplete="off" spellcheck={false}
          value={text} onInput={(e) => setText(e.currentTarget.value)} onKeyDown={key}
        />
        <div role="listbox" id="hits" aria-label="Found">
          {hits.map((h, i) => (
            <div role="option" id={`hit${i}`} key={h.kind + h.to} aria-selected={i === at} onMouseMove={() => setAt(i)} onClick={() => choose(h)}>
              <span class="kind">{h.kind}</span>
              <span class="cut">{h.name}</span>
              <span class="dim cut grow">{h.note}</span>
            </div>
          ))}
        </div>
        {told && <p class="dim" role="status">{told}</p>}
      </div>
    </div>
  );
}

/** The list of keys. */
function Keys() {
  const box = useTrap(() => (helping.value = false));
  useLayoutEffect(() => box.current?.querySelector("button")?.focus(), []);
  const list: [string, string][] = [
    ["/", "search"], ["Space", "pause or go on"], ["j k", "next, previous row"], ["Enter", "open the row"], ["[ ]", "shorter, longer range of charts"], ["c", "copy the row's id"], ["Esc", "close"], ["?", "this list"],
    ...groups.flat().map((e) => [`g ${e.key}`, e.title] as [string, string]),
  ];
  return (
    <div class="overlay" onMouseDown={(e) => e.target === e.currentTarget && (helping.value = false)}>
      <div class="dialog" role="dialog" aria-modal="true" aria-label="Keys" ref={box}>
        <h2>Keys</h2>
        <div class="keys">
          {list.map(([k, what]) => (
            <>
              <span>{k.split(" ").map((one) => <><kbd>{one}</kbd> </>)}</span>
              <span>{what}</span>
            </>
          ))}
        </div>
        <footer>
          <button type="button" class="btn" onClick={() => (helping.value = false)}>Close</button>
        </footer>
      </div>
    </div>
  );
}

/** Handles the keys that work everywhere. */
function useKeys(): void {
  useEffect(() => {
    let g = 0;
    const key = (e: KeyboardEvent): void => {
      const el = e.target as HTMLElement;
      if (e.key === "Escape" && el.matches("input, textarea") && !el.closest("[role=dialog]")) el.blur(); // letters are keys again
      if (e.ctrlKey || e.metaKey || e.altKey || el.closest("input, textarea, select, [contenteditable]") || document.querySelector("[role=dialog]")) return;
      const now = Date.now();
      if (now - g < 1200) {
        const to = groups.flat().find((entry) => entry.key === e.key);
        g = 0;
        if (to) {
          e.preventDefault();
          go(to.to);
          return;
        }
      }
      switch (e.key) {
        case "g":
          g = now;
          break;
        case "/":
          e.preventDefault();
          finding.value = true;
          break;
        case "?":
          helping.value = true;
          break;
        case "[":
        case "]":
          stepRange(e.key === "[" ? -1 : 1);
          break;
        case " ":
          if (el.closest("button, a, [role=region], summary")) break;
          e.preventDefault();
          paused.value = !paused.value;
          break;
        case "c": {
          const id = document.querySelector<HTMLElement>("h1 [data-copy], .head [data-copy]")?.dataset["copy"];
          if (id && !el.closest(".tablebox")) void copy(id).then(() => tell("Copied the id."));
          break;
        }
      }
    };
    document.addEventListener("keydown", key);
    return () => document.removeEventListener("keydown", key);
  }, []);
}

/** Reports whether a link leads to the console. */
export const within = (to: string): boolean => to.startsWith(base);
