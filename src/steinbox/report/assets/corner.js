/* The corner plot: chosen quantities against each other; one particle can be picked out in all panels. */

const corner = {
  canvas: element("corner-plot"),
  cloud: null,
  byLogDensity: [], /* particles, the highest first */
  chosen: [],
  picked: -1,
  isPinned: false,
  base: null, /* the picture without the picked particle */
  panels: [],
};
const MAX_CHOSEN = 8;
const REACH = 16; /* pixels within which a particle is picked */

function loadCorner() {
  const { log_prob } = (corner.cloud = report.cloud);
  corner.byLogDensity = log_prob.map((_, i) => i).sort((a, b) => (log_prob[b] ?? -Infinity) - (log_prob[a] ?? -Infinity));
  [corner.picked, corner.isPinned] = [-1, false];
}

function buildChooser() {
  const { cloud, canvas } = corner;
  element("choices").replaceChildren();
  corner.chosen = cloud.labels.map((_, k) => k).slice(0, room(canvas) < 500 ? 3 : 5);
  cloud.labels.forEach((name, k) => {
    const label = make("label");
    const box = make("input", undefined, { type: "checkbox", value: String(k), checked: corner.chosen.includes(k) });
    box.addEventListener("change", () => choose(k, box));
    label.append(box, make("span", name, { title: name }));
    element("choices").append(label);
  });
  document.querySelector(".chooser").hidden = cloud.labels.length === 1;
}

function choose(k, box) {
  const without = corner.chosen.filter((other) => other !== k);
  const isRefused = box.checked ? without.length >= MAX_CHOSEN : without.length === 0;
  if (isRefused) {
    box.checked = !box.checked;
    element("particle").replaceChildren(make("p", box.checked ? "At least one is shown." : `At most ${MAX_CHOSEN} are shown at once.`));
    return;
  }
  corner.chosen = (box.checked ? [...without, k] : without).sort((a, b) => a - b);
  drawCorner();
}

function radius(i) {
  const relative = corner.cloud.weights[i] * corner.cloud.weights.length;
  return Math.min(Math.max(1.9 * Math.sqrt(relative), 1.1), 4.5);
}

function drawCorner() {
  const { canvas, chosen } = corner;
  const width = room(canvas);
  const margin = width < 500 ? 46 : 58;
  const gap = 8;
  const side = Math.min((width - margin) / chosen.length - gap, chosen.length === 1 ? 560 : 370);
  const height = chosen.length === 1 ? Math.min(side, 280) : side;
  const total = 20 + chosen.length * (height + gap) + 36;
  const context = prepare(canvas, width, total);
  corner.panels = [];
  chosen.forEach((yk, row) => {
    chosen.slice(0, row + 1).forEach((xk, column) => {
      const panel = { xk, yk, left: margin + column * (side + gap), top: 20 + row * (height + gap), width: side, height };
      panel.isLeft = column === 0;
      panel.isBottom = row === chosen.length - 1;
      corner.panels.push(panel);
      (xk === yk ? drawMarginal : drawPair)(context, panel);
      drawFrame(context, panel);
    });
  });
  corner.base = document.createElement("canvas");
  [corner.base.width, corner.base.height] = [canvas.width, canvas.height];
  corner.base.getContext("2d").drawImage(canvas, 0, 0);
  canvas.dataset.panels = String(corner.panels.length);
  placeReadout(width, margin, side + gap);
  drawPicked();
}

/* The values of the picked particle stand in the empty half of the plot, if there is room. */
function placeReadout(width, margin, step) {
  const box = element("particle");
  const free = Math.floor(corner.chosen.length / 2);
  const left = margin + free * step + 16;
  const isInside = free > 0 && width - left >= 300;
  box.classList.toggle("inside", isInside);
  Object.assign(box.style, isInside ? { left: `${left}px`, maxHeight: `${free * step - 14}px` } : { left: "", maxHeight: "" });
}

function limits(k) {
  return [corner.cloud.low[k], corner.cloud.high[k]];
}

function drawPair(context, panel) {
  const { draws, particles, weights } = corner.cloud;
  const { xk, yk, left, top, width, height } = panel;
  shade(context, draws[xk], draws[yk], limits(xk), limits(yk), left, top, width, height);
  context.save();
  context.beginPath();
  context.rect(left, top, width, height);
  context.clip();
  const [x, y] = [scale(...limits(xk), left, left + width), scale(...limits(yk), top + height, top)];
  const crowded = Math.min(1, Math.sqrt(400 / weights.length), width / 150);
  context.fillStyle = color("particle");
  context.globalAlpha = 0.85;
  weights.forEach((weight, i) => {
    if (!weight || !isNumber(particles[xk][i]) || !isNumber(particles[yk][i])) return;
    dot(context, x(particles[xk][i]), y(particles[yk][i]), Math.max(radius(i) * crowded, 0.9));
    context.fill();
  });
  context.restore();
}

function drawMarginal(context, panel) {
  const { draws, particles, weights, labels } = corner.cloud;
  const { xk, left, top, width, height } = panel;
  const [low, high] = limits(xk);
  const x = scale(low, high, left, left + width);
  const density = blur(count1(draws[xk], low, high), 1, 0, 0.6 + 10 / Math.sqrt(100 + new Set(draws[xk]).size));
  const y = scale(0, Math.max(...density) * 1.08 || 1, top + height - 7, top + 4);
  context.beginPath();
  context.moveTo(left, y(0));
  density.forEach((value, bin) => {
    context.lineTo(left + (bin / BINS) * width, y(value));
    context.lineTo(left + ((bin + 1) / BINS) * width, y(value));
  });
  context.lineTo(left + width, y(0));
  context.fillStyle = color("density");
  context.globalAlpha = 0.28;
  context.fill();
  context.globalAlpha = 1;
  context.strokeStyle = color("density");
  context.lineWidth = 1.5;
  context.stroke();
  drawQuantiles(context, draws[xk].filter(isNumber).sort((a, b) => a - b), x, panel);
  context.fillStyle = color("particle");
  context.globalAlpha = 0.6;
  weights.forEach((weight, i) => {
    const value = particles[xk][i];
    if (weight && isNumber(value) && value >= low && value <= high) context.fillRect(x(value) - 0.5, top + height - 6, 1, 6);
  });
  context.globalAlpha = 1;
  if (!panel.isBottom) drawName(context, labels[xk], left + width / 2, top - 16, width, 0);
}

function drawQuantiles(context, sorted, x, { left, top, width, height }) {
  context.strokeStyle = color("soft");
  context.lineWidth = 1;
  context.setLineDash([3, 3]);
  for (const level of sorted.length ? [0.05, 0.5, 0.95] : []) {
    const place = x(sorted[Math.min(Math.floor(level * sorted.length), sorted.length - 1)]);
    if (place < left || place > left + width) continue;
    context.beginPath();
    context.moveTo(place, top);
    context.lineTo(place, top + height - 7);
    context.stroke();
  }
  context.setLineDash([]);
}

function drawFrame(context, panel) {
  const { xk, yk, left, top, width, height, isLeft, isBottom } = panel;
  context.strokeStyle = color("line");
  context.lineWidth = 1;
  context.strokeRect(left + 0.5, top + 0.5, width - 1, height - 1);
  if (isBottom) {
    drawTicks(context, limits(xk), scale(...limits(xk), left, left + width), width, { below: top + height });
    drawName(context, corner.cloud.labels[xk], left + width / 2, top + height + 22, width, 0);
  }
  if (isLeft && xk !== yk) {
    drawTicks(context, limits(yk), scale(...limits(yk), top + height, top), height, { left });
    drawName(context, corner.cloud.labels[yk], 0, top + height / 2, height, -Math.PI / 2);
  }
}

/* -- one particle, in all panels ----------------------------------------------------------------------------------- */

function drawPicked() {
  const { canvas, base, picked, panels } = corner;
  const context = canvas.getContext("2d");
  context.save();
  context.setTransform(1, 0, 0, 1, 0, 0);
  context.clearRect(0, 0, canvas.width, canvas.height);
  context.drawImage(base, 0, 0);
  context.restore();
  canvas.dataset.picked = String(picked);
  if (picked < 0) return;
  for (const panel of panels) drawPickedIn(context, panel, picked);
}

function drawPickedIn(context, { xk, yk, left, top, width, height }, i) {
  const { particles } = corner.cloud;
  if (!isNumber(particles[xk][i]) || !isNumber(particles[yk][i])) return;
  const px = scale(...limits(xk), left, left + width)(particles[xk][i]);
  const py = scale(...limits(yk), top + height, top)(particles[yk][i]);
  context.save();
  context.beginPath();
  context.rect(left, top, width, height);
  context.clip();
  context.strokeStyle = color("select");
  context.globalAlpha = 0.55;
  context.lineWidth = 1;
  context.beginPath();
  context.moveTo(px, top);
  context.lineTo(px, top + height);
  if (xk !== yk) {
    context.moveTo(left, py);
    context.lineTo(left + width, py);
  }
  context.stroke();
  context.globalAlpha = 1;
  if (xk !== yk) {
    dot(context, px, py, 6);
    context.fillStyle = color("particle");
    context.fill();
    context.lineWidth = 2;
    context.stroke();
  }
  context.restore();
}

function pick(i) {
  if (i === corner.picked) return;
  corner.picked = i;
  drawPicked();
  describePicked();
}

function describePicked() {
  const { cloud, picked } = corner;
  const box = element("particle");
  if (picked < 0) {
    box.replaceChildren(make("p", "Point at a particle, or tap it, to see its values; with the keyboard, use the arrow keys."));
    return;
  }
  const rank = corner.byLogDensity.indexOf(picked) + 1;
  const weight = `${show(100 * cloud.weights[picked])}% of the weight`;
  const words = `Particle ${picked + 1} of ${cloud.weights.length}: log-density ${show(cloud.log_prob[picked])} (number ${rank} from the highest), ${weight}.`;
  const list = make("dl");
  cloud.labels.forEach((name, k) => {
    const entry = make("div");
    entry.append(make("dt", name, { title: name }), make("dd", show(cloud.particles[k][picked])));
    list.append(entry);
  });
  box.replaceChildren(make("p", words), list);
}

function nearest(event) {
  const { cloud, canvas, panels } = corner;
  const rectangle = canvas.getBoundingClientRect();
  const [px, py] = [event.clientX - rectangle.left, event.clientY - rectangle.top];
  const panel = panels.find((each) => px >= each.left && px <= each.left + each.width && py >= each.top && py <= each.top + each.height);
  if (!panel) return -1;
  const x = scale(...limits(panel.xk), panel.left, panel.left + panel.width);
  const y = scale(...limits(panel.yk), panel.top + panel.height, panel.top);
  let [best, distance] = [-1, REACH];
  cloud.weights.forEach((weight, i) => {
    const [a, b] = [cloud.particles[panel.xk][i], cloud.particles[panel.yk][i]];
    if (!weight || !isNumber(a) || !isNumber(b)) return;
    const away = Math.hypot(x(a) - px, panel.xk === panel.yk ? 0 : y(b) - py);
    if (away < distance) [best, distance] = [i, away];
  });
  return best;
}

function pickByKey(event) {
  const { byLogDensity } = corner;
  const place = byLogDensity.indexOf(corner.picked);
  const last = byLogDensity.length - 1;
  const steps = { ArrowRight: place + 1, ArrowDown: place + 1, ArrowLeft: place - 1, ArrowUp: place - 1, Home: 0, End: last };
  if (event.key === "Escape") {
    corner.isPinned = false;
    pick(-1);
  } else if (event.key in steps) {
    event.preventDefault();
    corner.isPinned = true;
    pick(byLogDensity[Math.min(Math.max(steps[event.key], 0), last)]);
  }
}

function startCorner() {
  const { canvas } = corner;
  loadCorner();
  buildChooser();
  describePicked();
  canvas.addEventListener("pointermove", (event) => {
    if (event.pointerType === "mouse" && !corner.isPinned) pick(nearest(event));
  });
  canvas.addEventListener("click", (event) => {
    const found = nearest(event);
    corner.isPinned = found >= 0;
    pick(found);
  });
  canvas.addEventListener("pointerleave", () => {
    if (!corner.isPinned) pick(-1);
  });
  canvas.addEventListener("keydown", pickByKey);
}
