/* A run that goes on: while somebody looks, the page is fetched anew, and what has changed takes its place. */

const live = { events: new EventSource("events"), page: 0, isLoading: false, isOver: false };
const CHANGING = [".subtitle", "#verdict", ".facts", "#summary", "#way .note", "#diagnostics", "#failures", "#reproduce"];
const SURE_MILLISECONDS = 4000; /* within which the button must be pressed again */

function showPage(text) {
  const fresh = new DOMParser().parseFromString(text, "text/html");
  for (const selector of CHANGING) {
    const [before, after] = [document.querySelector(selector), fresh.querySelector(selector)];
    if (before.textContent !== after.textContent) before.replaceWith(after);
  }
  const labels = report.cloud.labels.join();
  report = JSON.parse(fresh.getElementById("data").textContent);
  loadCorner();
  if (labels !== report.cloud.labels.join()) buildChooser();
  describePicked();
  stopPlaying();
  loadWay();
  drawCurves();
  drawAll();
}

/* Whoever looks at one particle, or back in time, is not disturbed. */
function isLookingCloser() {
  return corner.isPinned || way.timer || way.place < way.data.num_evals.length - 1;
}

async function refresh(page) {
  if (live.isLoading) return;
  live.isLoading = true;
  try {
    const answer = await fetch(location.pathname);
    const text = await answer.text();
    if (!answer.ok || live.isOver || isLookingCloser()) return;
    showPage(text);
    live.page = page;
  } catch {
    /* the stream of events says what happened */
  } finally {
    live.isLoading = false;
  }
}

function say(words, state) {
  element("live-words").textContent = words;
  if (element("live-state").textContent !== state) element("live-state").textContent = state;
}

function duration(seconds) {
  const [minutes, rest] = [Math.floor(seconds / 60), Math.floor(seconds % 60)];
  return minutes < 60 ? `${minutes}:${String(rest).padStart(2, "0")} min` : `${Math.floor(minutes / 60)}:${String(minutes % 60).padStart(2, "0")} h`;
}

function showTick({ page, num_evals, max_evals, seconds, is_stopping }) {
  const [done, all] = [num_evals, max_evals].map((number) => number.toLocaleString("en"));
  let state = isLookingCloser() ? "The plots pause while you look at a particle (Escape releases it) or back in time (move the slider to its end)." : "";
  if (is_stopping) state = "The run stops as soon as the calls in progress have returned.";
  say(`Running: ${done} of at most ${all} evaluations, ${duration(seconds)}`, state);
  element("live-progress").value = Math.min(num_evals / max_evals, 1);
  if (page !== live.page && !document.hidden && !isLookingCloser()) refresh(page);
}

function showEnd({ words, page }) {
  live.isOver = true;
  live.events.close();
  if (page) showPage(page);
  element("live-progress").hidden = element("live-stop").hidden = true;
  say("The run has ended.", words);
}

function pressStop(event) {
  const button = event.currentTarget;
  if (button.dataset.isSure) {
    button.disabled = true;
    fetch("stop", { method: "POST" }).catch(() => {});
    return;
  }
  button.dataset.isSure = "yes";
  button.textContent = "Press again to stop";
  setTimeout(() => {
    delete button.dataset.isSure;
    button.textContent = "Stop the run";
  }, SURE_MILLISECONDS);
}

element("live-stop").addEventListener("click", pressStop);
live.events.addEventListener("tick", (event) => showTick(JSON.parse(event.data)));
live.events.addEventListener("end", (event) => showEnd(JSON.parse(event.data)));
live.events.addEventListener("error", () => {
  live.events.close();
  if (!live.isOver) say("The connection was lost.", "The process may have ended. Reload the page to try again.");
});
