
// A build that can be turned: faces from the page drawn with WebGL, one canvas for the whole page.
(() => {
  const VERTEX = `attribute vec3 place; attribute vec4 colour; attribute vec3 normal; uniform mat4 view;
    varying vec4 tint;
    void main() {
      float light = abs(normal.y) > 0.5 ? (normal.y > 0.0 ? 1.0 : 0.55) : (abs(normal.x) > 0.5 ? 0.72 : 0.86);
      tint = vec4(colour.rgb * light, colour.a);
      gl_Position = view * vec4(place, 1.0);
    }`;
  const FRAGMENT = "precision mediump float; varying vec4 tint; void main() { gl_FragColor = vec4(tint.rgb * tint.a, tint.a); }";
  const CORNERS = [0, 1, 2, 0, 2, 3];
  let stage = null;

  const bytesOf = async (text) => {
    const raw = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    const stream = new Blob([raw]).stream().pipeThrough(new DecompressionStream("deflate"));
    return new Response(stream).arrayBuffer();
  };

  const shader = (gl, kind, source) => {
    const made = gl.createShader(kind);
    gl.shaderSource(made, source);
    gl.compileShader(made);
    return made;
  };

  class Stage {
    constructor() {
      this.canvas = document.createElement("canvas");
      this.canvas.className = "turning";
      this.canvas.tabIndex = 0;
      this.canvas.setAttribute("role", "img");
      const gl = this.canvas.getContext("webgl", { antialias: true, premultipliedAlpha: true });
      if (!gl) throw new Error("this browser has no WebGL");
      this.gl = gl;
      const program = gl.createProgram();
      gl.attachShader(program, shader(gl, gl.VERTEX_SHADER, VERTEX));
      gl.attachShader(program, shader(gl, gl.FRAGMENT_SHADER, FRAGMENT));
      gl.linkProgram(program);
      gl.useProgram(program);
      this.view = gl.getUniformLocation(program, "view");
      this.buffers = ["place", "colour", "normal"].map((name) => {
        const where = gl.getAttribLocation(program, name);
        gl.enableVertexAttribArray(where);
        return [where, gl.createBuffer(), name === "colour" ? 4 : 3];
      });
      gl.enable(gl.DEPTH_TEST);
      gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
      this.listen();
    }

    listen() {
      let held = null;
      this.canvas.addEventListener("pointerdown", (event) => {
        held = [event.clientX, event.clientY];
        this.canvas.setPointerCapture(event.pointerId);
      });
      this.canvas.addEventListener("pointermove", (event) => {
        if (!held) return;
        this.yaw -= (event.clientX - held[0]) * 0.01;
        this.pitch += (event.clientY - held[1]) * 0.01;
        held = [event.clientX, event.clientY];
        this.draw();
      });
      for (const over of ["pointerup", "pointercancel"]) this.canvas.addEventListener(over, () => (held = null));
      this.canvas.addEventListener("wheel", (event) => {
        event.preventDefault();
        this.zoom = Math.min(6, Math.max(0.3, this.zoom * Math.exp(-event.deltaY * 0.001)));
        this.draw();
      }, { passive: false });
      this.canvas.addEventListener("keydown", (event) => {
        const step = { ArrowLeft: [-0.15, 0], ArrowRight: [0.15, 0], ArrowUp: [0, 0.15], ArrowDown: [0, -0.15] }[event.key];
        if (!step) return;
        event.preventDefault();
        this.yaw += step[0];
        this.pitch += step[1];
        this.draw();
      });
    }

    load(count, units, buffer) {
      const corners = new Int16Array(buffer, 0, count * 12);
      const colours = new Uint8Array(buffer, count * 24, count * 4);
      const place = [], tint = [], normal = [], low = [1e9, 1e9, 1e9], high = [-1e9, -1e9, -1e9];
      const order = [...Array(count).keys()].sort((a, b) => colours[b * 4 + 3] - colours[a * 4 + 3]);
      this.solid = order.filter((face) => colours[face * 4 + 3] === 255).length * 6;
      for (const face of order) {
        const p = [0, 1, 2, 3].map((k) => [0, 1, 2].map((axis) => corners[face * 12 + k * 3 + axis] / units));
        const u = [0, 1, 2].map((axis) => p[1][axis] - p[0][axis]);
        const v = [0, 1, 2].map((axis) => p[3][axis] - p[0][axis]);
        const n = [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]];
        const size = Math.hypot(...n) || 1;
        for (const k of CORNERS) {
          place.push(...p[k]);
          tint.push(...[0, 1, 2, 3].map((part) => colours[face * 4 + part] / 255));
          normal.push(...n.map((value) => value / size));
        }
        for (const corner of p) for (const axis of [0, 1, 2]) {
          low[axis] = Math.min(low[axis], corner[axis]);
          high[axis] = Math.max(high[axis], corner[axis]);
        }
      }
      this.count = count * 6;
      this.centre = low.map((value, axis) => (value + high[axis]) / 2);
      this.radius = Math.hypot(...low.map((value, axis) => high[axis] - value)) / 2 || 1;
      [this.yaw, this.pitch, this.zoom] = [Math.PI / 4, Math.PI / 6, 1];
      const gl = this.gl;
      for (const [k, values] of [place, tint, normal].entries()) {
        const [where, target, parts] = this.buffers[k];
        gl.bindBuffer(gl.ARRAY_BUFFER, target);
        gl.bufferData(gl.ARRAY_BUFFER, new Float32Array(values), gl.STATIC_DRAW);
        gl.vertexAttribPointer(where, parts, gl.FLOAT, false, 0, 0);
      }
    }

    draw() {
      this.pitch = Math.min(1.55, Math.max(-1.55, this.pitch));
      const gl = this.gl, side = this.canvas.clientWidth * (window.devicePixelRatio || 1);
      this.canvas.width = this.canvas.height = Math.max(1, Math.round(side));
      gl.viewport(0, 0, this.canvas.width, this.canvas.height);
      gl.clearColor(0, 0, 0, 0);
      gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
      const [cy, sy, cp, sp] = [Math.cos(this.yaw), Math.sin(this.yaw), Math.cos(this.pitch), Math.sin(this.pitch)];
      // Rows of the camera: right, up, away; x east, y up, z south.
      const rows = [[cy, 0, -sy], [-sy * sp, cp, -cy * sp], [-sy * cp, -sp, -cy * cp]];
      // Depth does not grow with the zoom: what comes near must not be cut off.
      const scale = this.zoom / this.radius, deep = 0.9 / this.radius;
      const shift = rows.map((row) => -row.reduce((sum, value, axis) => sum + value * this.centre[axis], 0));
      const matrix = [];
      for (const axis of [0, 1, 2]) matrix.push(rows[0][axis] * scale, rows[1][axis] * scale, rows[2][axis] * deep, 0);
      matrix.push(shift[0] * scale, shift[1] * scale, shift[2] * deep, 1);
      gl.uniformMatrix4fv(this.view, false, matrix);
      gl.disable(gl.BLEND);
      gl.depthMask(true);
      gl.drawArrays(gl.TRIANGLES, 0, this.solid);
      gl.enable(gl.BLEND);
      gl.depthMask(false);
      gl.drawArrays(gl.TRIANGLES, this.solid, this.count - this.solid);
      gl.depthMask(true);
    }
  }

  const put = (figure) => {
    figure.classList.remove("turned");
    figure.querySelector("[data-turn]").textContent = "Turn it";
    figure.querySelector(".turning")?.remove();
  };

  const turn = async (button) => {
    const figure = button.closest("figure");
    if (figure.classList.contains("turned")) return put(figure);
    const solid = JSON.parse(figure.querySelector("script").textContent);
    try {
      stage = stage || new Stage();
      stage.load(solid.n, solid.units, await bytesOf(solid.data));
    } catch (error) {
      button.textContent = `cannot be turned: ${error.message}`;
      return;
    }
    for (const other of document.querySelectorAll(".turned")) put(other);
    button.textContent = "Back to the picture (drag to turn, scroll to zoom)";
    figure.classList.add("turned");
    figure.querySelector(".frame").append(stage.canvas);
    stage.canvas.setAttribute("aria-label", `${button.dataset.turn}: drag or use the arrow keys to turn it, scroll to zoom`);
    stage.draw();
    stage.canvas.focus({ preventScroll: true });
  };

  for (const button of document.querySelectorAll("[data-turn]")) button.addEventListener("click", () => turn(button));
})();
