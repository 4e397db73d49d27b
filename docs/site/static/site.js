// The documents' pages: theme, search, copying. Every page can be read without it.
"use strict";
(() => {
  const base = document.currentScript.dataset.base;
  const root = document.documentElement;
  const keep = (theme) => {
    root.dataset.theme = theme;
    try {
      localStorage.setItem("theme", theme); // as the console does
    } catch {
      // without storage the choice lasts as long as the page
    }
  };
  try {
    const theme = localStorage.getItem("theme");
    if (theme) root.dataset.theme = theme;
  } catch {
    // without storage it is the system's theme
  }

  document.addEventListener("DOMContentLoaded", () => {
    document.querySelector(".theme").onclick = () => {
      const dark = root.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
      keep(dark === "dark" ? "light" : "dark");
    };
    const here = document.querySelector(".nav [aria-current]");
    if (here) here.closest(".nav").scrollTop = here.offsetTop - innerHeight / 2; // of the list alone
    addCopy();
    follow();
    search();
  });

  /** Adds a button to each code block that copies it. */
  function addCopy() {
    if (!navigator.clipboard) return; // only pages from this machine or by HTTPS have it
    for (const block of document.querySelectorAll(".code")) {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = "Copy";
      button.onclick = async () => {
        await navigator.clipboard.writeText(block.querySelector("code").textContent);
        button.textContent = "Copied";
        setTimeout(() => (button.textContent = "Copy"), 1500);
      };
      block.append(button);
    }
  }

  /** Marks the section that is read in the outline. */
  function follow() {
    const links = new Map([...document.querySelectorAll(".outline a")].map((a) => [a.getAttribute("href").slice(1), a]));
    const heads = [...document.querySelectorAll("article h2[id]")];
    if (!links.size) return;
    const mark = () => {
      const read = heads.filter((h) => h.getBoundingClientRect().top < 120).pop();
      for (const [id, a] of links) a.classList.toggle("here", id === read?.id);
    };
    addEventListener("scroll", mark, { passive: true });
    mark();
  }

  const most = 12; // hits that are shown

  /** Returns what a search looks into, with words in lower case; it is loaded for the first search. */
  let loading;
  const index = () =>
    (loading ??= new Promise((resolve, reject) => {
      const script = document.createElement("script");
      script.src = base + "index.js";
      script.onload = () =>
        resolve(globalThis.musterIndex.flatMap((page) => page.sections.map(([id, heading, text]) => ({
          url: base + page.url + (id ? "#" + id : ""), page: page.title, kind: page.kind, heading, text,
          title: page.title.toLowerCase(), head: heading.toLowerCase(), body: text.toLowerCase(), whole: !id,
        }))));
      script.onerror = reject;
      document.head.append(script);
    }));

  /** Returns the sections with all words, the best first. */
  function find(sections, query) {
    const words = query.toLowerCase().split(/[^\p{L}\p{N}_:.$-]+/u).filter(Boolean);
    if (!words.length) return [];
    const found = [];
    for (const s of sections) {
      let score = s.head === query.toLowerCase().trim() ? 40 : 0;
      for (const word of words) {
        const part = weigh(s, word);
        if (!part) {
          score = 0;
          break;
        }
        score += part;
      }
      if (score) found.push({ ...s, score });
    }
    return found.sort((a, b) => b.score - a.score).slice(0, most).map((s) => ({ ...s, words }));
  }

  /** Returns how well a section fits a word, 0 if it does not have it. */
  function weigh(s, word) {
    const starts = (text) => text.startsWith(word) || new RegExp("[^\\p{L}\\p{N}]" + word.replace(/[.$]/g, "\\$&"), "u").test(text);
    let weight = 0;
    if (s.head.includes(word)) weight += starts(s.head) ? 12 : 5;
    if (s.title.includes(word)) weight += (starts(s.title) ? 6 : 2) + (s.whole ? 4 : 0);
    if (s.body.includes(word)) weight += (starts(s.body) ? 2 : 1) + Math.min(3, s.body.split(word).length - 1) / (1 + s.body.length / 2000);
    return weight;
  }

  function search() {
    const input = document.querySelector(".search input");
    const hits = document.querySelector("#hits");
    let chosen = 0;
    let asked = 0;
    const close = () => {
      hits.hidden = true;
      input.setAttribute("aria-expanded", "false");
    };
    const choose = (at) => {
      const all = [...hits.querySelectorAll("a")];
      if (!all.length) return;
      chosen = (at + all.length) % all.length;
      all.forEach((a, i) => a.setAttribute("aria-selected", String(i === chosen)));
      all[chosen].scrollIntoView({ block: "nearest" });
      input.setAttribute("aria-activedescendant", all[chosen].id);
    };
    const show = async () => {
      const query = input.value;
      const turn = ++asked;
      if (!query.trim()) return close();
      let found = [];
      let told = `No page has “${query}”.`;
      try {
        found = find(await index(), query);
      } catch {
        told = "The index could not be loaded: load the page again.";
      }
      if (turn !== asked) return;
      hits.replaceChildren(...found.map(hit));
      if (!found.length) hits.append(Object.assign(document.createElement("p"), { textContent: told }));
      hits.hidden = false;
      input.setAttribute("aria-expanded", "true");
      choose(0);
    };
    input.oninput = show;
    input.onfocus = () => {
      index().catch(() => {}); // the search says so
      if (input.value) show();
    };
    input.onkeydown = (e) => {
      if (e.key === "ArrowDown" || e.key === "ArrowUp") {
        e.preventDefault();
        choose(chosen + (e.key === "ArrowDown" ? 1 : -1));
      } else if (e.key === "Enter") {
        const to = hits.hidden ? null : hits.querySelectorAll("a")[chosen];
        if (to) {
          close();
          location.href = to.href;
        }
      } else if (e.key === "Escape") {
        close();
        input.blur();
      }
    };
    document.addEventListener("mousedown", (e) => e.target.closest(".search") || close());
    hits.addEventListener("click", close);
    document.addEventListener("keydown", (e) => {
      if (e.key !== "/" || e.ctrlKey || e.metaKey || e.altKey || e.target.closest("input, textarea")) return;
      e.preventDefault();
      input.focus();
      input.select();
    });
  }

  /** Shows a section that was found. */
  function hit(s, at) {
    const a = document.createElement("a");
    a.href = s.url;
    a.id = "hit" + at;
    a.setAttribute("role", "option");
    const head = document.createElement("b");
    head.append(...marked(s.heading, s.words));
    const where = Object.assign(document.createElement("small"), { textContent: s.whole ? s.kind : s.page });
    const text = document.createElement("span");
    text.append(...marked(around(s), s.words));
    a.append(where, head, text);
    return a;
  }

  /** Returns the part of a section's text where the first word is. */
  function around(s) {
    const at = Math.max(0, ...s.words.slice(0, 1).map((word) => s.body.indexOf(word)));
    const from = at < 40 ? 0 : s.text.indexOf(" ", at - 40) + 1;
    return (from ? "… " : "") + s.text.slice(from, from + 160);
  }

  /** Returns nodes of a text with the words marked. */
  function marked(text, words) {
    const nodes = [];
    const pattern = new RegExp("(" + words.map((w) => w.replace(/[.$]/g, "\\$&")).join("|") + ")", "giu");
    text.split(pattern).forEach((part, i) => {
      if (i % 2) nodes.push(Object.assign(document.createElement("mark"), { textContent: part }));
      else if (part) nodes.push(part);
    });
    return nodes;
  }
})();
