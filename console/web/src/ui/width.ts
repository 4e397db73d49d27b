// The width of an element, for pictures whose text is not to be scaled.

import { useLayoutEffect, useRef, useState } from "preact/hooks";

/** Follows the width of an element in pixels. It is 0 only before the element is painted. */
export function useWidth<T extends Element>(): { box: { current: T | null }; width: number } {
  const box = useRef<T>(null);
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const el = box.current!;
    setWidth(el.clientWidth);
    const o = new ResizeObserver(() => setWidth(el.clientWidth));
    o.observe(el);
    return () => o.disconnect();
  }, []);
  return { box, width };
}
