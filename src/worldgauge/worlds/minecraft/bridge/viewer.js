'use strict'

// Pictures of a grid as prismarine-viewer draws them: its mesher, models and textures, with its camera's opening,
// lights and material, on a software OpenGL. Its sections are meshed here rather than in its workers, so that a picture
// follows from the pose alone.

const { spawn } = require('child_process')
const { Vec3 } = require('vec3')
const grids = require('./grid')
const { Refusal } = require('./refusal')

const EXACT = { '1.16.5': '1.16.4' }
const AIR = ['air', 'cave_air', 'void_air']
const SECTION = 16
const HEIGHT = 256
const VIEW_CHUNKS = 6
const MOST_MESHES = 4096

let display = null
let painter = null

const ops = {
  // data: a grid. What is answered as drawn is the version whose textures are to be given next.
  open: async ({ version, width, height, released }, data) => {
    const drawn = drawnVersion(version)
    const country = new Country(drawn, grids.read(data), released)
    display = display || await startDisplay()
    painter = new Painter(country, width, height)
    return { drawn }
  },
  // data: the textures, RGBA of side x side.
  textures: ({ side }, data) => opened().paintWith(side, data),
  // The picture, RGBA, lowest row first. matrix: of the eye, 16 numbers column by column: x right, y up, z back.
  frame: ({ matrix }) => ({ bytes: opened().frame(matrix) })
}

function opened () {
  if (!painter) throw new Refusal('not-open', 'no world: viewer.open comes first')
  return painter
}

// The package reads state numbers with the nearest version it has, which is right only for an equal one. Before 1.13
// the game's blocks had no names for their states.
function drawnVersion (version) {
  const { supportedVersions } = require('prismarine-viewer/viewer/lib/version')
  const drawable = supportedVersions.filter(one => Number(one.split('.')[1]) >= 13)
  const drawn = EXACT[version] || version
  if (drawable.includes(drawn)) return drawn
  const known = [...drawable, ...Object.keys(EXACT)].join(', ')
  throw new Refusal('unknown-version', `the viewer cannot draw ${version} exactly`, `it can draw ${known}`)
}

// What the mesher asks of a world: the cells of a grid, with air around, in the country of plains.
class Country {
  constructor (version, grid, released) {
    const { origin: [, low], size: [, height] } = grid
    if (low < 0 || low + height > HEIGHT) {
      throw new Refusal('bad-grid', `the viewer draws heights 0 to ${HEIGHT - 1}, not ${low} to ${low + height - 1}`)
    }
    const registry = require('prismarine-registry')(version)
    const Block = require('prismarine-block')(registry)
    const named = released ? name => name : shownName
    const biome = registry.biomesByName.plains
    const kind = id => {
      const block = Block.fromStateId(id, biome.id)
      return Object.assign(block, { name: named(block.name), isCube: isCube(block.shapes), biome })
    }
    this.grid = grid
    this.blocks = grid.palette.map(text => kind(grids.stateId(registry, text)))
    this.air = kind(registry.blocksByName.air.defaultState)
    const models = require(`prismarine-viewer/public/blocksStates/${version}.json`)
    this.models = Object.fromEntries(Object.entries(models).map(([name, model]) => [named(name), model]))
  }

  // As in the package, all cells of a kind are one object, which is where it was last asked for.
  getBlock (at) {
    const { origin: [ox, oy, oz], size: [sx, sy, sz], index } = this.grid
    const x = Math.floor(at.x)
    const y = Math.floor(at.y)
    const z = Math.floor(at.z)
    const inside = x >= ox && x < ox + sx && y >= oy && y < oy + sy && z >= oz && z < oz + sz
    const block = inside ? this.blocks[index[x - ox + sx * (z - oz + sz * (y - oy))]] : this.air
    block.position = new Vec3(x, y, z)
    return block
  }

  // Whether any cell of the section with this lowest corner is in the grid.
  has (...corner) {
    const { origin, size } = this.grid
    return corner.every((at, axis) => at + SECTION > origin[axis] && at < origin[axis] + size[axis])
  }
}

function isCube (shapes) {
  return shapes.length === 1 && String(shapes[0]) === '0,0,0,1,1,1'
}

// The mesher takes every block for air whose name has "air" in it, and that is all stairs: under another name, which
// their models get too, it draws them.
function shownName (name) {
  return AIR.includes(name) ? name : name.replaceAll('air', 'a-ir')
}

class Painter {
  constructor (country, width, height) {
    const THREE = require('three')
    this.size = { width, height }
    this.country = country
    this.meshes = new Map()
    this.gl = context(width, height)
    const canvas = { ...this.size, style: {}, addEventListener: () => {} }
    this.gl.canvas = canvas
    this.renderer = new THREE.WebGLRenderer({ canvas, context: this.gl })
    // Of two sections equally far away the package draws that first which it meshed first.
    this.renderer.setTransparentSort((a, b) => b.z - a.z || byPlace(a.object.position, b.object.position))
    this.scene = new THREE.Scene()
    this.scene.background = new THREE.Color('lightblue')
    const sun = new THREE.DirectionalLight(0xffffff, 0.5)
    sun.position.set(1, 1, 0.5).normalize()
    this.scene.add(new THREE.AmbientLight(0xcccccc), sun)
    this.camera = new THREE.PerspectiveCamera(75, width / height, 0.1, 1000)
    this.camera.matrixAutoUpdate = false
    this.material = new THREE.MeshLambertMaterial({ vertexColors: true, transparent: true, alphaTest: 0.1 })
  }

  paintWith (side, texels) {
    const { DataTexture, RGBAFormat } = require('three')
    if (texels.length !== 4 * side * side) throw new Refusal('bad-textures', `not ${side} x ${side} RGBA`)
    this.material.map = new DataTexture(new Uint8Array(texels), side, side, RGBAFormat)
    this.material.map.needsUpdate = true
  }

  frame (matrix) {
    const { gl, camera, size } = this
    camera.matrix.fromArray(matrix)
    camera.matrixWorldNeedsUpdate = true
    this.show(Math.floor(matrix[12] / SECTION), Math.floor(matrix[14] / SECTION))
    this.renderer.render(this.scene, camera)
    const pixels = Buffer.allocUnsafe(4 * size.width * size.height)
    gl.readPixels(0, 0, size.width, size.height, gl.RGBA, gl.UNSIGNED_BYTE, pixels)
    return pixels
  }

  // Of the world, what is nearer than the view distance to the eye's chunk.
  show (chunkX, chunkZ) {
    for (const mesh of this.meshes.values()) if (mesh) mesh.visible = false
    for (let x = chunkX - VIEW_CHUNKS + 1; x < chunkX + VIEW_CHUNKS; x++) {
      for (let z = chunkZ - VIEW_CHUNKS + 1; z < chunkZ + VIEW_CHUNKS; z++) {
        for (let y = 0; y < HEIGHT; y += SECTION) {
          const mesh = this.meshAt(SECTION * x, y, SECTION * z)
          if (mesh) mesh.visible = true
        }
      }
    }
    if (this.meshes.size > MOST_MESHES) this.forget()
  }

  meshAt (x, y, z) {
    if (!this.country.has(x, y, z)) return null
    const key = `${x},${y},${z}`
    if (!this.meshes.has(key)) this.meshes.set(key, this.meshed(x, y, z))
    return this.meshes.get(key)
  }

  meshed (x, y, z) {
    const THREE = require('three')
    const { getSectionGeometry } = require('prismarine-viewer/viewer/lib/models')
    const section = getSectionGeometry(x, y, z, this.country, this.country.models)
    if (section.indices.length === 0) return null
    const geometry = new THREE.BufferGeometry()
    geometry.setAttribute('position', new THREE.BufferAttribute(section.positions, 3))
    geometry.setAttribute('normal', new THREE.BufferAttribute(section.normals, 3))
    geometry.setAttribute('color', new THREE.BufferAttribute(section.colors, 3))
    geometry.setAttribute('uv', new THREE.BufferAttribute(section.uvs, 2))
    geometry.setIndex(section.indices)
    const mesh = new THREE.Mesh(geometry, this.material)
    mesh.position.set(section.sx, section.sy, section.sz)
    this.scene.add(mesh)
    return mesh
  }

  forget () {
    for (const [key, mesh] of this.meshes) {
      if (mesh && mesh.visible) continue
      if (mesh) {
        this.scene.remove(mesh)
        mesh.geometry.dispose()
      }
      this.meshes.delete(key)
    }
  }
}

function byPlace (a, b) {
  return a.x - b.x || a.y - b.y || a.z - b.z
}

// As three asks for one.
function context (width, height) {
  let create
  try {
    create = require('gl')
  } catch (error) {
    const why = String(error.message).replace(/\s+/g, ' ').slice(0, 300)
    throw new Refusal('not-compiled', `gl does not load: ${why}`, 'run `worldgauge minecraft install --viewer` again')
  }
  const gl = create(width, height, { alpha: false, depth: true, stencil: true })
  if (!gl) throw new Refusal('no-gl', 'no OpenGL on a display without a screen', 'Debian: apt install libgl1-mesa-dri')
  return gl
}

// A display without a screen, on a free number. It ends with its last client, so also where this process is killed.
function startDisplay () {
  return new Promise((resolve, reject) => {
    const options = ['-displayfd', '3', '-screen', '0', '64x64x24', '-nolisten', 'tcp', '-terminate']
    const xvfb = spawn('Xvfb', options, { stdio: ['ignore', 'ignore', 'inherit', 'pipe'] })
    const fail = (why, hint) => reject(new Refusal('no-xvfb', `Xvfb ${why}`, hint))
    xvfb.once('error', error => fail(`does not start: ${error.code}`, 'Debian: apt install xvfb'))
    xvfb.once('exit', code => fail(`ended with code ${code} before it had a display`))
    xvfb.stdio[3].once('data', number => {
      process.env.DISPLAY = `:${String(number).trim()}`
      process.env.LIBGL_ALWAYS_SOFTWARE = '1'
      resolve(xvfb)
    })
  })
}

async function close () {
  if (!display || display.exitCode !== null || display.signalCode !== null) return
  const ended = new Promise(resolve => display.once('exit', resolve))
  display.kill()
  await ended
}

module.exports = { ops, close }
