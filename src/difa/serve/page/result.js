// One result: its text word by word, why a word stands out, the most unusual words, and where its score lies among normal ones.

import { element, heat, isFlagged, percent, rarity, shape } from "./dom.js";

const MARKED = 0.05; // words at most this probable are stops for the arrow keys
const LEAST_HEIGHT = 120; // pixels: enough to read and to scroll
const FULL = 10; // evidence at which a bar is full: about 1 in 20,000 normal words
const UNUSUAL = -Math.log(0.2);
const RANKED = 6; // words
export const LONGEST_NAME = 60; // characters of a word in a list
const [WIDTH, HEIGHT, TOP, BOTTOM] = [300, 120, 22, 18]; // of the histogram, and of what stands above and below its bars
const INVISIBLE = /[\p{Cf}\p{Cc}\p{Zl}\p{Zp}]/gu;

export class WordsPanel {
  // `actions` makes the buttons of a word, below an explanation that stays open.
  constructor(box, popover, actions) {
    Object.assign(this, { box, popover, actions, spans: [], words: [], rate: 0 });
    const at = (event) => this.spans.indexOf(event.target.closest?.(".word"));
    const hover = (event) => at(event) >= 0 && this.open(at(event), false);
    box.addEventListener("mouseover", hover);
    box.addEventListener("focusin", hover);
    box.addEventListener("mouseleave", () => popover.close(false));
    box.addEventListener("click", (event) => (at(event) >= 0 ? this.stand(at(event), true) : popover.close(true)));
    box.addEventListener("keydown", (event) => this.steer(event, at(event)));
  }

  // Offsets count code points, strings here count UTF-16 units: Array.from makes them agree.
  show({ text, words }) {
    const characters = Array.from(text);
    const part = (start, end) => characters.slice(start, end).join("");
    this.words = words;
    this.spans = words.map((word) => element("span", { class: "word" }, part(word.start, word.end)));
    const before = words.map((word, index) => part(words[index - 1]?.end ?? 0, word.start));
    const pieces = this.spans.flatMap((span, index) => [before[index], span]);
    this.box.replaceChildren(...pieces.filter(Boolean), part(words.at(-1)?.end ?? 0));
    this.box.scrollTop = 0;
  }

  // Flags follow from p-values, so another rate needs no new request. A verdict is a sign behind the word, and in its name.
  mark(rate, verdictOf) {
    this.rate = rate;
    this.words.forEach((word, index) => {
      const span = this.spans[index];
      const verdict = verdictOf(word);
      const flagged = isFlagged(word, rate);
      const classes = { flagged, allowed: word.allowed, "said-odd": verdict === "odd", "said-normal": flagged && verdict === "normal" };
      span.className = ["word", `h${heat(word.p_value)}`, ...Object.keys(classes).filter((name) => classes[name])].join(" ");
      if (flagged || word.p_value <= MARKED) {
        const name = `${word.text}, ${flagged ? "flagged, " : ""}p ${rarity(word.p_value)}${verdict ? `, you say ${verdict}` : ""}`;
        span.setAttribute("role", "button");
        span.setAttribute("aria-label", name);
        if (!span.hasAttribute("tabindex")) span.tabIndex = -1;
      } else {
        for (const name of ["role", "aria-label", "tabindex"]) span.removeAttribute(name);
      }
    });
    const stops = this.stops;
    if (stops.length && !stops.some((span) => span.tabIndex === 0)) stops[0].tabIndex = 0;
  }

  get stops() {
    return this.spans.filter((span) => span.hasAttribute("role"));
  }

  open(index, pinned) {
    const word = this.words[index];
    const actions = pinned && !word.allowed ? [this.actions(word)] : [];
    this.popover.open(this.spans[index], word.text, [...describe(word, this.rate), ...actions], pinned);
  }

  // Reasons may come after a word was opened.
  refresh() {
    const index = this.spans.indexOf(this.popover.anchor);
    if (index >= 0) this.open(index, this.popover.pinned);
  }

  stand(index, pinned) {
    const span = this.spans[index];
    if (span.hasAttribute("role")) {
      this.stops.forEach((other) => (other.tabIndex = other === span ? 0 : -1));
      span.focus({ preventScroll: true });
    }
    // On a phone the explanation covers the lower half.
    span.scrollIntoView({ block: matchMedia("(max-width: 38rem)").matches ? "start" : "nearest" });
    this.open(index, pinned);
  }

  steer(event, index) {
    const stops = this.stops;
    const place = stops.indexOf(this.spans[index]);
    if (place < 0) return;
    const last = stops.length - 1;
    const targets = { ArrowRight: place + 1, ArrowDown: place + 1, ArrowLeft: place - 1, ArrowUp: place - 1, Home: 0, End: last };
    const isChosen = event.key === "Enter" || event.key === " ";
    if (!isChosen && !(event.key in targets)) return;
    event.preventDefault();
    if (isChosen) this.open(index, true);
    else this.stand(this.spans.indexOf(stops[Math.max(0, Math.min(last, targets[event.key]))]), false);
  }
}

// Why a word stands out: its p-value, a bar for each view's evidence, and the reasons in words.
export class Popover {
  constructor(box) {
    Object.assign(this, { box, pinned: false, anchor: null });
    document.addEventListener("keydown", (event) => (event.key === "Escape" ? this.close(true) : this.enter(event)));
    document.addEventListener("click", (event) => {
      if (!box.contains(event.target) && !event.target.closest?.(".word, .ranking")) this.close(true);
    });
    addEventListener("resize", () => this.place());
  }

  open(anchor, name, content, pinned) {
    if (this.pinned && !pinned && anchor !== this.anchor && !document.activeElement?.classList.contains("word")) return;
    this.close(true);
    Object.assign(this, { anchor, pinned });
    anchor.setAttribute("aria-describedby", this.box.id);
    this.box.setAttribute("role", pinned ? "dialog" : "tooltip");
    this.box.setAttribute("aria-label", name);
    this.box.replaceChildren(...content);
    this.box.hidden = false;
    this.place();
  }

  close(force) {
    if (this.pinned && !force) return;
    this.anchor?.removeAttribute("aria-describedby");
    Object.assign(this, { anchor: null, pinned: false });
    this.box.hidden = true;
  }

  // From a word whose explanation stays open, the tab key leads into it.
  enter(event) {
    const button = this.pinned && this.box.querySelector(".allow");
    if (!button || event.key !== "Tab" || event.shiftKey || document.activeElement !== this.anchor) return;
    event.preventDefault();
    button.focus();
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
    Object.assign(this.box.style, { maxHeight: `${height}px`, left: `${left + scrollX}px`, top: `${top + scrollY}px` });
  }
}

function describe(word, rate) {
  const flagged = isFlagged(word, rate) ? "Flagged" : "Not flagged";
  const rare = `p = ${rarity(word.p_value)}: ${percent(word.p_value)} of normal words are as unusual. ${flagged} at ${percent(rate)}.`;
  const codes = [...new Set(word.text.match(INVISIBLE) ?? [])].map((c) => c.codePointAt(0).toString(16).toUpperCase());
  const hidden = codes.map((code) => `U+${code.padStart(4, "0")}`).join(", ");
  const views = Object.entries(word.evidence ?? {});
  return [
    element("h3", {}, element("bdi", {}, word.text)),
    word.sentence && element("p", {}, element("bdi", {}, word.sentence)),
    element("p", {}, word.allowed ? "Allowed: it is never flagged, and the text is judged without it." : rare),
    word.suggestion && !word.sentence && element("p", {}, "Did you mean ", element("bdi", {}, word.suggestion), "?"),
    hidden && element("p", {}, `Contains invisible characters: ${hidden}`),
    element("div", { class: "views" }, ...views.map(([view, evidence], index) => describeView(view, evidence, index, word.reasons?.[view]))),
  ].filter(Boolean);
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

// A bar in the view's colour; the class of an element around it says which.
function evidenceBar(evidence) {
  const bar = element("i");
  bar.style.width = `${Math.min(100, (100 * evidence) / FULL)}%`;
  return element("div", { class: "track", role: "img", "aria-label": `evidence ${evidence.toFixed(1)} of ${FULL}` }, bar);
}

// The most unusual words; `stand` leads to one of them in the text.
export function rank(list, keys, result, stand) {
  const rarest = (a, b) => a.word.p_value - b.word.p_value || b.word.score - a.word.score;
  const ranked = result.words.map((word, index) => ({ word, index })).sort(rarest);
  list.replaceChildren(...ranked.slice(0, RANKED).map(({ word, index }) => rankedWord(word, () => stand(index))));
  const views = Object.keys(result.words[0]?.evidence ?? {});
  keys.replaceChildren(...views.map((view, index) => element("span", { class: `view-${index % 8}` }, view)));
}

function rankedWord(word, onclick) {
  const views = Object.entries(word.evidence);
  const bars = views.map(([, evidence], at) => element("div", { class: `view-${at % 8}` }, evidenceBar(evidence)));
  const strongest = views.reduce((best, view) => (view[1] > best[1] ? view : best), ["", -1]);
  const why = word.sentence ?? word.reasons?.[strongest[0]]?.[0]?.text ?? "";
  const parts = [
    element("bdi", { class: `h${heat(word.p_value)}` }, word.text.slice(0, LONGEST_NAME)),
    element("div", {}, ...bars),
    element("span", { class: "why" }, why),
    element("span", { class: "p" }, `p = ${rarity(word.p_value)}`),
  ];
  return element("li", {}, element("button", { type: "button", onclick }, ...parts));
}

// Where normal documents lie, and where this one does. Built by the DOM, so that the content policy can stay strict.
export function drawHistogram(box, model, result, rate) {
  const { edges, counts } = model.histogram;
  const [low, high] = [Math.min(edges[0], result.score), Math.max(edges.at(-1), result.score)];
  const x = (score) => 4 + ((WIDTH - 8) * (score - low)) / (high - low || 1);
  const base = HEIGHT - BOTTOM;
  const most = Math.max(...counts, 1);
  // Documents above it are flagged. A model that knows too few documents for the rate has none.
  const limit = model.thresholds.findLast((entry) => entry.rate <= rate * (1 + 1e-9))?.score ?? Infinity;
  const bars = counts.map((count, index) => {
    const [from, to] = [edges[index], edges[index + 1]];
    const height = count ? Math.max(1.5, ((base - TOP) * count) / most) : 0;
    const kind = (from + to) / 2 > limit ? "bar above" : "bar";
    return shape("rect", { class: kind, x: x(from), y: base - height, width: Math.max(0.5, x(to) - x(from) - 1), height, rx: 1 });
  });
  const here = x(result.score);
  const end = here > WIDTH / 2;
  const parts = [shape("line", { class: "axis", x1: 0, x2: WIDTH, y1: base + 0.5, y2: base + 0.5 }), ...bars];
  if (limit <= high) parts.push(shape("line", { class: "limit", x1: x(limit), x2: x(limit), y1: TOP, y2: base }));
  const text = (place, ...words) => shape("text", { class: "chart-label", y: HEIGHT - 4, ...place }, ...words);
  const mine = { class: "chart-label strong", x: here + (end ? -8 : 8), y: TOP - 3, "text-anchor": end ? "end" : "start" };
  parts.push(
    shape("line", { class: "here", x1: here, x2: here, y1: TOP - 6, y2: base }),
    shape("circle", { class: "here-dot", cx: here, cy: TOP - 6, r: 3.5 }),
    text(mine, `this document ${result.score.toFixed(1)}`),
    text({ x: 0 }, low.toFixed(1)),
    text({ x: WIDTH / 2, "text-anchor": "middle" }, "document score"),
    text({ x: WIDTH, "text-anchor": "end" }, high.toFixed(1)),
  );
  const range = `from ${edges[0].toFixed(1)} to ${edges.at(-1).toFixed(1)}`;
  const own = `This document has ${result.score.toFixed(1)}, p ${rarity(result.p_value)}.`;
  const label = `Scores of ${model.normal_documents} normal documents, ${range}. ${own}`;
  box.replaceChildren(shape("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": label }, ...parts));
}
