// Why a word stands out: its p-value, a bar for each view's evidence, and the reasons in words.

import { element, percent, rarity } from "./dom.js";
import { isFlagged } from "./flags.js";

const LEAST_HEIGHT = 120; // pixels: enough to read and to scroll
const FULL = 10; // evidence at which a bar is full: about 1 in 20,000 normal words
const UNUSUAL = -Math.log(0.2);
const INVISIBLE = /[\p{Cf}\p{Cc}\p{Zl}\p{Zp}]/gu;

export class Popover {
  constructor(box, onAllow, judges) {
    Object.assign(this, { box, onAllow, judges, pair: null });
    this.pinned = false;
    this.anchor = null;
    document.addEventListener("keydown", (event) => event.key === "Escape" && this.close(true));
    document.addEventListener("keydown", (event) => this.enter(event));
    document.addEventListener("click", (event) => {
      if (!box.contains(event.target) && !event.target.closest?.(".word, .ranking")) this.close(true);
    });
  }

  open(anchor, word, rate, pinned) {
    if (this.pinned && !pinned && anchor !== this.anchor && !document.activeElement?.classList.contains("word")) return;
    this.close(true);
    this.pinned = pinned;
    this.anchor = anchor;
    anchor.classList.add("open");
    anchor.setAttribute("aria-describedby", this.box.id);
    this.box.setAttribute("role", pinned ? "dialog" : "tooltip");
    this.box.setAttribute("aria-label", word.text);
    this.pair = pinned && !word.allowed ? this.judges(word) : null;
    const actions = this.pair ? [element("div", { class: "row acts" }, this.allowButton(word), this.pair.node)] : [];
    this.box.replaceChildren(...describe(word, rate), ...actions);
    this.box.hidden = false;
    this.place();
  }

  close(force) {
    if (this.pinned && !force) return;
    this.anchor?.classList.remove("open");
    this.anchor?.removeAttribute("aria-describedby");
    this.anchor = null;
    this.pinned = false;
    this.box.hidden = true;
  }

  allowButton(word) {
    return element("button", { type: "button", class: "allow", onclick: () => this.onAllow(word.text) }, "Allow this word");
  }

  // From a word whose explanation stays open, the tab key leads into it.
  enter(event) {
    const button = this.pinned && this.box.querySelector(".allow");
    if (!button || event.key !== "Tab" || event.shiftKey || document.activeElement !== this.anchor) return;
    event.preventDefault();
    button.focus();
  }

  // Reasons may come after the word was opened.
  refresh(word, rate) {
    if (this.anchor) this.open(this.anchor, word, rate, this.pinned);
  }

  // Below the word, or above it where there is more room; never past the edges of the window and of the text's card.
  place() {
    if (!this.anchor) return;
    const word = this.anchor.getClientRects()[0] ?? this.anchor.getBoundingClientRect();
    this.box.style.maxHeight = "";
    const box = this.box.getBoundingClientRect();
    const right = this.anchor.closest(".card").getBoundingClientRect().right - 8; // what stands beside the text stays in view
    const left = Math.max(8, Math.min(word.left, right - box.width));
    const [above, below] = [word.top - 16, innerHeight - word.bottom - 16];
    const isBelow = box.height <= below || below >= above;
    const height = Math.min(box.height, Math.max(LEAST_HEIGHT, isBelow ? below : above));
    const top = isBelow ? word.bottom + 8 : word.top - height - 8;
    this.box.style.maxHeight = `${height}px`;
    this.box.style.left = `${left + scrollX}px`;
    this.box.style.top = `${top + scrollY}px`;
  }
}

function describe(word, rate) {
  const name = element("bdi");
  name.textContent = word.text;
  const flagged = isFlagged(word, rate);
  const rare = `p = ${rarity(word.p_value)}: ${percent(word.p_value)} of normal words are as unusual. ${flagged ? "Flagged" : "Not flagged"} at ${percent(rate)}.`;
  const line = word.allowed ? "Allowed: it is never flagged, and the text is judged without it." : rare;
  const hidden = [...new Set(word.text.match(INVISIBLE) ?? [])].map((c) => `U+${c.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}`);
  const views = Object.entries(word.evidence ?? {}).map(([view, evidence], index) => describeView(view, evidence, index, word.reasons?.[view]));
  return [
    element("h3", {}, name),
    word.sentence ? element("p", {}, element("bdi", {}, word.sentence)) : null,
    element("p", {}, line),
    word.suggestion && !word.sentence ? element("p", { class: "suggestion" }, "Did you mean ", suggested(word.suggestion), "?") : null,
    hidden.length ? element("p", {}, `Contains invisible characters: ${hidden.join(", ")}`) : null,
    element("div", { class: "views" }, ...views),
  ].filter(Boolean);
}

function suggested(text) {
  const name = element("bdi");
  name.textContent = text;
  return name;
}

// A bar in the view's colour; the class of an element around it says which.
export function evidenceBar(evidence) {
  const bar = element("i");
  bar.style.width = `${Math.min(100, (100 * evidence) / FULL)}%`;
  return element("div", { class: "track", role: "img", "aria-label": `evidence ${evidence.toFixed(1)} of ${FULL}` }, bar);
}

function describeView(view, evidence, index, reasons) {
  const share = Math.exp(-evidence);
  let notes = (reasons ?? []).map((reason) => reason.text);
  if (evidence < UNUSUAL) notes = ["nothing unusual"];
  else if (reasons === undefined) notes = ["reasons are given for texts of up to 2,000 words"];
  const rare = share >= 0.001 ? `as rare as ${percent(share)}` : "rarer than 1 in 1,000";
  return element(
    "div",
    { class: `view-${index % 8}` },
    element("div", { class: "view-head" }, view, element("span", {}, `${evidence.toFixed(1)} · ${rare}`)),
    evidenceBar(evidence),
    element("ul", {}, ...notes.map((note) => element("li", {}, note))),
  );
}
