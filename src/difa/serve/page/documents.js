// Many documents: read from a file by the service's own readers, shown as a table, saved with their rows.

import { readFile } from "./api.js";
import { element, flaggedWords, isFlagged, rarity } from "./dom.js";
import { FORMULA } from "./formula.js"; // made by the service: what the command guards

const MOST_DOCUMENTS = 50; // a request, so that a long file shows progress and leaves room for others
const MOST_CHARACTERS = 100_000;
const NAMED = 5; // words that a summary names at most
const OWN = ["score", "p_value", "is_anomaly", "flagged_words", "suggestions", "summary", "error"];
const BETWEEN = " | ";
const FIRST = 200; // rows drawn before someone asks for all
const BY_RARITY = 3; // the column that sorts at first

// A file -> its documents. Of a table someone can say which column holds the text, and must where it is not obvious.
export class Opener {
  constructor(box, select, why, onChoose) {
    Object.assign(this, { box, select, why, file: null, table: null });
    select.addEventListener("change", () => select.value && onChoose(this.file, select.value));
  }

  hide() {
    this.box.hidden = true;
  }

  // The documents; none where the column must be chosen first.
  async open(file, textColumn, most, signal) {
    const size = `expected at most ${Math.floor(most / 1e6)} MB, got ${Math.ceil(file.size / 1e6)} MB`;
    if (file.size > most) throw new Error(`${file.name}: ${size}: score it on the command line`);
    if (!textColumn) this.hide();
    const table = await readFile(file, textColumn, signal);
    Object.assign(this, { file, table });
    this.offer(table);
    const { columns, documents } = table;
    if (columns.length && table.text_column === null) return null;
    if (documents.every(({ error }) => error)) throw new Error(documents[0]?.error ?? `${file.name}: expected documents, found none`);
    return documents;
  }

  offer({ columns, text_column: chosen }) {
    this.box.hidden = columns.length < 2;
    const ask = chosen === null ? [element("option", { value: "" }, "choose …")] : [];
    const options = columns.map((column) => element("option", { value: column, selected: column === chosen }, column));
    this.select.replaceChildren(...ask, ...options);
    const unclear = `It is not obvious which column of ${this.file.name} holds the text.`;
    this.why.textContent = chosen === null ? unclear : `of ${this.file.name}; the other columns are kept`;
    if (chosen === null) this.select.focus();
  }

  // The columns of the table beside its text and its ids.
  get ownColumns() {
    const { columns, text_column: text, id_column: id } = this.table;
    return columns.filter((column) => column !== text && column !== id);
  }

  // Whether documents have ids of their own, and not ours of file and line.
  get hasIds() {
    return this.table.documents.some(({ id, error }) => !error && !id.startsWith(`${this.file.name}:`));
  }
}

// Documents in parts that are sent together; those that could not be read are in them, but not sent.
export function* cutParts(documents) {
  let part = [];
  let characters = 0;
  for (const document of documents) {
    const size = (document.text ?? "").length;
    if (part.length && (part.length >= MOST_DOCUMENTS || characters + size > MOST_CHARACTERS)) {
      yield part;
      part = [];
      characters = 0;
    }
    part.push(document);
    characters += size;
  }
  if (part.length) yield part;
}

export const toTexts = (part) => part.filter(({ error }) => !error).map(({ id, text, tokens }) => ({ id, text, tokens }));

// Each document's result, with the rest of its row.
export function withRows(part, results) {
  let at = 0;
  return part.map((document) => {
    if (document.error) return document;
    const { id, text, ...rest } = { ...results[at++], id: document.id };
    return { id, text: text ?? document.text, ...(document.columns ? { columns: document.columns } : {}), ...rest };
  });
}

// Sorted by any column, flagged at the rate in force, one of them open below.
export class DocumentTable {
  constructor(table, more, onOpen, verdictOf, judges) {
    Object.assign(this, { table, more, onOpen, verdictOf, judges, results: [] });
    more.addEventListener("click", () => {
      this.all = true;
      this.draw();
    });
  }

  // `names` are columns of the user's own, which are shown before the text.
  show(results, rate, hasIds, names) {
    const columns = this.columnsOf(hasIds, names);
    Object.assign(this, { columns, results, rate, all: false, current: -1, column: BY_RARITY, descending: false });
    this.draw();
  }

  // What sorts a column, and what stands in its cells if that is something else.
  columnsOf(hasIds, names) {
    const scored = (show) => ({ result }) => (result.error ? "" : show(result));
    const texts = (name, value) => ({ name, kind: "id", value, cell: (row) => element("bdi", {}, value(row)) });
    const cellOf = (name) => ({ result }) => String(result.columns?.[name] ?? "");
    return [
      { name: "#", kind: "number", value: ({ index }) => index },
      { name: "Verdict", value: ({ result }) => result.p_value ?? 2, cell: ({ result }) => pill(result, this.rate) },
      { name: "Yours", value: ({ result }) => this.verdictOf(result) ?? "~", cell: (row) => this.judge(row) },
      { name: "p", kind: "number", value: ({ result }) => result.p_value ?? 2, cell: scored((result) => rarity(result.p_value)) },
      { name: "Score", kind: "number", value: ({ result }) => result.score ?? -1, cell: scored((result) => result.score.toFixed(2)) },
      {
        name: "Flagged",
        kind: "number",
        value: ({ result }) => flaggedWords(result, this.rate).length,
        cell: scored((result) => flaggedWords(result, this.rate).length),
      },
      ...(hasIds ? [texts("Id", ({ result }) => result.id ?? "")] : []),
      ...names.map((name) => ({ ...texts(name, cellOf(name)), title: (row) => `${name}: ${cellOf(name)(row)}` })),
      { name: "Text", kind: "text", value: ({ result }) => result.text ?? "", cell: ({ result }) => opening(result) },
    ];
  }

  judge({ result, index }) {
    return result.error ? "" : this.judges(result, `document ${index}`);
  }

  flag(rate) {
    this.rate = rate;
    if (this.results.length) this.draw();
  }

  sort(column) {
    this.descending = this.column === column ? !this.descending : false;
    this.column = column;
    this.draw();
    this.table.querySelectorAll("th button")[column].focus();
  }

  // Rows that someone judges stay where they are until they are sorted again.
  draw() {
    const { value } = this.columns[this.column];
    const rows = this.results.map((result, index) => ({ result, index: index + 1 }));
    const order = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
    rows.sort((a, b) => (this.descending ? -1 : 1) * order(value(a), value(b)) || a.index - b.index);
    const shown = this.all ? rows : rows.slice(0, FIRST);
    this.more.hidden = shown.length === rows.length;
    const heads = this.columns.map((column, at) => this.head(column, at));
    // On a phone rows are laid out as blocks, which would cost a table its meaning: the roles keep it.
    const head = element("thead", { role: "rowgroup" }, element("tr", { role: "row" }, ...heads));
    this.table.replaceChildren(head, element("tbody", { role: "rowgroup" }, ...shown.map((row) => this.row(row))));
  }

  head({ name, kind }, at) {
    const sorted = at === this.column ? (this.descending ? "descending" : "ascending") : "none";
    const attributes = { scope: "col", role: "columnheader", class: kind === "number" ? kind : null, "aria-sort": sorted };
    return element("th", attributes, element("button", { type: "button", onclick: () => this.sort(at) }, name));
  }

  row(row) {
    const cells = this.columns.map(({ kind = null, value, cell = value, title }) =>
      element("td", { role: "cell", class: kind, title: title?.(row) ?? null }, cell(row)),
    );
    const open = ({ currentTarget }) => {
      this.current = row.index;
      this.table.querySelector("tr.current")?.classList.remove("current");
      currentTarget.classList.add("current");
      if (!row.result.error) this.onOpen(row.result);
    };
    return element("tr", { role: "row", class: row.index === this.current ? "current" : null, onclick: open }, ...cells);
  }
}

function pill(result, rate) {
  const flagged = isFlagged(result, rate);
  return element("span", { class: flagged || result.error ? "pill bad" : "pill" }, result.error ? "error" : flagged ? "anomalous" : "normal");
}

const opening = ({ error = null, text }) =>
  element("button", { type: "button", class: "open-row", title: error }, error ?? text.slice(0, 200));

// The columns of a table of results: the user's own first, in their order and under their names, then ours.
function shapeOf(results, table) {
  const others = results.flatMap((result) => Object.keys(result.columns ?? {}));
  const idColumn = table.id_column ?? freeName("id", table.columns);
  const textColumn = table.text_column ?? "text";
  const given = table.columns.length ? table.columns : [textColumn];
  const columns = [...new Set([...(table.id_column ? [] : [idColumn]), ...given, ...others])];
  return { columns, idColumn, textColumn, own: OWN.map((name) => freeName(name, columns)) };
}

const freeName = (name, taken) => (taken.includes(name) ? freeName(`difa_${name}`, taken) : name);

// A spreadsheet runs a cell that begins like a formula: an apostrophe before it keeps it text.
function csvCell(value) {
  if (value === null || value === undefined) return "";
  const isNumber = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(value);
  const text = typeof value !== "string" ? JSON.stringify(value) : FORMULA.includes(value[0]) && !isNumber ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

// What a document is flagged for, as `Scored.summary` says it, at the rate in force: a fault before what merely is unusual.
function summary(result, rate) {
  if (!isFlagged(result, rate)) return "";
  const byKind = new Map();
  const words = flaggedWords(result, rate).sort((a, b) => !a.fault - !b.fault || a.p_value - b.p_value);
  for (const word of words) byKind.set(word.fault ?? "", [...(byKind.get(word.fault ?? "") ?? []), word]);
  const parts = [...byKind].map(([kind, words]) => {
    const named = new Set(kind ? passages(result.words, kind, words) : words.map((word) => word.text));
    const label = kind || `unusual word${named.size > 1 ? "s" : ""}`;
    return `${label}: ${[...named].slice(0, NAMED).join(", ")}`;
  });
  return parts.join("; ") || "no single word stands out: the text as a whole is unlike the normal ones";
}

// Words of a kind that follow one another, if a chosen one is among them: as one passage, cut if it is long.
function passages(all, kind, chosen) {
  const runs = [];
  for (const [place, word] of all.entries()) {
    if (word.fault !== kind) continue;
    if (runs.at(-1)?.at(-1) === place - 1) runs.at(-1).push(place);
    else runs.push([place]);
  }
  const before = (place, first) => (place > first && all[place].start > all[place - 1].end ? " " : "");
  const faults = runs.filter((run) => run.some((place) => chosen.includes(all[place])));
  return faults.map((run) => {
    const named = run.slice(0, NAMED).map((place) => before(place, run[0]) + all[place].text);
    return named.join("") + (run.length > NAMED ? " …" : "");
  });
}

function ownCells(result, rate) {
  if (result.error) return [null, null, null, null, null, null, result.error];
  const words = flaggedWords(result, rate);
  const meant = words.filter((word) => word.suggestion).map((word) => `${word.text} → ${word.suggestion}`);
  const flagged = words.map((word) => word.text).join(BETWEEN);
  return [result.score, result.p_value, isFlagged(result, rate), flagged, meant.join(BETWEEN), summary(result, rate), null];
}

export function toCsv(results, rate, table) {
  const { columns, idColumn, textColumn, own } = shapeOf(results, table);
  const cell = (result, name) => (name === idColumn ? result.id : name === textColumn ? result.text : result.columns?.[name]);
  const rows = results.map((result) => [...columns.map((name) => cell(result, name)), ...ownCells(result, rate)]);
  return `\ufeff${[[...columns, ...own], ...rows].map((row) => row.map(csvCell).join(",")).join("\r\n")}\r\n`;
}

export function toJsonl(results, rate) {
  const flagged = (scored) => ({ ...scored, is_anomaly: isFlagged(scored, rate) });
  const line = (result) => ({ ...flagged(result), summary: summary(result, rate), words: result.words.map(flagged) });
  return results.map((result) => `${JSON.stringify(result.error ? result : line(result))}\n`).join("");
}

export function save(name, kind, content) {
  const link = element("a", { href: URL.createObjectURL(new Blob([content], { type: `${kind};charset=utf-8` })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
