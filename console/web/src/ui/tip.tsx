// A tooltip beside the pointer. It shows text only.

import { signal } from "@preact/signals";

const tip = signal<{ text: string; x: number; y: number } | null>(null);

/** Shows text beside the pointer, "" hides it. */
export function hint(e: MouseEvent | null, text = ""): void {
  tip.value = e && text ? { text, x: e.clientX, y: e.clientY } : null;
}

/** The tooltip of the page. */
export function Tip() {
  const t = tip.value;
  if (!t) return null;
  const place = (el: HTMLElement | null): void => {
    if (!el) return;
    el.style.left = `${Math.max(8, Math.min(t.x + 12, innerWidth - el.offsetWidth - 8))}px`;
    el.style.top = `${Math.max(8, Math.min(t.y + 12, innerHeight - el.offsetHeight - 8))}px`;
  };
  return <div class="tip" role="tooltip" ref={place}>{t.text}</div>;
}
