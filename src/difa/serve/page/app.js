// Puts the page together: what was asked, what came back, and the rate by which it is flagged.

import { AllowedWords } from "./allowed.js";
import { fetchModels, score, setKey } from "./api.js";
import { byId, element, heat, percent, rarity } from "./dom.js";
import { cutParts, save, toCsv, toJsonl, toTexts, withRows } from "./files.js";
import { isFlagged } from "./flags.js";
import { drawHistogram } from "./histogram.js";
import { keep } from "./memory.js";
import { Opener } from "./opening.js";
import { Popover, evidenceBar } from "./popover.js";
import { ReviewPanel, judgeButtons } from "./review.js";
import { DocumentTable } from "./table.js";
import { Verdicts } from "./verdicts.js";
import { WordsPanel } from "./words.js";

const EXAMPLES_ARE = "Try a text made up of frequent words of this model’s normal text, with a typo or without:";
const REASONS_WORDS = 2000;
const RANKED = 6;

const state = { models: [], limits: {}, rate: 0.01, result: null, scoredBy: "", asking: null, askAgain: () => {} };
const allowed = new AllowedWords(byId("allowed"), () => state.askAgain());
const verdicts = new Verdicts(() => showVerdicts());
const review = new ReviewPanel(byId("review"), byId("review-more"));
const popover = new Popover(byId("popover"), (word) => allowed.add(word), (word) => judgesOfWord(word));
const panel = new WordsPanel(byId("words"), openWord, (force) => popover.close(force));
const table = new DocumentTable(byId("table"), byId("more"), (result) => openRow(result), (result) => verdicts.document(result.text), judgesOfText);
const opener = new Opener(byId("chooser"), byId("text-column"), byId("chooser-why"), (file, column) => checkFile(file, column));

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

function exampleButton(text) {
  const onclick = () => {
    byId("input").value = text;
    checkText();
  };
  return element("button", { type: "button", onclick }, text);
}

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

function checkText() {
  const text = byId("input").value;
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
  state.askAgain = () => ask((again) => scoreList(documents, again, state.results?.indexOf(state.result)));
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
  const first = results.filter((result) => !result.error).sort((a, b) => a.p_value - b.p_value)[0];
  const shown = results[row] ?? first;
  if (shown && !shown.error) openRow(shown);
}

// A row is shown at once, and its reasons follow.
function openRow(result) {
  showResult(result);
  if (result.words.length > REASONS_WORDS || result.words.some((word) => word.reasons)) return;
  ask(async (signal) => {
    const tokens = result.words.map((word) => word.text);
    const answer = await score({ model: model().name, texts: [{ text: result.text, tokens }], return_reasons: true, allow: allowed.words }, signal);
    answer.results[0].words?.forEach((word, index) => Object.assign(result.words[index], { reasons: word.reasons, sentence: word.sentence }));
    if (state.result === result) rank(result);
    const open = panel.spans.indexOf(popover.anchor);
    if (state.result === result && open >= 0) popover.refresh(result.words[open], state.rate);
  });
}

// Showing

function showResult(result) {
  state.result = result;
  byId("result").hidden = false;
  popover.close(true);
  panel.show(result);
  rank(result);
  setRate(state.rate);
}

function rank(result) {
  const ranked = result.words.map((word, index) => ({ word, index })).sort((a, b) => a.word.p_value - b.word.p_value || b.word.score - a.word.score);
  byId("ranking").replaceChildren(...ranked.slice(0, RANKED).map(({ word, index }) => rankedWord(word, index)));
  const views = Object.keys(result.words[0]?.evidence ?? {});
  byId("view-keys").replaceChildren(...views.map((view, index) => element("span", { class: `view-${index % 8}` }, view)));
}

function rankedWord(word, index) {
  const name = element("bdi", { class: `h${heat(word.p_value)}` });
  name.textContent = word.text.slice(0, 60);
  const views = Object.entries(word.evidence);
  const bars = views.map(([, evidence], at) => element("div", { class: `view-${at % 8}` }, evidenceBar(evidence)));
  const strongest = views.reduce((best, view) => (view[1] > best[1] ? view : best), ["", -1]);
  const why = word.sentence ?? word.reasons?.[strongest[0]]?.[0]?.text ?? "";
  const parts = [name, element("div", {}, ...bars), element("span", { class: "why" }, why), element("span", { class: "p" }, `p = ${rarity(word.p_value)}`)];
  return element("li", {}, element("button", { type: "button", onclick: () => panel.stand(index, true) }, ...parts));
}

function openWord(index, pinned) {
  popover.open(panel.spans[index], state.result.words[index], state.rate, pinned);
}

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
  panel.flag(rate);
  const { text, words } = state.result;
  const listed = words.filter((word) => isFlagged(word, rate) || verdicts.word(text, word) === "odd");
  review.show(listed, { document: () => judgesOfText(state.result, "the text"), word: judgesOfWord });
  panel.mark((word) => verdicts.word(text, word));
  drawHistogram(byId("histogram"), current, state.result, rate);
  tellVerdict(state.result, rate);
}

function tellVerdict(result, rate) {
  const bad = result.p_value <= rate;
  const count = result.words.filter((word) => isFlagged(word, rate)).length;
  byId("verdict-box").className = bad ? "verdict bad" : count ? "verdict some" : "verdict";
  const some = `Normal as a whole, but ${count === 1 ? "one word stands out" : `${count} words stand out`}`;
  byId("verdict").textContent = bad ? "This text stands out" : count ? some : "This text looks normal";
  const rank = `${percent(result.p_value)} of normal documents are as unusual (p = ${rarity(result.p_value)}).`;
  const words = `${count || "No"} of ${result.words.length} words ${count === 1 ? "is" : "are"} flagged.`;
  const whole = bad && !count ? " No single word stands out: the text as a whole is unlike the normal ones." : "";
  byId("verdict-why").textContent = `${rank} ${words}${whole}`;
}

function summarise() {
  const scored = (state.results ?? []).filter((result) => !result.error);
  const flagged = scored.filter((result) => result.p_value <= state.rate).length;
  const failed = (state.results ?? []).length - scored.length;
  byId("table-title").textContent = `${flagged} of ${scored.length} documents stand out${failed ? `, ${failed} could not be read` : ""}`;
}

// What the person says

function judgesOfText({ text }, name) {
  return judgeButtons(name, () => verdicts.document(text), (verdict) => verdicts.judgeDocument(text, verdict, state.scoredBy));
}

function judgesOfWord(word) {
  const { text, words } = state.result;
  const judge = (verdict) => {
    const flagged = words.filter((other) => isFlagged(other, state.rate));
    verdicts.judgeWord(text, word, verdict, flagged, state.scoredBy);
  };
  return judgeButtons(word.text.slice(0, 60), () => verdicts.word(text, word), judge);
}

function showVerdicts() {
  const { all, odd, normal, unsent } = verdicts.counts;
  byId("tally").hidden = !all;
  byId("tally-count").textContent = `${all} ${all === 1 ? "verdict" : "verdicts"}: ${odd} odd, ${normal} normal.`;
  const sent = unsent ? "" : `The service has kept ${all === 1 ? "it" : "them"}.`;
  byId("tally-why").textContent = verdicts.takes ? sent : "Kept until this tab is closed.";
  byId("tally-trouble").textContent = verdicts.takes && unsent && verdicts.trouble ? `${unsent} not sent, but kept in this tab: ${verdicts.trouble}` : "";
  byId("send-verdicts").hidden = !byId("tally-trouble").textContent;
  table.refresh();
  review.refresh();
  popover.pair?.refresh();
  if (state.result) panel.mark((word) => verdicts.word(state.result.text, word));
}

// Wiring

byId("check").addEventListener("click", checkText);
byId("input").addEventListener("keydown", (event) => event.key === "Enter" && (event.ctrlKey || event.metaKey) && checkText());
byId("open").addEventListener("click", () => byId("file").click());
byId("file").addEventListener("change", () => {
  if (byId("file").files[0]) checkFile(byId("file").files[0]);
  byId("file").value = "";
});
byId("rate").addEventListener("input", () => setRate(Number((10 ** Number(byId("rate").value)).toPrecision(2))));
byId("model").addEventListener("change", () => {
  chooseModel();
  if (byId("input").value.trim()) checkText();
});
byId("save-verdicts").addEventListener("click", () => save("verdicts.jsonl", "application/x-ndjson", verdicts.lines));
byId("send-verdicts").addEventListener("click", () => verdicts.send());
byId("save-csv").addEventListener("click", () => save("difa.csv", "text/csv", toCsv(state.results, state.rate, opener.table)));
byId("save-jsonl").addEventListener("click", () => save("difa.jsonl", "application/x-ndjson", toJsonl(state.results, state.rate)));
byId("key-form").addEventListener("submit", (event) => {
  event.preventDefault();
  setKey(byId("key").value);
  start();
});
byId("theme").addEventListener("click", () => {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  keep("difa-theme", root.dataset.theme);
});
for (const [name, over] of [["dragover", true], ["dragleave", false], ["drop", false]]) {
  document.addEventListener(name, (event) => {
    event.preventDefault();
    byId("drop").classList.toggle("over", over);
  });
}
document.addEventListener("drop", async (event) => {
  const file = event.dataTransfer.files[0];
  const text = event.dataTransfer.getData("text");
  if (file) checkFile(file);
  else if (text) {
    byId("input").value = text;
    checkText();
  }
});
addEventListener("resize", () => popover.place());

start();
