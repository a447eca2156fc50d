// What the person says: verdicts on texts and their words, the buttons for them, and words that are allowed.

import { sendVerdict } from "./api.js";
import { element, keep, kept } from "./dom.js";

const PATIENCE = 400; // milliseconds after the last key
const OF_THIS_ONE = [413, 422]; // refusals of one verdict, which say nothing of the others

const keyOf = ({ start, end }) => `${start},${end}`;
const now = () => new Date().toISOString().replace(/\.\d+Z$/, "Z");

// Kept by text, counted, saved as JSON lines, and sent where the service takes them.
export class Verdicts {
  constructor(onChange) {
    this.onChange = onChange;
    this.takes = false; // whether the service keeps them, too
    this.trouble = "";
    this.entries = new Map(restore()); // by text: { verdict, isSaid, words, record, isSent }
  }

  document(text) {
    return this.entries.get(text)?.verdict ?? null;
  }

  word(text, word) {
    return wordIn(this.entry(text), word);
  }

  judgeDocument(text, verdict, model) {
    const entry = this.entry(text);
    if (verdict === "normal" || entry.verdict === "normal") entry.words = {};
    Object.assign(entry, { verdict, isSaid: true });
    this.keep(text, entry, model);
  }

  // An odd word makes the text odd. A text all of whose flagged words are normal is normal, unless someone called it odd.
  judgeWord(text, word, verdict, flagged, model) {
    const entry = this.entry(text);
    entry.words[keyOf(word)] = verdict;
    const isSaidOdd = entry.isSaid && entry.verdict === "odd";
    const isAllNormal = flagged.length > 0 && flagged.every((other) => wordIn(entry, other) === "normal") && !Object.values(entry.words).includes("odd");
    if (verdict === "odd") Object.assign(entry, { verdict: "odd", isSaid: isSaidOdd });
    else if (isAllNormal && !isSaidOdd) entry.verdict = "normal";
    this.keep(text, entry, model);
  }

  get counts() {
    const records = this.records;
    const odd = records.filter(({ verdict }) => verdict === "odd").length;
    return { all: records.length, odd, normal: records.length - odd, unsent: this.unsent.length };
  }

  get lines() {
    return this.records.map((record) => `${JSON.stringify(record)}\n`).join("");
  }

  // Sends what is not sent yet, one after the other, so that of two verdicts on a text the last one is the last in the file.
  async send() {
    if (!this.takes || this.isSending) return;
    this.isSending = true;
    this.trouble = "";
    const refused = new Set();
    for (let entry; (entry = this.unsent.find(({ record }) => !refused.has(record))); ) {
      const { record } = entry;
      try {
        await sendVerdict(record);
        if (entry.record === record) entry.isSent = true; // otherwise someone thought again meanwhile
      } catch (error) {
        this.trouble = error.message;
        if (!OF_THIS_ONE.includes(error.status)) break;
        refused.add(record);
      }
      this.changed();
    }
    this.isSending = false;
    this.changed();
  }

  get records() {
    return [...this.entries.values()].map(({ record }) => record).filter(Boolean);
  }

  get unsent() {
    return [...this.entries.values()].filter(({ record, isSent }) => record && !isSent);
  }

  entry(text) {
    return this.entries.get(text) ?? { verdict: null, isSaid: false, words: {}, record: null, isSent: false };
  }

  keep(text, entry, model) {
    this.entries.set(text, entry);
    const record = recordOf(text, entry, model);
    if (record && !isSame(record, entry.record)) Object.assign(entry, { record, isSent: false });
    this.changed();
    this.send();
  }

  changed() {
    keep("difa-verdicts", JSON.stringify([...this.entries]), "sessionStorage");
    this.onChange();
  }
}

// Whoever calls a text normal calls its words normal.
const wordIn = ({ verdict, words }, word) => words[keyOf(word)] ?? (verdict === "normal" ? "normal" : null);

// A text of which only some words were called normal has no verdict yet.
function recordOf(text, { verdict, words }, model) {
  if (!verdict) return null;
  const odd = Object.keys(words).filter((key) => words[key] === "odd");
  const spans = odd.map((key) => key.split(",").map(Number)).sort((a, b) => a[0] - b[0]);
  return { text, verdict, ...(spans.length ? { spans } : {}), model, at: now() };
}

const isSame = (one, other) => JSON.stringify({ ...one, at: "" }) === JSON.stringify({ ...other, at: "" });

function restore() {
  try {
    return JSON.parse(kept("difa-verdicts", "sessionStorage"));
  } catch {
    return [];
  }
}

// Two buttons of which at most one is pressed: the one that `current` names.
export function judgeButtons(name, current, onJudge) {
  const buttons = ["Odd", "Normal"].map((label) => {
    const verdict = label.toLowerCase();
    const onclick = (event) => {
      event.stopPropagation(); // a row of the table stays as it is
      onJudge(verdict);
    };
    return element("button", { type: "button", class: `judge ${verdict}`, "aria-label": `${label}: ${name}`, onclick }, label);
  });
  const group = element("span", { class: "judges", role: "group", "aria-label": `Your verdict on ${name}` }, ...buttons);
  group.refresh = () => {
    for (const button of buttons) button.setAttribute("aria-pressed", button.classList.contains(current() ?? "none"));
  };
  group.refresh();
  return group;
}

// All buttons on the page, after someone said something.
export const refreshJudges = () => document.querySelectorAll(".judges").forEach((group) => group.refresh());

// The words that this reader calls normal, in a box that the browser remembers. The service scores without them.
export class AllowedWords {
  constructor(box, onChange) {
    Object.assign(this, { box, onChange });
    box.value = kept("difa-allowed");
    box.addEventListener("input", () => {
      clearTimeout(this.waiting);
      this.waiting = setTimeout(() => this.changed(), PATIENCE);
    });
  }

  // One entry a line, or several between commas; a line of marks alone is an entry as it stands.
  get words() {
    const lines = this.box.value.split("\n").map((line) => line.trim());
    const entries = lines.flatMap((line) => (/[\p{L}\p{N}]/u.test(line) ? line.split(/[,;](?:\s+|$)/u) : [line]));
    return [...new Set(entries.map((entry) => entry.trim()).filter(Boolean))];
  }

  add(word) {
    this.box.value = `${this.box.value.trimEnd()}\n${word}`.trimStart();
    this.changed();
  }

  changed() {
    keep("difa-allowed", this.box.value);
    this.onChange();
  }
}
