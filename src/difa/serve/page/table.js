// Many documents as a table: sorted by any column, flagged at the rate in force, one of them open below.

import { element, rarity } from "./dom.js";
import { isFlagged } from "./flags.js";

const FIRST = 200; // rows drawn before someone asks for all
const BY_RARITY = 3; // the column that sorts at first

const COLUMNS = [
  { name: "#", number: true, value: (row) => row.index },
  { name: "Verdict", value: (row) => row.result.p_value ?? 2 },
  { name: "Yours", value: (row, rate, verdictOf) => verdictOf(row.result) ?? "~" },
  { name: "p", number: true, value: (row) => row.result.p_value ?? 2 },
  { name: "Score", number: true, value: (row) => row.result.score ?? -1 },
  { name: "Flagged", number: true, value: (row, rate) => flaggedWords(row.result, rate) },
  { name: "Id", value: (row) => row.result.id ?? "" },
  { name: "Text", value: (row) => row.result.text ?? "" },
];

const cellText = (result, name) => String(result.columns?.[name] ?? "");
const flaggedWords = (result, rate) => (result.words ?? []).filter((word) => isFlagged(word, rate)).length;

export class DocumentTable {
  constructor(table, more, onOpen, verdictOf, judges) {
    Object.assign(this, { table, more, onOpen, verdictOf, judges, results: [], pairs: [] });
    more.addEventListener("click", () => {
      this.all = true;
      this.draw();
    });
  }

  // `names` are columns of the user's own, which are shown before the text.
  show(results, rate, hasIds, names = []) {
    const own = names.map((name) => ({ name, value: (row) => cellText(row.result, name) }));
    this.columns = [...COLUMNS.slice(0, -2), ...(hasIds ? [COLUMNS.at(-2)] : []), ...own, COLUMNS.at(-1)];
    Object.assign(this, { hasIds, names });
    Object.assign(this, { results, rate, all: false, current: -1, column: BY_RARITY, descending: false });
    this.draw();
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

  draw() {
    const { value } = this.columns[this.column];
    const rows = this.results.map((result, index) => ({ result, index: index + 1 }));
    const order = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
    rows.sort((a, b) => (this.descending ? -1 : 1) * order(value(a, this.rate, this.verdictOf), value(b, this.rate, this.verdictOf)) || a.index - b.index);
    const shown = this.all ? rows : rows.slice(0, FIRST);
    this.more.hidden = shown.length === rows.length;
    this.pairs = [];
    const heads = this.columns.map((column, at) => this.head(column, at));
    // On a phone rows are laid out as blocks, which would cost a table its meaning: the roles keep it.
    const head = element("thead", { role: "rowgroup" }, element("tr", { role: "row" }, ...heads));
    this.table.replaceChildren(head, element("tbody", { role: "rowgroup" }, ...shown.map((row) => this.row(row))));
  }

  // What the person says; rows stay where they are until they are sorted again.
  refresh() {
    this.pairs.forEach((pair) => pair.refresh());
  }

  judge(result, index) {
    if (result.error) return "";
    const pair = this.judges(result, `document ${index}`);
    this.pairs.push(pair);
    return pair.node;
  }

  head({ name, number }, at) {
    const sorted = at === this.column ? (this.descending ? "descending" : "ascending") : "none";
    return element("th", { scope: "col", role: "columnheader", class: number ? "number" : null, "aria-sort": sorted }, element("button", { type: "button", onclick: () => this.sort(at) }, name));
  }

  row({ result, index }) {
    const open = () => {
      this.current = index;
      this.table.querySelectorAll("tr.current").forEach((row) => row.classList.remove("current"));
      row.classList.add("current");
      if (!result.error) this.onOpen(result);
    };
    const flagged = !result.error && result.p_value <= this.rate;
    const verdict = result.error ? "error" : flagged ? "anomalous" : "normal";
    const label = element("button", { type: "button", class: "open-row", title: result.error ?? null });
    label.textContent = result.error ?? result.text.slice(0, 200);
    const cells = [
      element("td", { role: "cell", class: "number" }, String(index)),
      element("td", { role: "cell" }, element("span", { class: flagged || result.error ? "pill bad" : "pill" }, verdict)),
      element("td", { role: "cell" }, this.judge(result, index)),
      element("td", { role: "cell", class: "number" }, result.error ? "" : rarity(result.p_value)),
      element("td", { role: "cell", class: "number" }, result.error ? "" : result.score.toFixed(2)),
      element("td", { role: "cell", class: "number" }, result.error ? "" : String(flaggedWords(result, this.rate))),
      ...(this.hasIds ? [element("td", { role: "cell", class: "id" }, element("bdi", {}, result.id ?? ""))] : []),
      ...this.names.map((name) => element("td", { role: "cell", class: "id", title: `${name}: ${cellText(result, name)}` }, element("bdi", {}, cellText(result, name)))),
      element("td", { role: "cell", class: "text" }, label),
    ];
    const row = element("tr", { role: "row", class: index === this.current ? "current" : null, onclick: open }, ...cells);
    return row;
  }
}
