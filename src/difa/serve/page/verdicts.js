// What the person says of texts and their words: kept by text, counted, saved as JSON lines, and sent where the service takes it.

import { sendVerdict } from "./api.js";
import { keepForTab, keptForTab } from "./memory.js";

const MEMORY = "difa-verdicts";
const OF_THIS_ONE = [413, 422]; // refusals of one verdict, which say nothing of the others

const keyOf = ({ start, end }) => `${start},${end}`;
const now = () => new Date().toISOString().replace(/\.\d+Z$/, "Z");

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

  // From here on only this class.

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
    keepForTab(MEMORY, JSON.stringify([...this.entries]));
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
    return JSON.parse(keptForTab(MEMORY) || "[]");
  } catch {
    return [];
  }
}
