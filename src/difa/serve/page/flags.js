// Which words are flagged: those rarer than the rate allows, less the ones that someone said are fine.

let allowed = new Set();

// Words are told apart as the service does: in capitals or not, they are the same.
export const allow = (text) => (allowed = new Set(text.toLowerCase().split(/[\s,;]+/).filter(Boolean)));

export const isFlagged = (word, rate) => word.p_value <= rate && !allowed.has(word.text.toLowerCase());
