// Which lines differ between two texts.

export interface Line {
  kind: "same" | "old" | "new";
  text: string;
  at: number; // line in the new text from 1; of an old line, that before which it stood
}

/** Returns the lines of both texts in order: what stayed, went and came. */
export function diff(before: string, after: string): Line[] {
  const a = before.split("\n"), b = after.split("\n");
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head++;
  let tail = 0;
  while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++;
  const x = a.slice(head, a.length - tail), y = b.slice(head, b.length - tail);
  const out: Line[] = b.slice(0, head).map((text, i) => ({ kind: "same", text, at: i + 1 }));
  if (x.length * y.length > 4_000_000) {
    out.push(...x.map((text): Line => ({ kind: "old", text, at: head + 1 })), ...y.map((text, j): Line => ({ kind: "new", text, at: head + j + 1 })));
  } else {
    const wide = y.length + 1;
    const common = new Uint32Array((x.length + 1) * wide); // longest common part from i and j on
    for (let i = x.length - 1; i >= 0; i--) for (let j = y.length - 1; j >= 0; j--) common[i * wide + j] = x[i] === y[j] ? common[(i + 1) * wide + j + 1]! + 1 : Math.max(common[(i + 1) * wide + j]!, common[i * wide + j + 1]!);
    let i = 0, j = 0;
    while (i < x.length || j < y.length) {
      if (i < x.length && j < y.length && x[i] === y[j]) {
        out.push({ kind: "same", text: y[j]!, at: head + j + 1 });
        i++, j++;
      } else if (i < x.length && (j >= y.length || common[(i + 1) * wide + j]! >= common[i * wide + j + 1]!)) out.push({ kind: "old", text: x[i++]!, at: head + j + 1 });
      else out.push({ kind: "new", text: y[j++]!, at: head + j });
    }
  }
  for (let n = b.length - tail; n < b.length; n++) out.push({ kind: "same", text: b[n]!, at: n + 1 });
  return out;
}

/** Returns the changed lines with a few around them; null stands for lines left out. */
export function excerpt(lines: Line[], around = 2): (Line | null)[] {
  const near = new Set<number>();
  lines.forEach((l, i) => {
    if (l.kind !== "same") for (let n = i - around; n <= i + around; n++) near.add(n);
  });
  const out: (Line | null)[] = [];
  lines.forEach((l, i) => {
    if (near.has(i)) out.push(l);
    else if (out.length && out.at(-1) !== null) out.push(null);
  });
  if (out.at(-1) === null) out.pop();
  return out;
}
