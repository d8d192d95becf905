// Writes numbers as people read them.

export const count = (value) => value.toLocaleString("en");
export const plural = (value, word) => `${count(value)} ${word}${value === 1 ? "" : "s"}`;
export const rateText = (value) => `${value >= 100 ? count(Math.round(value)) : value.toFixed(1)} tokens/s`;

export function seconds(value) {
  if (value < 1) return `${value.toFixed(2)} s`;
  if (value < 10) return `${value.toFixed(1)} s`;
  return value < 90 ? `${Math.round(value)} s` : `${Math.floor(value / 60)} min ${Math.round(value % 60)} s`;
}
