// The text, word by word. Offsets count code points, strings here count UTF-16 units: Array.from makes them agree.

import { element, heat, rarity } from "./dom.js";
import { isFlagged } from "./flags.js";

const MARKED = 0.05; // words at most this probable are stops for the arrow keys

export class WordsPanel {
  constructor(box, onOpen, onClose) {
    this.box = box;
    this.spans = [];
    this.words = [];
    this.onOpen = onOpen;
    const at = (event) => this.spans.indexOf(event.target.closest?.(".word"));
    box.addEventListener("mouseover", (event) => at(event) >= 0 && onOpen(at(event), false));
    box.addEventListener("mouseleave", () => onClose(false));
    box.addEventListener("click", (event) => (at(event) >= 0 ? this.stand(at(event), true) : onClose(true)));
    box.addEventListener("focusin", (event) => at(event) >= 0 && onOpen(at(event), false));
    box.addEventListener("keydown", (event) => this.steer(event, at(event)));
  }

  show(result) {
    const characters = Array.from(result.text);
    const part = (start, end) => characters.slice(start, end).join("");
    this.words = result.words;
    this.spans = [];
    const pieces = [];
    let position = 0;
    for (const word of result.words) {
      if (word.start > position) pieces.push(part(position, word.start));
      const span = element("span", { class: "word" });
      span.textContent = part(word.start, word.end);
      this.spans.push(span);
      pieces.push(span);
      position = word.end;
    }
    if (position < characters.length) pieces.push(part(position, characters.length));
    this.box.replaceChildren(...pieces);
    this.box.scrollTop = 0;
  }

  // Flags follow from p-values, so another rate needs no new request.
  flag(rate) {
    let entered = false;
    this.words.forEach((word, index) => {
      const span = this.spans[index];
      const flagged = isFlagged(word, rate);
      const stop = flagged || word.p_value <= MARKED;
      span.className = `word h${heat(word.p_value)}${flagged ? " flagged" : ""}${word.allowed ? " allowed" : ""}`;
      if (stop) {
        span.setAttribute("role", "button");
        span.setAttribute("aria-label", `${word.text}, ${flagged ? "flagged, " : ""}p ${rarity(word.p_value)}`);
        span.tabIndex = entered ? -1 : 0;
        entered = true;
      } else if (span.hasAttribute("role")) {
        for (const name of ["role", "aria-label", "tabindex"]) span.removeAttribute(name);
      }
    });
  }

  // What the person says of each word: a sign behind it, and in its name.
  mark(verdictOf) {
    this.words.forEach((word, index) => {
      const span = this.spans[index];
      const verdict = verdictOf(word);
      span.classList.toggle("said-odd", verdict === "odd");
      span.classList.toggle("said-normal", verdict === "normal" && span.classList.contains("flagged"));
      const name = span.getAttribute("aria-label")?.replace(/, you say \w+$/, "");
      if (name) span.setAttribute("aria-label", verdict ? `${name}, you say ${verdict}` : name);
    });
  }

  stand(index, pinned) {
    const span = this.spans[index];
    if (!span) return;
    if (span.hasAttribute("role")) {
      this.spans.forEach((other) => other.tabIndex === 0 && (other.tabIndex = -1));
      span.tabIndex = 0;
      span.focus({ preventScroll: true });
    }
    // On a phone the explanation covers the lower half.
    span.scrollIntoView({ block: matchMedia("(max-width: 38rem)").matches ? "start" : "nearest" });
    this.onOpen(index, pinned);
  }

  steer(event, index) {
    const stops = this.spans.map((span, at) => (span.hasAttribute("role") ? at : -1)).filter((at) => at >= 0);
    const place = stops.indexOf(index);
    if (place < 0) return;
    const targets = { ArrowRight: place + 1, ArrowDown: place + 1, ArrowLeft: place - 1, ArrowUp: place - 1, Home: 0, End: stops.length - 1 };
    if (event.key in targets) {
      event.preventDefault();
      const next = Math.max(0, Math.min(stops.length - 1, targets[event.key]));
      this.stand(stops[next], false);
    } else if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      this.onOpen(index, true);
    }
  }
}
