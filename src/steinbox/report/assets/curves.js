/* Small plots of what the method reported in each iteration. */

const SVG = "http://www.w3.org/2000/svg";
const CURVE = { width: 300, height: 130, left: 48, right: 8, top: 8, bottom: 20 };

function makeSvg(tag, attributes, text) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

function drawCurve({ name, values }) {
  const finite = values.filter(isNumber);
  let [low, high] = [Math.min(...finite), Math.max(...finite)];
  if (low === high) [low, high] = [low - 0.5, high + 0.5];
  const { width, height, left, right, top, bottom } = CURVE;
  const x = scale(0, Math.max(values.length - 1, 1), left, width - right);
  const y = scale(low, high, height - bottom, top);
  const label = name.replaceAll("_", " ");
  const last = values.findLastIndex(isNumber);
  const svg = makeSvg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${label}: from ${show(values[values.findIndex(isNumber)])} to ${show(values[last])}` });
  svg.append(makeSvg("line", { class: "axis", x1: left, x2: width - right, y1: height - bottom, y2: height - bottom }));
  for (const value of ticks(low, high, 4)) {
    svg.append(makeSvg("line", { class: "axis", x1: left, x2: width - right, y1: y(value), y2: y(value) }));
    svg.append(makeSvg("text", { x: left - 6, y: y(value) + 4, "text-anchor": "end" }, show(value)));
  }
  svg.append(makeSvg("text", { x: left, y: height - 5 }, "1"));
  svg.append(makeSvg("text", { x: width - right, y: height - 5, "text-anchor": "end" }, String(values.length)));
  let path = "";
  values.forEach((value, i) => {
    if (isNumber(value)) path += `${i > 0 && isNumber(values[i - 1]) ? "L" : "M"}${x(i).toFixed(1)} ${y(value).toFixed(1)}`;
  });
  svg.append(makeSvg("path", { class: "curve", d: path }));
  const cursor = makeSvg("circle", { class: "cursor", r: 4.5, cx: x(last), cy: y(values[last]) });
  svg.append(cursor);
  const reading = make("span");
  const read = (i) => {
    if (!isNumber(values[i])) return;
    cursor.setAttribute("cx", x(i));
    cursor.setAttribute("cy", y(values[i]));
    reading.textContent = i === last ? show(values[i]) : `${show(values[i])} at ${i + 1}`;
  };
  read(last);
  svg.addEventListener("pointermove", (event) => {
    const rectangle = svg.getBoundingClientRect();
    const at = ((event.clientX - rectangle.left) / rectangle.width) * width;
    const i = Math.round(((at - left) / (width - right - left)) * (values.length - 1));
    read(Math.min(Math.max(i, 0), values.length - 1));
  });
  svg.addEventListener("pointerleave", () => read(last));
  const caption = make("figcaption");
  caption.append(make("b", label, { title: label }), reading);
  const figure = make("figure");
  figure.append(caption, svg);
  return figure;
}

function drawCurves() {
  const grid = element("curve-grid");
  if (grid) grid.replaceChildren(...report.curves.filter((curve) => curve.values.some(isNumber)).map(drawCurve));
}
