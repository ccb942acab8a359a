/* Begin, and draw anew when the size or the theme changes. */

function drawAll() {
  drawCorner();
  drawWay();
}

for (const part of document.querySelectorAll(".script-only")) part.hidden = false;
startCorner();
startWay();
drawCurves();
drawAll();

let lastWidth = window.innerWidth;
window.addEventListener("resize", () => {
  if (window.innerWidth === lastWidth) return; /* a phone's address bar came or went */
  lastWidth = window.innerWidth;
  drawAll();
});
for (const query of ["(prefers-color-scheme: dark)", "print"]) window.matchMedia(query).addEventListener("change", drawAll);
