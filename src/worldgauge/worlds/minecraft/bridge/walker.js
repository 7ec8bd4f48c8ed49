'use strict'

// Walks a body from goal to goal with one action at a time: while the view turns no key is held.
// The path and the question whether a jump is needed are the pathfinder plug-in's; the controls are ours, because its
// own turn the view while walking and move the body to the middle of the block when it arrives.

const { pathfinder, Movements, goals: { GoalBlock, GoalNearXZ } } = require('mineflayer-pathfinder')
const LookAhead = require('mineflayer-pathfinder/lib/physics')
const { Refusal } = require('./refusal')

const NODE_REACH = 0.25
const NODE_HEIGHT = 1
const TURN_DONE = 0.01
const TURN_QUANTUM = 0.15 * Math.PI / 180 // the game's mouse step
const MOST_TURN = 0.15
const MAX_PITCH = Math.PI / 2
const STUCK_TICKS = 70
const MOST_REPLANS = 5
const SEARCH_RADIUS = 100 // of path cost beyond the estimate: bounds a search by count, not by clock
const EDGE_COST = 0.3
const COLUMNS = ['x', 'y', 'z', 'vx', 'vy', 'vz', 'yaw', 'pitch', 'onGround', 'inWater', 'jumpTicks', 'forward', 'jump', 'turn', 'leg']

// The moves of the published walks: nothing is dug or placed, and no diagonal brushes past a block.
class Moves extends Movements {
  constructor (bot) {
    super(bot)
    this.canDig = this.allow1by1towers = this.allowParkour = this.allowSprinting = false
    this.allowEntityDetection = false
    this.scafoldingBlocks = []
  }

  getMoveDiagonal (node, way, neighbors) {
    if (this.getBlock(node, way.x, 0, 0).physical || this.getBlock(node, 0, 0, way.z).physical) return
    const found = []
    super.getMoveDiagonal(node, way, found)
    for (const move of found) move.cost += EDGE_COST
    neighbors.push(...found)
  }
}

// Gives a bot the planner. Its clocks are off, so that a slow machine plans the same path.
function attach (bot) {
  if (!bot.pathfinder) pathfinder(bot)
  bot.pathfinder.moves ??= new Moves(bot) // once a bot: it looks at every block that the game has
  bot.pathfinder.tickTimeout = bot.pathfinder.thinkTimeout = Infinity
  bot.pathfinder.searchRadius = SEARCH_RADIUS
}

// Of {x, y, z} or {x, z, rangeSq}, cells of the game.
function goalOf ({ x, y, z, rangeSq }) {
  const wanted = rangeSq === undefined ? [x, y, z] : [x, z, rangeSq]
  if (!wanted.every(Number.isFinite) || rangeSq < 0) throw new Refusal('bad-goal', 'a goal is {x, y, z} or {x, z, rangeSq}')
  return rangeSq === undefined ? new GoalBlock(x, y, z) : new GoalNearXZ(x, z, Math.sqrt(rangeSq))
}

// Goals in turn. Call tick() in every physicsTick, after the body has moved, until status is no longer 'walking'.
class Tour {
  constructor (bot, goals, { turn = 0.1 } = {}) {
    if (!(turn > TURN_DONE && turn <= MOST_TURN)) throw new Refusal('bad-turn', `a turn of ${turn} rad a tick`)
    attach(bot)
    this.bot = bot
    this.ahead = new LookAhead(bot)
    this.turn = turn
    this.goals = goals
    this.leg = 0
    this.path = null
    this.turning = false
    this.waited = this.replans = 0
    this.status = goals.length ? 'walking' : 'arrived'
  }

  // Decides what the next tick does: a turn, which shows at once, or keys. Returns {forward, jump, turn}.
  tick () {
    const control = this.status === 'walking' ? this.decide() : still()
    this.bot.setControlState('forward', control.forward)
    this.bot.setControlState('jump', control.jump)
    this.bot.entity.yaw += control.turn
    return control
  }

  decide () {
    const { entity } = this.bot
    const held = entity.onGround || entity.isInWater
    if (this.path === null && !(held && this.replan())) return still()
    this.waited++
    while (this.path.length && this.reached(this.path[0])) {
      this.path.shift()
      this.waited = this.replans = 0
    }
    if (!this.path.length) return this.arrive()
    if (this.waited > STUCK_TICKS) {
      this.path = null
      if (++this.replans > MOST_REPLANS) this.status = 'stuck'
      return still()
    }
    const error = this.headingError(this.path[0])
    if (!held) return { ...still(), forward: Math.abs(error) < Math.PI / 2 }
    const turn = this.towards(error)
    const turns = Math.abs(turn) >= TURN_DONE
    // The rest of a turn, too small to count as one, comes with the first step.
    const rest = this.turning ? turn : 0
    this.turning = turns
    if (turns) return { ...still(), turn }
    if (entity.isInWater) return { forward: true, jump: true, turn: rest }
    if (this.ahead.canStraightLine(this.path)) return { forward: true, jump: false, turn: rest }
    const jump = this.ahead.canWalkJump(this.path)
    return { forward: jump, jump, turn: rest }
  }

  // Whole mouse steps towards the heading, as many as one tick allows.
  towards (error) {
    const turn = Math.round(Math.abs(error) / TURN_QUANTUM) * TURN_QUANTUM
    return Math.sign(error) * Math.min(turn, this.turn)
  }

  replan () {
    const { pathfinder } = this.bot
    const { status, path } = pathfinder.getPathTo(pathfinder.moves, goalOf(this.goals[this.leg]))
    if (status !== 'success') this.status = 'no-path'
    else this.path = path
    this.waited = 0
    return status === 'success'
  }

  arrive () {
    this.path = null
    if (++this.leg === this.goals.length) this.status = 'arrived'
    return still()
  }

  reached (node) {
    const { x, y, z } = this.bot.entity.position
    return Math.abs(node.x - x) <= NODE_REACH && Math.abs(node.z - z) <= NODE_REACH && Math.abs(node.y - y) < NODE_HEIGHT
  }

  headingError (node) {
    const { position, yaw } = this.bot.entity
    const error = (Math.atan2(position.x - node.x, position.z - node.z) - yaw) % (2 * Math.PI)
    return error > Math.PI ? error - 2 * Math.PI : error < -Math.PI ? error + 2 * Math.PI : error
  }
}

// What a tick of given keys ends with: the view turns, left and up. The row of it.
function turned (bot, { turn, up }) {
  const { entity, controlState: { forward, jump } } = bot
  entity.yaw += turn
  entity.pitch = Math.min(Math.max(entity.pitch + up, -MAX_PITCH), MAX_PITCH)
  return row(bot, { forward, jump, turn }, 0)
}

function still () {
  return { forward: false, jump: false, turn: 0 }
}

// One row of COLUMNS: the body after a tick, what was decided then, and which goal it walks to.
function row ({ entity, jumpTicks }, control, leg) {
  const { position: p, velocity: v } = entity
  const body = [p.x, p.y, p.z, v.x, v.y, v.z, entity.yaw, entity.pitch, +entity.onGround, +!!entity.isInWater, jumpTicks]
  return [...body, +control.forward, +control.jump, control.turn, leg]
}

module.exports = { Tour, row, turned, still, COLUMNS }
