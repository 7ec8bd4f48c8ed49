'use strict'

// The game's physics and planner without a server: a body in the cells of a grid. One call of tick() is 50 ms.

const { EventEmitter } = require('events')
const { Vec3 } = require('vec3')
const { Physics, PlayerState } = require('prismarine-physics')
const grids = require('./grid')
const { Refusal } = require('./refusal')
const { KEYS, MOST_TICKS, actionsOf, rowsOf } = require('./rows')
const { Tour, row, turned, still, COLUMNS } = require('./walker')

rememberTables()

const MOST_KNOWN = 1 << 17
let body = null

const ops = {
  open: ({ version = '1.16.5' }, data) => {
    body = new Body(version, grids.read(data))
    return { keys: KEYS, columns: COLUMNS }
  },
  place: args => {
    opened().place(args)
    return rowsOf([row(body, still(), 0)])
  },
  step: (_, data) => rowsOf(opened().step(actionsOf(data))),
  walk: ({ goals, turn, ticks }) => {
    const tour = new Tour(opened(), goals, { turn })
    const walked = []
    while (tour.status === 'walking' && walked.length < Math.min(ticks, MOST_TICKS)) {
      body.tick()
      const { leg } = tour
      walked.push(row(body, tour.tick(), leg))
    }
    body.clearControlStates()
    return { status: tour.status, leg: tour.leg, ...rowsOf(walked) }
  }
}

// What the physics and the planner ask of a bot, and no more.
class Body extends EventEmitter {
  constructor (version, grid) {
    super()
    this.version = version
    this.registry = require('prismarine-registry')(version)
    this.blockAt = blocks(this.registry, grid)
    this.physics = Physics(this.registry, { getBlock: this.blockAt })
    this.game = { minY: this.registry.version['>=']('1.18') ? -64 : 0 }
    this.inventory = { slots: [], items: () => [] }
    this.entities = {}
    this.controlState = Object.fromEntries(KEYS.map(key => [key, false]))
    this.place({ position: [grid.origin[0] + 0.5, grid.origin[1] + grid.size[1], grid.origin[2] + 0.5], onGround: false })
  }

  place ({ position, yaw = 0, pitch = 0, onGround = true }) {
    // At rest on the ground: gravity of one tick has pulled and the ground has held.
    const pulled = onGround ? -this.physics.gravity * this.physics.airdrag : 0
    const numbers = [position, [0, pulled, 0], [yaw, pitch, 0]]
    if (!numbers.every(list => Array.isArray(list) && list.length === 3 && list.every(Number.isFinite))) {
      throw new Refusal('bad-place', 'a body needs a position x, y, z, a yaw and a pitch, all finite')
    }
    this.entity = { position: new Vec3(...numbers[0]), velocity: new Vec3(...numbers[1]), yaw, pitch, onGround, effects: {} }
    Object.assign(this.entity, { isInWater: false, isInLava: false, isInWeb: false, elytraFlying: false })
    this.jumpTicks = this.fireworkRocketDuration = 0
    this.jumpQueued = false
    this.clearControlStates()
  }

  // The keys of each action move the body along the heading it had, then the view turns.
  step (actions) {
    return actions.map(action => {
      action.keys.forEach((held, i) => this.setControlState(KEYS[i], held))
      this.tick()
      return turned(this, action)
    })
  }

  tick () {
    this.physics.simulatePlayer(new PlayerState(this, this.controlState), { getBlock: this.blockAt }).apply(this)
    this.emit('physicsTick')
  }

  setControlState (key, held) {
    if (key === 'jump' && held && !this.controlState.jump) this.jumpQueued = true
    this.controlState[key] = held
  }

  clearControlStates () {
    for (const key of KEYS) this.setControlState(key, false)
  }
}

// Cells of a grid as the libraries want them. Beyond its sides and its floor all is barrier, as the embedded world has
// it; above it is air. A cell asked for again is the same object: the planner writes into it, but only what follows
// from block and place.
function blocks (registry, { origin, size, palette, index }) {
  const Block = require('prismarine-block')(registry)
  const ids = palette.map(text => grids.stateId(registry, text))
  const air = registry.blocksByName.air.defaultState
  const barrier = registry.blocksByName.barrier.defaultState
  const [ox, oy, oz] = origin
  const [sx, sy, sz] = size
  const known = new Map()
  return point => {
    const x = Math.floor(point.x) - ox
    const y = Math.floor(point.y) - oy
    const z = Math.floor(point.z) - oz
    const outside = x < 0 || x >= sx || z < 0 || z >= sz || y < 0
    const inside = !outside && y < sy
    const cell = x + sx * (z + sz * y)
    const seen = inside && known.get(cell)
    if (seen) return seen
    const block = Block.fromStateId(outside ? barrier : inside ? ids[index[cell]] : air, 0)
    block.position = new Vec3(x + ox, y + oy, z + oz)
    if (known.size === MOST_KNOWN) known.clear()
    if (inside) known.set(cell, block)
    return block
  }
}

// The physics asks for the game's tables anew in every tick, also in those it only thinks of, and the package works out
// the version each time: half of all the time of a walk.
function rememberTables () {
  const ask = require('minecraft-data')
  const entry = require.cache[require.resolve('minecraft-data')]
  const known = new Map()
  entry.exports = Object.assign((version, ...rest) => {
    if (rest.length) return ask(version, ...rest)
    if (!known.has(version)) known.set(version, ask(version))
    return known.get(version)
  }, ask)
}

function opened () {
  if (!body) throw new Refusal('not-open', 'no world: offline.open comes first')
  return body
}

module.exports = { ops }
