// Runs before the first paint, so that a chosen theme does not flash. Without a choice the system's preference holds.
try {
  document.documentElement.dataset.theme = localStorage.getItem("difa-theme") ?? "";
} catch {
  // Storage may be closed to us: the choice then lasts as long as the page.
}
