"use strict";

// Follow one model on the whole page: everything else steps back.
(() => {
  let pinned = "";
  const show = (key) => {
    document.body.classList.toggle("following", key !== "");
    for (const mark of document.querySelectorAll("[data-model]")) {
      mark.classList.toggle("dim", key !== "" && mark.dataset.model !== key);
    }
  };
  for (const button of document.querySelectorAll("[data-follow]")) {
    const key = button.dataset.follow;
    button.addEventListener("pointerenter", () => show(key));
    button.addEventListener("pointerleave", () => show(pinned));
    button.addEventListener("click", () => {
      pinned = pinned === key ? "" : key;
      for (const other of document.querySelectorAll("[data-follow]")) {
        other.setAttribute("aria-pressed", String(other.dataset.follow === pinned));
      }
      show(pinned);
    });
  }
})();

// One film: a single video of tiles is cut into canvases, so that the tiles flow with the page.
class Player {
  constructor(root, data, film) {
    this.root = root;
    this.data = data;
    this.canvases = [...root.querySelectorAll("canvas")];
    this.outputs = [...root.querySelectorAll("output")];
    this.keys = [...root.querySelectorAll(".tile")].map((tile) => tile.dataset.model);
    this.plot = root.querySelector(".plot");
    this.walker = root.querySelector(".walker");
    this.button = this.part("play");
    this.video = document.createElement("video");
    this.video.muted = true;
    this.video.playsInline = true;
    this.video.preload = "auto";
    this.video.className = "engine";
    this.video.setAttribute("aria-hidden", "true");
    this.video.tabIndex = -1;
    root.append(this.video);
    this.url = URL.createObjectURL(film);
    this.video.src = this.url;
    this.part("save").href = this.url;
    this.part("save").download = `${root.dataset.film}.mp4`;
    this.fillMetrics();
    this.listen();
    this.place(0);
  }

  part(name) {
    return this.root.querySelector(`[data-do="${name}"]`);
  }

  get curves() {
    return this.data.curves[Number(this.part("metric").value)];
  }

  get frame() {
    // A hair is added because a browser may report a frame's start a rounding error early.
    return Math.min(this.data.frames - 1, Math.floor(this.video.currentTime * this.data.fps + 0.01));
  }

  listen() {
    const video = this.video;
    for (const event of ["loadeddata", "seeked"]) video.addEventListener(event, () => this.draw());
    video.addEventListener("play", () => { this.button.textContent = "Pause"; this.follow(); });
    for (const event of ["pause", "ended"]) video.addEventListener(event, () => { this.button.textContent = "Play"; this.draw(); });
    this.button.addEventListener("click", () => this.toggle());
    this.part("back").addEventListener("click", () => this.step(-1));
    this.part("on").addEventListener("click", () => this.step(1));
    this.part("speed").addEventListener("change", (event) => { video.playbackRate = Number(event.target.value); });
    this.part("metric").addEventListener("change", () => { this.drawCurves(); this.place(this.frame); });
    this.plot.addEventListener("pointerdown", (event) => {
      this.plot.setPointerCapture(event.pointerId);
      video.pause();
      this.seekTo(event);
    });
    this.plot.addEventListener("pointermove", (event) => { if (event.buttons) this.seekTo(event); });
    this.root.addEventListener("keydown", (event) => this.key(event));
  }

  key(event) {
    const tag = event.target.tagName;
    if (tag === "SELECT" || tag === "INPUT" || event.ctrlKey || event.metaKey || event.altKey) return;
    const far = event.shiftKey ? 10 : 1;
    const moves = { ArrowLeft: -far, ArrowRight: far, Home: -Infinity, End: Infinity };
    if (event.key in moves) this.step(moves[event.key]);
    else if (event.key === " " && tag !== "BUTTON" && tag !== "A") this.toggle();
    else return;
    event.preventDefault();
  }

  toggle() {
    if (!this.video.paused) { this.video.pause(); return; }
    if (this.frame >= this.data.frames - 1) this.video.currentTime = 0;
    this.video.playbackRate = Number(this.part("speed").value);
    this.video.play();
  }

  step(by) {
    this.video.pause();
    this.seek(Math.max(0, Math.min(this.data.frames - 1, (this.wanted ?? this.frame) + by)));
  }

  seekTo(event) {
    const box = this.plot.getBoundingClientRect();
    const share = Math.max(0, Math.min(0.9999, (event.clientX - box.left) / box.width));
    this.seek(Math.min(this.data.frames - 1, Math.floor((share * this.data.length) / this.data.step)));
  }

  seek(frame) {
    // The middle of a frame: no rounding can fall into its neighbour.
    this.wanted = frame;
    this.video.currentTime = (frame + 0.5) / this.data.fps;
    this.place(frame);
  }

  follow() {
    this.wanted = undefined;
    const next = this.video.requestVideoFrameCallback
      ? (again) => this.video.requestVideoFrameCallback(again)
      : (again) => requestAnimationFrame(again);
    const tick = () => {
      this.draw();
      if (!this.video.paused && !this.video.ended) next(tick);
    };
    next(tick);
  }

  draw() {
    if (this.video.readyState < 2) return;
    const [width, height] = this.data.tile;
    const strip = this.data.strip;
    this.canvases.forEach((canvas, k) => {
      const x = (k % this.data.columns) * width;
      const y = Math.floor(k / this.data.columns) * (height + strip) + strip;
      canvas.getContext("2d").drawImage(this.video, x, y, width, height, 0, 0, width, height);
    });
    this.place(this.frame);
  }

  place(frame) {
    const at = frame * this.data.step;
    this.root.dataset.frame = String(frame);
    this.root.querySelector(".cursor").style.left = `${(100 * (at + 0.5)) / this.data.length}%`;
    this.root.querySelector(".at").textContent = `frame ${at} of ${this.data.length}`;
    this.plot.setAttribute("aria-valuenow", String(at));
    const here = this.data.trail[Math.min(frame, this.data.trail.length - 1)];
    if (here && this.walker) this.walker.setAttribute("transform", `translate(${here[0]} ${here[1]}) rotate(${here[2]})`);
    const lines = this.curves?.lines ?? {};
    this.outputs.forEach((output, k) => { output.textContent = Player.valueAt(lines[this.keys[k]], at); });
  }

  static valueAt(line, at) {
    if (!line || !line.length) return "";
    let low = 0;
    let high = line.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (line[middle][0] <= at) low = middle;
      else high = middle - 1;
    }
    const value = line[low][1];
    const size = Math.abs(value);
    return value.toFixed(size >= 10 ? 1 : size >= 0.1 || size === 0 ? 2 : 4);
  }

  fillMetrics() {
    const select = this.part("metric");
    this.data.curves.forEach((curve, k) => select.append(new Option(curve.name, String(k))));
    if (!select.options.length) select.parentElement.hidden = true;
    this.drawCurves();
  }

  drawCurves() {
    const svg = this.plot.querySelector("svg");
    const curves = this.curves;
    svg.replaceChildren();
    if (!curves) return;
    const [low, high] = curves.range;
    const marks = this.root.querySelectorAll(".ylabels span");
    const values = [high, (low + high) / 2, low];
    const digits = [0, 1, 2, 3].find((d) => values.every((v) => Math.abs(v - Number(v.toFixed(d))) < 1e-9)) ?? 4;
    values.forEach((value, k) => { marks[k].textContent = value.toFixed(digits); });
    for (const [key, points] of Object.entries(curves.lines)) {
      const line = document.createElementNS("http://www.w3.org/2000/svg", "polyline");
      const clamp = (v) => 100 - (100 * (Math.max(low, Math.min(high, v)) - low)) / (high - low || 1);
      line.setAttribute("points", points.map(([x, v]) => `${x + 0.5},${clamp(v).toFixed(2)}`).join(" "));
      line.setAttribute("class", `line ${this.data.looks[key]}`);
      line.dataset.model = key;
      svg.append(line);
    }
  }
}

// A video is decoded when its card is open for the first time, never before.
(() => {
  const open = (card) => {
    const root = card.querySelector(".player");
    if (!card.open || !root || root.player) return;
    const raw = atob(document.getElementById(`${card.id}-film`).textContent.trim());
    const bytes = Uint8Array.from(raw, (letter) => letter.charCodeAt(0));
    const data = JSON.parse(document.getElementById(`${card.id}-data`).textContent);
    root.player = new Player(root, data, new Blob([bytes], { type: "video/mp4" }));
  };
  for (const card of document.querySelectorAll("details.walk")) {
    card.addEventListener("toggle", () => open(card));
    open(card);
  }
  const jump = () => {
    const card = document.getElementById(location.hash.slice(1));
    if (card && card.tagName === "DETAILS") { card.open = true; card.scrollIntoView(); }
  };
  addEventListener("hashchange", jump);
  jump();
})();
