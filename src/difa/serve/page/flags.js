// Which words are flagged: those rarer than the rate allows. Words that someone said are fine come with a p-value of 1.

export const isFlagged = (word, rate) => word.p_value <= rate;
