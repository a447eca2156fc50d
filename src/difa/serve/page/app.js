// Puts the page together: what was asked, what came back, and the rate by which it is flagged.

import { fetchModels, score, setKey } from "./api.js";
import { DocumentTable, Opener, cutParts, save, toCsv, toJsonl, toTexts, withRows } from "./documents.js";
import { byId, element, flaggedWords, isFlagged, keep, percent, rarity } from "./dom.js";
import { LONGEST_NAME, Popover, WordsPanel, drawHistogram, rank } from "./result.js";
import { AllowedWords, Verdicts, judgeButtons, refreshJudges } from "./verdicts.js";

const EXAMPLES_ARE = "Try a text made up of frequent words of this model’s normal text, with a typo or without:";
const REASONS_WORDS = 2000;
const LISTED = 60; // flagged words with buttons; the others are judged where they stand

const state = { models: [], limits: {}, rate: 0.01, result: null, results: [], scoredBy: "", asking: null, askAgain: () => {} };
const allowed = new AllowedWords(byId("allowed"), () => state.askAgain());
const verdicts = new Verdicts(showVerdicts);
const popover = new Popover(byId("popover"));
const panel = new WordsPanel(byId("words"), popover, actionsOf);
const table = new DocumentTable(byId("table"), byId("more"), openRow, ({ text }) => verdicts.document(text), judgesOfText);
const opener = new Opener(byId("chooser"), byId("text-column"), byId("chooser-why"), checkFile);

const model = () => state.models.find((entry) => entry.name === byId("model").value) ?? state.models[0];

function say(message, isError = false) {
  byId("status").textContent = message;
  byId("status").classList.toggle("error", isError);
}

// Start

async function start() {
  try {
    const { models, limits, takes_verdicts: takes } = await fetchModels();
    Object.assign(state, { models, limits });
    verdicts.takes = takes;
  } catch (error) {
    byId("key-form").hidden = error.status !== 401;
    say(error.status === 401 ? "" : error.message, true);
    return;
  }
  byId("key-form").hidden = true;
  say("");
  byId("model").replaceChildren(...state.models.map(({ name }) => element("option", { value: name }, name)));
  byId("model-field").hidden = state.models.length < 2;
  chooseModel();
  showVerdicts();
  verdicts.send();
}

function chooseModel() {
  const { name, fitted_on: extent, views, fpr, learned_from: source, learned, examples } = model();
  byId("about").textContent = `Model “${name}”, fitted on ${extent}; views: ${views.join(", ")}.`;
  byId("learned").hidden = !source;
  byId("learned").textContent = source ? [`Learned from ${source}.`, ...learned].join(" ") : "";
  byId("examples").hidden = !examples.length;
  byId("examples").replaceChildren(element("span", { class: "hint" }, EXAMPLES_ARE), ...examples.map(exampleButton));
  setRate(fpr);
}

const exampleButton = (text) => element("button", { type: "button", onclick: () => checkText(text) }, text);

// Asking

async function ask(work) {
  state.asking?.abort();
  const asking = new AbortController();
  state.asking = asking;
  byId("check").disabled = true;
  popover.close(true);
  try {
    await work(asking.signal);
  } catch (error) {
    if (error.name !== "AbortError") say(error.message, true);
    if (error.status === 401) byId("key-form").hidden = false;
  } finally {
    if (state.asking === asking) byId("check").disabled = false;
  }
}

function checkText(text = byId("input").value) {
  byId("input").value = text;
  if (!text.trim()) {
    say("Paste a text first.", true);
    byId("input").focus();
    return;
  }
  askText(text);
}

function askText(text) {
  state.askAgain = () => askText(text);
  ask(async (signal) => {
    say("Reading …");
    const wantsReasons = text.length < 6 * REASONS_WORDS;
    const answer = await score({ model: model().name, text, return_reasons: wantsReasons, allow: allowed.words }, signal);
    state.scoredBy = answer.model;
    byId("table-card").hidden = true;
    opener.hide();
    say("");
    showResult(answer.results[0]);
  });
}

function checkFile(file, textColumn) {
  ask(async (signal) => {
    say(`Reading ${file.name} …`);
    const documents = await opener.open(file, textColumn, state.limits.file_bytes, signal);
    byId("table-card").hidden = byId("result").hidden = true;
    say("");
    if (documents) await scoreList(documents, signal);
  });
}

// A list that is asked for again, since other words are allowed, shows the same document as before.
async function scoreList(documents, signal, row = -1) {
  state.askAgain = () => ask((again) => scoreList(documents, again, state.results.indexOf(state.result)));
  const results = [];
  for (const part of cutParts(documents)) {
    const texts = toTexts(part);
    const request = { model: model().name, texts, allow: allowed.words };
    results.push(...withRows(part, texts.length ? (await score(request, signal)).results : []));
    say(`${results.length} of ${documents.length} documents …`);
  }
  say("");
  state.scoredBy = model().name;
  state.results = results;
  byId("table-card").hidden = false;
  table.show(results, state.rate, opener.hasIds, opener.ownColumns);
  summarise();
  byId("result").hidden = true;
  const scored = results.filter((result) => !result.error).sort((a, b) => a.p_value - b.p_value);
  const shown = results[row] ?? scored[0];
  if (shown && !shown.error) openRow(shown);
}

// A row is shown at once, and its reasons follow.
function openRow(result) {
  showResult(result);
  if (result.words.length > REASONS_WORDS || result.words.some((word) => word.reasons)) return;
  ask(async (signal) => {
    const texts = [{ text: result.text, tokens: result.words.map((word) => word.text) }];
    const answer = await score({ model: model().name, texts, return_reasons: true, allow: allowed.words }, signal);
    answer.results[0].words?.forEach(({ reasons, sentence }, index) => Object.assign(result.words[index], { reasons, sentence }));
    if (state.result !== result) return;
    showRanking(result);
    panel.refresh();
  });
}

// Showing

function showResult(result) {
  state.result = result;
  byId("result").hidden = false;
  popover.close(true);
  panel.show(result);
  showRanking(result);
  setRate(state.rate);
}

const showRanking = (result) => rank(byId("ranking"), byId("view-keys"), result, (index) => panel.stand(index, true));

// The rate: everything that follows from it, without asking the service again.

function setRate(rate) {
  state.rate = rate;
  byId("rate").value = Math.log10(rate);
  byId("rate").setAttribute("aria-valuetext", percent(rate));
  byId("rate-out").textContent = percent(rate);
  const current = model();
  const few = rate < current.least_p_value;
  byId("rate-why").textContent = few
    ? `With ${current.normal_documents} normal documents this model cannot flag a document at so low a rate; words it can.`
    : `Of 1,000 normal documents about ${Math.round(1000 * rate)} would be flagged, and as large a share of normal words.`;
  table.flag(rate);
  summarise();
  if (!state.result) return;
  panel.mark(rate, verdictOf);
  listJudges(state.result, rate);
  drawHistogram(byId("histogram"), current, state.result, rate);
  tellVerdict(state.result, rate);
}

function tellVerdict(result, rate) {
  const bad = isFlagged(result, rate);
  const count = flaggedWords(result, rate).length;
  byId("verdict-box").className = bad ? "verdict bad" : count ? "verdict some" : "verdict";
  const some = `Normal as a whole, but ${count === 1 ? "one word stands out" : `${count} words stand out`}`;
  byId("verdict").textContent = bad ? "This text stands out" : count ? some : "This text looks normal";
  const rare = `${percent(result.p_value)} of normal documents are as unusual (p = ${rarity(result.p_value)}).`;
  const words = `${count || "No"} of ${result.words.length} words ${count === 1 ? "is" : "are"} flagged.`;
  const whole = bad && !count ? " No single word stands out: the text as a whole is unlike the normal ones." : "";
  byId("verdict-why").textContent = `${rare} ${words}${whole}`;
}

function summarise() {
  const scored = state.results.filter((result) => !result.error);
  const flagged = scored.filter((result) => isFlagged(result, state.rate)).length;
  const failed = state.results.length - scored.length;
  byId("table-title").textContent = `${flagged} of ${scored.length} documents stand out${failed ? `, ${failed} could not be read` : ""}`;
}

// What the person says

function judgesOfText({ text }, name) {
  return judgeButtons(name, () => verdicts.document(text), (verdict) => verdicts.judgeDocument(text, verdict, state.scoredBy));
}

function judgesOfWord(word) {
  const { text } = state.result;
  const judge = (verdict) => verdicts.judgeWord(text, word, verdict, flaggedWords(state.result, state.rate), state.scoredBy);
  return judgeButtons(word.text.slice(0, LONGEST_NAME), () => verdicts.word(text, word), judge);
}

const verdictOf = (word) => verdicts.word(state.result.text, word);

function actionsOf(word) {
  const allow = element("button", { type: "button", class: "allow", onclick: () => allowed.add(word.text) }, "Allow this word");
  return element("div", { class: "row acts" }, allow, judgesOfWord(word));
}

// Buttons for the text, and for each word that is flagged or was called odd.
function listJudges(result, rate) {
  const words = result.words.filter((word) => isFlagged(word, rate) || verdictOf(word) === "odd");
  const item = (word) => element("li", {}, element("bdi", {}, word.text.slice(0, LONGEST_NAME)), judgesOfWord(word));
  const whole = element("li", { class: "whole" }, element("b", {}, "The whole text"), judgesOfText(result, "the text"));
  byId("review").replaceChildren(whole, ...words.slice(0, LISTED).map(item));
  const others = words.length - LISTED;
  byId("review-more").textContent = others > 0 ? `${others} more are flagged: tap a word in the text to judge it.` : "";
}

function showVerdicts() {
  const { all, odd, normal, unsent } = verdicts.counts;
  byId("tally").hidden = !all;
  byId("tally-count").textContent = `${all} ${all === 1 ? "verdict" : "verdicts"}: ${odd} odd, ${normal} normal.`;
  const sent = unsent ? "" : `The service has kept ${all === 1 ? "it" : "them"}.`;
  byId("tally-why").textContent = verdicts.takes ? sent : "Kept until this tab is closed.";
  const isStuck = verdicts.takes && unsent && verdicts.trouble;
  byId("tally-trouble").textContent = isStuck ? `${unsent} not sent, but kept in this tab: ${verdicts.trouble}` : "";
  byId("send-verdicts").hidden = !isStuck;
  refreshJudges();
  panel.mark(state.rate, verdictOf);
}

// Wiring

const on = (id, event, react) => byId(id).addEventListener(event, react);

on("check", "click", () => checkText());
on("input", "keydown", (event) => event.key === "Enter" && (event.ctrlKey || event.metaKey) && checkText());
on("open", "click", () => byId("file").click());
on("file", "change", () => {
  if (byId("file").files[0]) checkFile(byId("file").files[0]);
  byId("file").value = "";
});
on("rate", "input", () => setRate(Number((10 ** Number(byId("rate").value)).toPrecision(2))));
on("model", "change", () => {
  chooseModel();
  if (byId("input").value.trim()) checkText();
});
on("save-verdicts", "click", () => save("verdicts.jsonl", "application/x-ndjson", verdicts.lines));
on("send-verdicts", "click", () => verdicts.send());
on("save-csv", "click", () => save("difa.csv", "text/csv", toCsv(state.results, state.rate, opener.table)));
on("save-jsonl", "click", () => save("difa.jsonl", "application/x-ndjson", toJsonl(state.results, state.rate)));
on("key-form", "submit", (event) => {
  event.preventDefault();
  setKey(byId("key").value);
  start();
});
on("theme", "click", () => {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  keep("difa-theme", root.dataset.theme);
});
for (const name of ["dragover", "dragleave", "drop"]) {
  document.addEventListener(name, (event) => {
    event.preventDefault();
    byId("drop").classList.toggle("over", name === "dragover");
  });
}
document.addEventListener("drop", ({ dataTransfer }) => {
  const text = dataTransfer.getData("text");
  if (dataTransfer.files[0]) checkFile(dataTransfer.files[0]);
  else if (text) checkText(text);
});

start();
