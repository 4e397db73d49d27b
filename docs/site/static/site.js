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

  // Words of questions, which count only where nothing else is asked for.
  const filler = new Set("a an and are can do does for how i in is it my of on or the to what when where why with".split(" "));

  // How much more a section of a kind of documents weighs: what to do comes before why it is so.
  const favor = { Tutorials: 4, "How-to guides": 4 };

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

  /**
   * Returns the sections that fit a query, the best first: those with all of its words before
   * others, those where the words stand by themselves or begin words before those that have
   * them within words, such as "port" in "support", then by weight.
   */
  function find(sections, query) {
    const typed = query.toLowerCase().trim();
    const all = [...new Set(typed.split(/[^\p{L}\p{N}_:.$-]+/u).filter(Boolean))];
    const asked = all.filter((text) => !filler.has(text));
    const words = (asked.length ? asked : all).map((text) => ({
      text,
      begins: new RegExp(begins(text), "gu"),
      whole: new RegExp(begins(text) + "(?![\\p{L}\\p{N}])", "gu"),
    }));
    const found = [];
    for (const s of sections) {
      let had = 0;
      let fit = 0; // how many words stand by themselves or begin words
      let score = (s.head === typed ? 40 : 0) + (favor[s.kind] ?? 0);
      for (const word of words) {
        const w = weigh(s, word);
        had += w.score > 0;
        fit += w.fits;
        score += w.score;
      }
      if (had) found.push({ ...s, had, fit, score });
    }
    return found
      .sort((a, b) => b.had - a.had || b.fit - a.fit || b.score - a.score)
      .slice(0, most)
      .map((s) => ({ ...s, words: words.map((word) => word.text) }));
  }

  /** Returns the source of a pattern of a word that begins with a text. */
  function begins(text) {
    return "(?<![\\p{L}\\p{N}])" + escaped(text);
  }

  function escaped(text) {
    return text.replace(/[.$]/g, "\\$&");
  }

  /**
   * Returns how well a section fits a word, 0 if it does not have it, and whether the word
   * stands by itself or begins a word there. Headings and titles weigh more than all text can.
   */
  function weigh(s, word) {
    let score = 0;
    let fits = false;
    const look = (text, whole, begun, part) => {
      if (!text.includes(word.text)) return 0;
      const times = text.match(word.whole)?.length ?? 0;
      const begin = times || (text.match(word.begins)?.length ?? 0);
      score += times ? whole : begin ? begun : part;
      fits ||= begin > 0;
      return begin;
    };
    look(s.head, 30, 22, 3);
    look(s.title, 12 + (s.whole ? 6 : 0), 9 + (s.whole ? 6 : 0), 2);
    score += Math.min(3, look(s.body, 4, 2, 1) / (1 + s.body.length / 2000));
    return { score, fits };
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

  /** Returns the part of a section's text where a word is: best one that stands by itself. */
  function around(s) {
    let at = -1;
    for (const ending of ["(?![\\p{L}\\p{N}])", ""]) {
      for (const word of s.words) {
        if (at < 0) at = s.body.search(new RegExp(begins(word) + ending, "u"));
      }
    }
    if (at < 0) at = Math.max(...s.words.map((word) => s.body.indexOf(word)));
    const from = at < 40 ? 0 : s.text.indexOf(" ", at - 40) + 1;
    return (from ? "… " : "") + s.text.slice(from, from + 160);
  }

  /** Returns nodes of a text with the words marked: where they begin words, else within words. */
  function marked(text, words) {
    const nodes = [];
    const patterns = words.map((w) => (new RegExp(begins(w), "iu").test(text) ? begins(w) : escaped(w)));
    text.split(new RegExp("(" + patterns.join("|") + ")", "giu")).forEach((part, i) => {
      if (i % 2) nodes.push(Object.assign(document.createElement("mark"), { textContent: part }));
      else if (part) nodes.push(part);
    });
    return nodes;
  }
})();
