// Hover, pin, drag and wheel.
import { speak } from "./actions.ts";
import type { Box } from "./drawing/scale.ts";
import type { Frame, Point } from "./frame.ts";

const DRAG_LEAST = 3; // pixels; less is a click

interface Drag extends Point {
  from: number;
  to: number;
  moved: boolean;
}

export function listenToPointer(frame: Frame): void {
  const { clock, spec } = frame;
  const { canvas } = frame.parts;
  let drag: Drag | null = null;
  const where = (e: MouseEvent): Point => {
    const r = canvas.getBoundingClientRect();
    return { x: e.clientX - r.left, y: e.clientY - r.top };
  };
  frame.on<PointerEvent>(canvas, "pointermove", (e) => {
    const point = where(e);
    frame.pointer = point;
    if (drag) moveZoom(frame, drag, point);
    else hover(frame, point);
  });
  frame.on(canvas, "pointerleave", () => {
    frame.pointer = drag = null;
    clock.set({ hover: null });
  });
  frame.on<PointerEvent>(canvas, "pointerdown", (e) => {
    const { from, to } = frame.box();
    drag = { ...where(e), from, to, moved: false };
  });
  frame.on<PointerEvent>(canvas, "pointerup", (e) => {
    const moved = drag?.moved;
    drag = null;
    if (moved || !clock.ticking) return;
    const { x, y } = where(e);
    const mark = spec.pick(x, y, frame.box());
    clock.set({ pin: mark && clock.pin?.key !== mark.key ? mark : null });
    if (mark) speak(frame, mark);
  });
  const zoom = (e: WheelEvent) => {
    if (!clock.ticking || spec.ownAxis) return;
    e.preventDefault();
    clock.zoomAt(frame.box().time(where(e).x), e.deltaY > 0 ? 1.25 : 0.8);
  };
  frame.on<WheelEvent>(canvas, "wheel", zoom, { passive: false });
}

function hover({ clock, spec, box }: Frame, { x, y }: Point): void {
  const b: Box = box();
  const inside = !spec.ownAxis && x >= b.left && x <= b.right;
  const mark = clock.ticking ? spec.pick(x, y, b) : null;
  if (mark) clock.set({ hover: { ...mark, time: inside ? b.time(x) : mark.time } });
  else clock.set({ hover: inside ? { time: b.time(x) } : null });
}

function moveZoom({ clock, box }: Frame, drag: Drag, { x }: Point): void {
  const b = box();
  const shift = ((drag.x - x) / (b.right - b.left)) * (b.to - b.from);
  if (Math.abs(drag.x - x) > DRAG_LEAST) drag.moved = true;
  if (!drag.moved || !clock.zoom) return;
  const width = drag.to - drag.from;
  const from = Math.max(clock.start, Math.min(drag.from + shift, clock.newest - width));
  clock.set({ zoom: { from, to: from + width, follow: false } });
}
