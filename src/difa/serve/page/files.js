// Files -> documents, and results -> files.

import { isFlagged } from "./flags.js";

const MOST_BYTES = 20_000_000;

export async function readDocuments(file) {
  if (file.size > MOST_BYTES) throw new Error(`${file.name}: expected at most 20 MB, got ${Math.ceil(file.size / 1e6)} MB`);
  let text;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
  } catch {
    throw new Error(`${file.name}: expected UTF-8 text, got something else`);
  }
  const kind = file.name.toLowerCase().split(".").pop();
  const lines = () => text.split(/\r\n|\n|\r/).filter((line) => line.trim());
  if (kind === "jsonl") return lines().map((line, index) => parseLine(line, `${file.name}:${index + 1}`));
  if (kind === "csv") return fromTable(parseCsv(text));
  if (kind === "txt") return lines();
  throw new Error(`${file.name}: expected a file ending in .txt, .csv or .jsonl`);
}

// What cannot be read is passed on as null: the service gives it an error of its own, and the others their scores.
function parseLine(line, place) {
  try {
    const record = JSON.parse(line);
    if (typeof record !== "object" || record === null || Array.isArray(record)) return record;
    const { text, tokens, id } = record;
    return Object.fromEntries(Object.entries({ text, tokens, id: id ?? place }).filter(([, value]) => value !== undefined));
  } catch {
    return null;
  }
}

// Quoted fields may hold commas, line breaks and doubled quotes.
export function parseCsv(text) {
  const rows = [];
  let row = [];
  const field = /(?:"((?:[^"]+|"")*)"|([^,\r\n]*))(,|\r\n|\n|\r|$)/gy;
  for (let found; field.lastIndex < text.length && (found = field.exec(text)); ) {
    row.push(found[1] === undefined ? found[2] : found[1].replaceAll('""', '"'));
    if (found[3] !== ",") {
      rows.push(row);
      row = [];
    }
  }
  if (row.length) rows.push(row);
  return rows.filter((fields) => fields.some((value) => value.trim()));
}

// The column called text; without one, the only column, or the one with the longest entries.
function fromTable(rows) {
  if (!rows.length) return [];
  const names = rows[0].map((name) => name.trim().toLowerCase());
  let column = names.indexOf("text");
  const headed = column >= 0 || names.length > 1;
  if (column < 0) {
    const sizes = names.map((_, index) => rows.reduce((sum, fields) => sum + (fields[index] ?? "").length, 0));
    column = sizes.indexOf(Math.max(...sizes));
  }
  return (headed ? rows.slice(1) : rows).map((fields) => fields[column] ?? "").filter((text) => text.trim());
}

// A spreadsheet runs a cell that begins like a formula: an apostrophe before it keeps it text.
export function csvCell(value) {
  const text = typeof value === "number" ? String(value) : /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

export function toCsv(results, rate) {
  const rows = results.map((result) => [
    result.id ?? "",
    result.error ? "" : String(result.p_value <= rate),
    result.p_value ?? "",
    result.score ?? "",
    (result.words ?? []).filter((word) => isFlagged(word, rate)).map((word) => word.text).join(" "),
    result.text ?? "",
    result.error ?? "",
  ]);
  const head = ["id", "is_anomaly", "p_value", "score", "flagged_words", "text", "error"];
  return `${[head, ...rows].map((row) => row.map(csvCell).join(",")).join("\r\n")}\r\n`;
}

export function toJsonl(results, rate) {
  const word = (item) => ({ ...item, is_anomaly: isFlagged(item, rate) });
  const line = (result) => (result.error ? result : { ...result, is_anomaly: result.p_value <= rate, words: result.words.map(word) });
  return results.map((result) => `${JSON.stringify(line(result))}\n`).join("");
}

export function save(name, kind, content) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([content], { type: `${kind};charset=utf-8` }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
