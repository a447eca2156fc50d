// Files -> documents, by the service's own readers, and results with their rows -> files.

import { isFlagged } from "./flags.js";
import { FORMULA } from "./formula.js"; // made by the service: what the command guards

const MOST_DOCUMENTS = 50; // a request, so that a long file shows progress and leaves room for others
const MOST_CHARACTERS = 100_000;
const NAMED = 5; // words that a summary names at most
const OWN = ["score", "p_value", "is_anomaly", "flagged_words", "suggestions", "summary", "error"];
const BETWEEN = " | ";

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

export const toTexts = (part) => part.filter((document) => !document.error).map(({ id, text, tokens }) => ({ id, text, tokens }));

// Each document's result, with the rest of its row.
export function withRows(part, results) {
  let at = 0;
  return part.map((document) => {
    if (document.error) return document;
    const { id, text, ...rest } = { ...results[at++], id: document.id };
    return { id, text: text ?? document.text, ...(document.columns ? { columns: document.columns } : {}), ...rest };
  });
}

// The columns of a table of results: the user's own first, in their order and under their names, then ours.
function shapeOf(results, table) {
  const others = new Set(results.flatMap((result) => Object.keys(result.columns ?? {})));
  const idColumn = table?.id_column ?? freeName("id", table?.columns ?? []);
  const textColumn = table?.text_column ?? "text";
  const columns = [...new Set([...(table?.id_column ? [] : [idColumn]), ...(table?.columns.length ? table.columns : [textColumn]), ...others])];
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

const flaggedWords = (result, rate) => (result.words ?? []).filter((word) => isFlagged(word, rate));

// What a document is flagged for, as the service says it, at the rate in force.
function summary(result, rate) {
  if (result.p_value > rate) return "";
  const words = flaggedWords(result, rate).sort((a, b) => a.p_value - b.p_value);
  const named = [...new Set(words.map((word) => word.text))].slice(0, NAMED);
  return named.length ? `unusual word${named.length > 1 ? "s" : ""}: ${named.join(", ")}` : "no single word stands out: the text as a whole is unlike the normal ones";
}

function ownCells(result, rate) {
  if (result.error) return [null, null, null, null, null, null, result.error];
  const words = flaggedWords(result, rate);
  const meant = words.filter((word) => word.suggestion).map((word) => `${word.text} → ${word.suggestion}`);
  const flagged = words.map((word) => word.text).join(BETWEEN);
  return [result.score, result.p_value, result.p_value <= rate, flagged, meant.join(BETWEEN), summary(result, rate), null];
}

export function toCsv(results, rate, table) {
  const { columns, idColumn, textColumn, own } = shapeOf(results, table);
  const cell = (result, name) => (name === idColumn ? result.id : name === textColumn ? result.text : result.columns?.[name]);
  const rows = results.map((result) => [...columns.map((name) => cell(result, name)), ...ownCells(result, rate)]);
  return `\ufeff${[[...columns, ...own], ...rows].map((row) => row.map(csvCell).join(",")).join("\r\n")}\r\n`;
}

export function toJsonl(results, rate) {
  const word = (item) => ({ ...item, is_anomaly: isFlagged(item, rate) });
  const line = (result) => (result.error ? result : { ...result, is_anomaly: result.p_value <= rate, summary: summary(result, rate), words: result.words.map(word) });
  return results.map((result) => `${JSON.stringify(line(result))}\n`).join("");
}

export function save(name, kind, content) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([content], { type: `${kind};charset=utf-8` }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
