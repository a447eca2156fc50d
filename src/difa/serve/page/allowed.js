// The words that this reader calls normal, in a box that the browser remembers. The service scores without them.

import { keep, kept } from "./memory.js";

const PATIENCE = 400; // milliseconds after the last key

export class AllowedWords {
  constructor(box, onChange) {
    this.box = box;
    this.onChange = onChange;
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
