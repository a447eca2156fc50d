// Where the person says what is odd: two buttons for the text, and two for each flagged word.

import { element } from "./dom.js";

const LISTED = 60; // words; the others are judged where they stand

// Two buttons of which at most one is pressed. `current` tells which, whenever they are looked at again.
export function judgeButtons(name, current, onJudge) {
  const buttons = ["odd", "normal"].map((verdict) => {
    const label = verdict === "odd" ? "Odd" : "Normal";
    const judge = (event) => {
      event.stopPropagation(); // a row of the table stays as it is
      onJudge(verdict);
    };
    return { verdict, node: element("button", { type: "button", class: `judge ${verdict}`, "aria-label": `${label}: ${name}`, onclick: judge }, label) };
  });
  const refresh = () => buttons.forEach(({ verdict, node }) => node.setAttribute("aria-pressed", String(current() === verdict)));
  refresh();
  return { node: element("span", { class: "judges", role: "group", "aria-label": `Your verdict on ${name}` }, ...buttons.map(({ node }) => node)), refresh };
}

export class ReviewPanel {
  constructor(list, hint) {
    Object.assign(this, { list, hint, pairs: [] });
  }

  // `judges` makes the buttons: of the text, and of a word.
  show(words, judges) {
    const listed = words.slice(0, LISTED);
    const whole = judges.document();
    const pairs = listed.map((word) => judges.word(word));
    this.pairs = [whole, ...pairs];
    const items = listed.map((word, index) => item(named(word.text), pairs[index].node));
    this.list.replaceChildren(item(element("b", {}, "The whole text"), whole.node, "whole"), ...items);
    const others = words.length - listed.length;
    this.hint.textContent = others ? `${others} more are flagged: tap a word in the text to judge it.` : "";
  }

  refresh() {
    this.pairs.forEach((pair) => pair.refresh());
  }
}

const item = (name, buttons, kind = null) => element("li", { class: kind }, name, buttons);

function named(text) {
  const name = element("bdi");
  name.textContent = text.slice(0, 60);
  return name;
}
