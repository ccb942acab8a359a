"use strict";
/* What all plots share: the data, colors of the theme, a sharp canvas, axes, shaded densities. */

let report = JSON.parse(document.getElementById("data").textContent);
const BINS = 40; /* of a density, in each direction */
const MASSES = [0.95, 0.8, 0.5, 0.2]; /* that the shaded regions hold */
const SHADES = [0.14, 0.3, 0.52, 0.8]; /* of these regions: opacity */

const element = (id) => document.getElementById(id);
const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
const isNumber = (value) => value !== null && Number.isFinite(value);

function make(tag, text, properties = {}) {
  const made = Object.assign(document.createElement(tag), properties);
  if (text !== undefined) made.textContent = text;
  return made;
}

function show(value) {
  if (!isNumber(value)) return "–";
  const size = Math.abs(value);
  if (size !== 0 && (size >= 1e5 || size < 1e-3)) return value.toExponential(2).replace("e+", "e").replace("-", "−");
  return String(Number(value.toPrecision(4))).replace("-", "−");
}

/* The width there is for a canvas; while a page is prepared for printing there may be none, and the last one is kept. */
function room(canvas) {
  const width = canvas.parentElement.clientWidth || Number(canvas.dataset.room) || 600;
  canvas.dataset.room = String(width);
  return width;
}

/* A canvas of this size in CSS pixels, cleared, to be drawn on in these units. */
function prepare(canvas, width, height) {
  const ratio = window.devicePixelRatio || 1;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  context.font = '12px system-ui, "Segoe UI", Roboto, sans-serif';
  return context;
}

/* Text that fits into a width. */
function ellipsize(context, text, width) {
  if (context.measureText(text).width <= width) return text;
  let end = text.length;
  while (end > 1 && context.measureText(`${text.slice(0, end)}…`).width > width) end -= 1;
  return `${text.slice(0, end)}…`;
}

/* Round numbers within a range. */
function ticks(low, high, count) {
  const raw = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = power * ([1, 2, 5, 10].find((factor) => factor * power >= raw) ?? 10);
  const found = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step && found.length < 20; k += 1) found.push(Number((k * step).toPrecision(12)));
  return found;
}

function scale(low, high, from, to) {
  return (value) => from + ((value - low) / (high - low)) * (to - from);
}

function count1(values, low, high) {
  const counts = new Float64Array(BINS);
  for (const value of values) {
    const bin = Math.floor(((value - low) / (high - low)) * BINS);
    if (isNumber(value) && bin >= 0 && bin < BINS) counts[bin] += 1;
  }
  return counts;
}

function count2(xs, ys, xLimits, yLimits) {
  const counts = new Float64Array(BINS * BINS);
  for (let i = 0; i < xs.length; i += 1) {
    const column = Math.floor(((xs[i] - xLimits[0]) / (xLimits[1] - xLimits[0])) * BINS);
    const row = Math.floor(((ys[i] - yLimits[0]) / (yLimits[1] - yLimits[0])) * BINS);
    const inside = column >= 0 && column < BINS && row >= 0 && row < BINS;
    if (inside && isNumber(xs[i]) && isNumber(ys[i])) counts[row * BINS + column] += 1;
  }
  return counts;
}

/* A Gaussian blur along one direction; what would leave at an edge is reflected. */
function blur(values, stride, jump, width) {
  const reach = Math.ceil(3 * width);
  const kernel = Array.from({ length: 2 * reach + 1 }, (_, k) => Math.exp(-0.5 * ((k - reach) / width) ** 2));
  const total = kernel.reduce((sum, value) => sum + value, 0);
  const blurred = new Float64Array(values.length);
  const lines = values.length / BINS;
  for (let line = 0; line < lines; line += 1) {
    for (let k = 0; k < BINS; k += 1) {
      const value = values[line * jump + k * stride] / total;
      if (value === 0) continue;
      for (let shift = -reach; shift <= reach; shift += 1) {
        let to = k + shift;
        if (to < 0) to = -1 - to;
        if (to >= BINS) to = 2 * BINS - 1 - to;
        blurred[line * jump + to * stride] += value * kernel[shift + reach];
      }
    }
  }
  return blurred;
}

/* The density's values above which lie these parts of its mass. */
function levels(density) {
  const sorted = Float64Array.from(density).sort().reverse();
  const total = sorted.reduce((sum, value) => sum + value, 0);
  return MASSES.map((mass) => {
    let sum = 0;
    const place = sorted.findIndex((value) => (sum += value) >= mass * total);
    return Math.max(sorted[Math.max(place, 0)], 1e-12);
  });
}

/* Shade the regions of highest density of some points in a rectangle. */
function shade(context, xs, ys, xLimits, yLimits, left, top, width, height) {
  const blurWidth = 1.2 + 3 / Math.sqrt(1 + new Set(xs).size / 50); /* cells: more if the draws repeat few points */
  const density = blur(blur(count2(xs, ys, xLimits, yLimits), 1, BINS, blurWidth), BINS, 1, blurWidth);
  const limits = levels(density);
  const ratio = Math.min(window.devicePixelRatio || 1, 2);
  const [columns, rows] = [Math.max(1, Math.round(width * ratio)), Math.max(1, Math.round(height * ratio))];
  const picture = document.createElement("canvas");
  [picture.width, picture.height] = [columns, rows];
  const pixels = picture.getContext("2d");
  pixels.fillStyle = color("density");
  pixels.fillRect(0, 0, columns, rows);
  const image = pixels.getImageData(0, 0, columns, rows);
  for (let row = 0; row < rows; row += 1) {
    const v = Math.min(Math.max((1 - (row + 0.5) / rows) * BINS - 0.5, 0), BINS - 1);
    const [v0, v1, dv] = [Math.floor(v) * BINS, Math.min(Math.floor(v) + 1, BINS - 1) * BINS, v % 1];
    for (let column = 0; column < columns; column += 1) {
      const u = Math.min(Math.max(((column + 0.5) / columns) * BINS - 0.5, 0), BINS - 1);
      const [u0, u1, du] = [Math.floor(u), Math.min(Math.floor(u) + 1, BINS - 1), u % 1];
      const lower = density[v0 + u0] * (1 - du) + density[v0 + u1] * du;
      const upper = density[v1 + u0] * (1 - du) + density[v1 + u1] * du;
      const value = lower * (1 - dv) + upper * dv;
      let opacity = 0;
      for (let k = 0; k < limits.length; k += 1) if (value >= limits[k]) opacity = SHADES[k];
      image.data[4 * (row * columns + column) + 3] = 255 * opacity;
    }
  }
  pixels.putImageData(image, 0, 0);
  context.drawImage(picture, left, top, width, height);
}

function dot(context, x, y, radius) {
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
}

/* A name below a column, or rotated beside a row. */
function drawName(context, text, x, y, room, angle) {
  context.save();
  context.translate(x, y);
  context.rotate(angle);
  context.fillStyle = color("ink");
  context.font = "600 12px system-ui, sans-serif";
  context.textAlign = "center";
  context.textBaseline = "top";
  context.fillText(ellipsize(context, text, room), 0, 0);
  context.restore();
}

/* Numbers below a panel, or left of it. */
function drawTicks(context, [low, high], place, length, { below, left }) {
  context.fillStyle = color("soft");
  context.strokeStyle = color("soft");
  context.font = "11px system-ui, sans-serif";
  const values = ticks(low, high, Math.max(2, Math.min(5, Math.floor(length / 40))));
  let last = -Infinity;
  for (const value of values) {
    const text = show(value);
    const at = Math.round(place(value)) + 0.5;
    context.beginPath();
    if (below !== undefined) {
      const half = context.measureText(text).width / 2;
      context.moveTo(at, below);
      context.lineTo(at, below + 4);
      if (at - half > last + 4) {
        context.textAlign = "center";
        context.textBaseline = "top";
        context.fillText(text, at, below + 7);
        last = at + half;
      }
    } else {
      context.moveTo(left - 4, at);
      context.lineTo(left, at);
      context.textAlign = "right";
      context.textBaseline = "middle";
      context.fillText(text, left - 6, at);
    }
    context.stroke();
  }
  context.font = "12px system-ui, sans-serif";
}
