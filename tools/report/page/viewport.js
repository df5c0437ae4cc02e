// Zoom and pan by buttons, keys, wheel, drag and pinch, for whatever can do
//   zoom(factor, fx, fy)   about the point at these fractions of the target's width and height
//   pan(dx, dy)            by fractions of what is visible
//   reset()

// The toolbar; the keys and the pointer act on `target`.
function navigation(target, view) {
  const tools = element("div", {class: "tools", role: "group", "aria-label": "Zoom and pan"},
    button("+", {"aria-label": "Zoom in", title: "Zoom in (+)"}, () => view.zoom(1.6, 0.5, 0.5)),
    button("−", {"aria-label": "Zoom out", title: "Zoom out (−)"}, () => view.zoom(1 / 1.6, 0.5, 0.5)),
    button("←", {"aria-label": "Pan left", title: "Pan left (Shift + ←)"}, () => view.pan(-0.25, 0)),
    button("→", {"aria-label": "Pan right", title: "Pan right (Shift + →)"}, () => view.pan(0.25, 0)),
    button("Show all", {title: "Show all (0)"}, () => view.reset()));

  target.addEventListener("keydown", (event) => {
    const keys = {"+": () => view.zoom(1.6, 0.5, 0.5), "=": () => view.zoom(1.6, 0.5, 0.5), "-": () => view.zoom(1 / 1.6, 0.5, 0.5), 0: () => view.reset()};
    const shifted = {ArrowLeft: () => view.pan(-0.15, 0), ArrowRight: () => view.pan(0.15, 0), ArrowUp: () => view.pan(0, -0.15), ArrowDown: () => view.pan(0, 0.15)};
    const action = keys[event.key] ?? (event.shiftKey ? shifted[event.key] : undefined);
    if (!action || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    action();
  });

  // The wheel scrolls the page until it is meant for the drawing: that has the focus, or Ctrl is held.
  target.addEventListener("wheel", (event) => {
    const meant = document.activeElement === target || event.ctrlKey || event.metaKey;
    const rect = target.getBoundingClientRect();
    if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      event.preventDefault();
      view.pan(event.deltaX / rect.width, 0);
    } else if (meant) {
      event.preventDefault();
      view.zoom(Math.exp(-event.deltaY * 0.0025), (event.clientX - rect.left) / rect.width, (event.clientY - rect.top) / rect.height);
    }
  }, {passive: false});

  const pointers = new Map();
  const spread = () => {
    const [a, b] = [...pointers.values()];
    return Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY);
  };
  target.addEventListener("pointerdown", (event) => {
    pointers.set(event.pointerId, event);
    target.setPointerCapture(event.pointerId);
  });
  target.addEventListener("pointermove", (event) => {
    if (!pointers.has(event.pointerId)) return;
    const rect = target.getBoundingClientRect();
    const before = pointers.get(event.pointerId);
    const spreadBefore = pointers.size === 2 ? spread() : 0;
    pointers.set(event.pointerId, event);
    if (pointers.size === 1) {
      view.pan((before.clientX - event.clientX) / rect.width, (before.clientY - event.clientY) / rect.height);
    } else if (pointers.size === 2 && spreadBefore > 0) {
      const [a, b] = [...pointers.values()];
      view.zoom(spread() / spreadBefore, ((a.clientX + b.clientX) / 2 - rect.left) / rect.width, ((a.clientY + b.clientY) / 2 - rect.top) / rect.height);
    }
  });
  for (const end of ["pointerup", "pointercancel"]) target.addEventListener(end, (event) => pointers.delete(event.pointerId));
  return tools;
}
