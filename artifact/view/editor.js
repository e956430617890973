(() => {
  "use strict";
  const own = document.currentScript;
  let port = null, held = null;
  const boards = () => [...document.body.children].filter(e => e.localName === "section" && e.hasAttribute("data-artboard"));
  const style = document.createElement("style");
  style.setAttribute("data-tenon-editor", "");
  style.textContent = "section[data-artboard]{position:absolute;outline:1px solid #8888;overflow:auto;resize:both}"
    + ".tenon-name{position:absolute;font:12px system-ui;padding:1px 6px;background:#345;color:#fff;cursor:move;user-select:none;z-index:2147483647}";

  // Where a board stands is in its own style, so that the canvas looks the same
  // without an editor.
  function place(board, i) {
    const s = board.style;
    if (!s.left) s.left = 20 + (i % 3) * 420 + "px";
    if (!s.top) s.top = 40 + Math.floor(i / 3) * 340 + "px";
    if (!s.width) s.width = "400px";
    if (!s.height) s.height = "300px";
  }

  function label(board) {
    const name = document.createElement("div");
    name.className = "tenon-name";
    name.setAttribute("data-tenon-editor", "");
    name.title = "Drag to move, double-click to rename";
    name.textContent = board.getAttribute("data-artboard");
    const follow = () => {
      name.style.left = board.offsetLeft + "px";
      name.style.top = board.offsetTop - 20 + "px";
    };
    name.addEventListener("pointerdown", e => {
      if (name.isContentEditable) return;
      held = { board, follow, x: e.clientX - board.offsetLeft, y: e.clientY - board.offsetTop };
      name.setPointerCapture(e.pointerId);
    });
    name.addEventListener("pointermove", e => {
      if (!held || held.board !== board) return;
      board.style.left = e.clientX - held.x + "px";
      board.style.top = e.clientY - held.y + "px";
      follow();
    });
    name.addEventListener("pointerup", () => { held = null; });
    name.addEventListener("dblclick", () => { name.contentEditable = "plaintext-only"; name.focus(); });
    const rename = () => {
      name.contentEditable = "false";
      const text = name.textContent.trim();
      if (text) board.setAttribute("data-artboard", text); else name.textContent = board.getAttribute("data-artboard");
    };
    name.addEventListener("blur", rename);
    name.addEventListener("keydown", e => { if (e.key === "Enter") { e.preventDefault(); name.blur(); } });
    follow();
    document.body.append(name);
  }

  // The document without what the editor put into it.
  function clean() {
    const copy = document.documentElement.cloneNode(true);
    for (const e of copy.querySelectorAll("[data-tenon-editor]")) e.remove();
    for (const e of copy.querySelectorAll("[data-tenon-edits]")) { e.removeAttribute("contenteditable"); e.removeAttribute("data-tenon-edits"); }
    return (document.doctype ? "<!doctype html>\n" : "") + copy.outerHTML + "\n";
  }

  addEventListener("message", e => {
    if (e.source !== parent || e.data !== "tenon-editor" || !e.ports[0] || port) return;
    e.stopImmediatePropagation();
    port = e.ports[0];
    port.onmessage = m => { if (m.data === "read") port.postMessage(clean()); };
  });
  addEventListener("DOMContentLoaded", () => {
    own.remove();
    document.head.append(style);
    boards().forEach((board, i) => {
      place(board, i);
      if (!board.hasAttribute("contenteditable")) { board.contentEditable = "true"; board.setAttribute("data-tenon-edits", ""); }
      label(board);
    });
  });
})();
