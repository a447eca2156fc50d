// Runs before the first paint, so that a chosen theme does not flash. Without a choice the system's preference holds.
(function () {
  let chosen = null;
  try {
    chosen = localStorage.getItem("difa-theme");
  } catch {
    // Storage may be closed to us: the choice then lasts as long as the page.
  }
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
})();
