// The width of an element, for pictures whose text is not to be scaled.

import { useEffect, useRef, useState } from "preact/hooks";

/** Follows the width of an element in pixels; 0 before it is known. */
export function useWidth<T extends Element>(): { box: { current: T | null }; width: number } {
  const box = useRef<T>(null);
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const el = box.current!;
    const o = new ResizeObserver(() => setWidth(el.clientWidth));
    o.observe(el);
    return () => o.disconnect();
  }, []);
  return { box, width };
}
