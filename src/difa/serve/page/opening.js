// A file -> its documents. Of a table someone can say which column holds the text, and must where it is not obvious.

import { readFile } from "./api.js";
import { element } from "./dom.js";

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
    if (file.size > most) throw new Error(`${file.name}: expected at most ${Math.floor(most / 1e6)} MB, got ${Math.ceil(file.size / 1e6)} MB: score it on the command line`);
    if (!textColumn) this.hide();
    const table = await readFile(file, textColumn, signal);
    Object.assign(this, { file, table });
    this.offer(table);
    if (table.columns.length && table.text_column === null) return null;
    if (!table.documents.some((document) => !document.error)) throw new Error(table.documents[0]?.error ?? `${file.name}: expected documents, found none`);
    return table.documents;
  }

  offer({ columns, text_column: chosen }) {
    this.box.hidden = columns.length < 2;
    const ask = chosen === null ? [element("option", { value: "" }, "choose …")] : [];
    this.select.replaceChildren(...ask, ...columns.map((column) => element("option", { value: column, selected: column === chosen }, column)));
    const { name } = this.file;
    this.why.textContent = chosen === null ? `It is not obvious which column of ${name} holds the text.` : `of ${name}; the other columns are kept`;
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
