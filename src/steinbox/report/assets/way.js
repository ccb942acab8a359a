/* The slider through the run: which points there were after so many evaluations. */

const way = { data: null, canvas: element("way-plot"), place: 0, timer: 0, background: null };
const LOG_DENSITY = "log-density";
const FRAME_MILLISECONDS = 90;

function wayAxis(k) {
  const { data } = way;
  if (k < data.points.length) return { name: report.cloud.labels[k], values: data.points[k], limits: [data.low[k], data.high[k]] };
  const finite = data.log_prob.filter(isNumber).sort((a, b) => a - b);
  const high = finite.length ? finite[finite.length - 1] : 1;
  const low = finite.length ? Math.max(finite[Math.floor(0.02 * finite.length)], high - 60) : 0;
  const pad = 0.05 * (high - low) || 1;
  return { name: LOG_DENSITY, values: data.log_prob, limits: [low - pad, high + pad] };
}

function drawWay() {
  const { canvas, data, place } = way;
  const [xk, yk] = [Number(element("way-x").value), Number(element("way-y").value)];
  const [across, up] = [wayAxis(xk), wayAxis(yk)];
  const width = room(canvas);
  const area = { left: 54, top: 8, width: width - 62, height: Math.min(Math.max(0.52 * width, 240), 440) };
  const context = prepare(canvas, width, area.top + area.height + 46);
  drawWayBackground(context, across, up, xk, yk, area);
  const x = scale(...across.limits, area.left, area.left + area.width);
  const y = scale(...up.limits, area.top + area.height, area.top);
  context.save();
  context.beginPath();
  context.rect(area.left, area.top, area.width, area.height);
  context.clip();
  const isGrowing = data.begin[place] === 0 && data.begin[data.begin.length - 1] === 0 && !data.is_flow;
  const before = isGrowing && place > 0 ? data.end[place - 1] : data.begin[place];
  const put = (from, to, name, opacity, size) => {
    context.fillStyle = color(name);
    context.globalAlpha = opacity;
    for (let i = from; i < to; i += 1) {
      if (!isNumber(across.values[i]) || !isNumber(up.values[i])) continue;
      dot(context, x(across.values[i]), y(up.values[i]), size);
      context.fill();
    }
  };
  if (data.is_flow && place > 0) drawTails(context, across, up, x, y);
  put(data.begin[place], before, "old", 0.7, 1.7);
  put(before, data.end[place], "particle", 0.9, 2.6);
  context.restore();
  drawWayFrame(context, across, up, x, y, area);
  describeWay(across, up);
}

/* Where each particle came from since the place before. */
function drawTails(context, across, up, x, y) {
  const { data, place } = way;
  context.strokeStyle = color("particle");
  context.globalAlpha = 0.35;
  context.lineWidth = 1;
  const number = Math.min(data.end[place] - data.begin[place], data.end[place - 1] - data.begin[place - 1]);
  for (let i = 0; i < number; i += 1) {
    const [from, to] = [data.begin[place - 1] + i, data.begin[place] + i];
    if (![across.values[from], up.values[from], across.values[to], up.values[to]].every(isNumber)) continue;
    context.beginPath();
    context.moveTo(x(across.values[from]), y(up.values[from]));
    context.lineTo(x(across.values[to]), y(up.values[to]));
    context.stroke();
  }
}

/* The shaded final distribution; kept from one place of the slider to the next. */
function drawWayBackground(context, across, up, xk, yk, area) {
  const { draws } = report.cloud;
  if (xk === yk || Math.max(xk, yk) >= way.data.points.length) return;
  const key = [xk, yk, area.width, area.height, color("density"), window.devicePixelRatio].join();
  if (way.background?.key !== key) {
    const picture = document.createElement("canvas");
    const paper = prepare(picture, area.width, area.height);
    shade(paper, draws[xk], draws[yk], across.limits, up.limits, 0, 0, area.width, area.height);
    way.background = { key, picture };
  }
  context.globalAlpha = 0.75;
  context.drawImage(way.background.picture, area.left, area.top, area.width, area.height);
  context.globalAlpha = 1;
}

function drawWayFrame(context, across, up, x, y, area) {
  context.globalAlpha = 1;
  context.strokeStyle = color("line");
  context.lineWidth = 1;
  context.strokeRect(area.left + 0.5, area.top + 0.5, area.width - 1, area.height - 1);
  drawTicks(context, across.limits, x, area.width, { below: area.top + area.height });
  drawTicks(context, up.limits, y, area.height, { left: area.left });
  drawName(context, across.name, area.left + area.width / 2, area.top + area.height + 24, area.width, 0);
  drawName(context, up.name, 2, area.top + area.height / 2, area.height, -Math.PI / 2);
}

function describeWay(across, up) {
  const { data, place, canvas } = way;
  const shown = data.end[place] - data.begin[place];
  const text = `${data.num_evals[place].toLocaleString("en")} evaluations`;
  element("way-count").textContent = text;
  element("way-slider").setAttribute("aria-valuetext", text);
  canvas.dataset.shown = String(shown);
  canvas.setAttribute("aria-label", `${shown} points after ${text}: ${up.name} against ${across.name}`);
}

function moveTo(place) {
  way.place = place;
  element("way-slider").value = String(place);
  drawWay();
}

function stopPlaying() {
  clearInterval(way.timer);
  way.timer = 0;
  element("way-play").textContent = "Play";
  element("way-play").setAttribute("aria-pressed", "false");
}

function play() {
  if (way.timer) {
    stopPlaying();
    return;
  }
  const last = way.data.num_evals.length - 1;
  if (way.place === last) moveTo(0);
  element("way-play").textContent = "Pause";
  element("way-play").setAttribute("aria-pressed", "true");
  way.timer = setInterval(() => (way.place < last ? moveTo(way.place + 1) : stopPlaying()), FRAME_MILLISECONDS);
}

/* The last place of the slider, with the data as they are now. */
function loadWay() {
  way.data = report.way;
  way.background = null;
  way.place = way.data.num_evals.length - 1;
  element("way-slider").max = String(way.place); /* before its value, which cannot be larger */
  element("way-slider").value = String(way.place);
}

function startWay() {
  loadWay();
  const { data } = way;
  const names = [...report.cloud.labels.slice(0, data.points.length), LOG_DENSITY];
  for (const id of ["way-x", "way-y"]) {
    names.forEach((name, k) => element(id).append(make("option", name, { value: String(k) })));
    element(id).addEventListener("change", drawWay);
  }
  element("way-x").value = "0";
  element("way-y").value = "1";
  const slider = element("way-slider");
  slider.addEventListener("input", () => {
    stopPlaying();
    moveTo(Number(slider.value));
  });
  element("way-play").addEventListener("click", play);
}
