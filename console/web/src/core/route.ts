// Where the reader is: the path below /console, and the query. Both are in the address bar,
// so that a page can be sent to a colleague.

import { computed, signal } from "@preact/signals";

/**
 * What precedes the paths of everything in the region that the address names, such as /regions/eu-central-1; "" in
 * the home region.
 */
export const root = /^\/regions\/[^/]+(?=\/console(\/|$))/.exec(location.pathname)?.[0] ?? "";

/** The path under which the server serves the console of the region. */
export const base = root + "/console";

const here = signal(read());

function read(): { path: string; query: URLSearchParams } {
  const path = location.pathname.slice(base.length).replace(/\/+$/, "");
  return { path: path === "" ? "/" : path, query: new URLSearchParams(location.search) };
}

/** The path of the page, such as /fleets. */
export const path = computed(() => here.value.path);

/** The query of the page. */
export const query = computed(() => here.value.query);

/** Returns a value of the query, "" if it is not there. */
export const param = (name: string): string => here.value.query.get(name) ?? "";

/** Returns the address of a page, for links. */
export const href = (to: string): string => base + to;

/** Returns the path of a page with values for its query; empty ones are left out. */
export function to(page: string, values: Record<string, string | undefined> = {}): string {
  const q = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) if (value) q.set(name, value);
  const text = q.toString();
  return text ? `${page}?${text}` : page;
}

/** Shows a page. The range of charts that was chosen stays, unless the page names one. */
export function go(page: string): void {
  const range = here.peek().query.get("range");
  const at = new URL(href(page), location.href);
  if (range && !at.searchParams.has("range")) at.searchParams.set("range", range);
  history.pushState(null, "", at);
  here.value = read();
  window.scrollTo(0, 0);
}

/** Changes values of the query without a new entry in the history; "" removes one. */
export function setParams(values: Record<string, string>): void {
  const q = new URLSearchParams(here.peek().query);
  for (const [name, value] of Object.entries(values)) {
    if (value) q.set(name, value);
    else q.delete(name);
  }
  const text = q.toString();
  history.replaceState(null, "", href(here.peek().path) + (text ? `?${text}` : ""));
  here.value = read();
}

/** Follows links within the console without loading the program again. */
export function followLinks(): void {
  addEventListener("popstate", () => (here.value = read()));
  document.addEventListener("click", (e) => {
    if (e.defaultPrevented || e.button !== 0 || e.metaKey || e.ctrlKey || e.shiftKey || e.altKey) return;
    const a = (e.target as Element | null)?.closest?.("a");
    if (!a || a.target || a.hasAttribute("download") || !a.getAttribute("href")?.startsWith(base + "/")) return;
    e.preventDefault();
    go(a.getAttribute("href")!.slice(base.length));
  });
}
