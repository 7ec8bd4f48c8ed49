'use strict'

// Bots on a server: this process's own, or any whose address is given. Their bodies move only while a question that
// moves them is being answered, so that whoever asks decides every tick.

const mineflayer = require('mineflayer')
const { Vec3 } = require('vec3')
const { replyOf, plain, decimal } = require('./chat')
const grids = require('./grid')
const { Refusal } = require('./refusal')
const { KEYS, MOST_TICKS, actionsOf, rowsOf } = require('./rows')
const { Tour, row, turned, still } = require('./walker')

const JOIN_MS = 25000
const LOOK_MS = 10
const STAY_MS = 250
const RESEND_MS = 1000
const MOST_SENDS = 10
const TICK_MS = 5000
const SETTLE_TICKS = 3
const RIGHTS = /permission|unknown|not found/i // how servers answer who is no operator

const bots = new Map()

async function join ({ name, host = '127.0.0.1', port, version, view = 12 }) {
  if (bots.has(name) && !bots.get(name).gone) throw new Refusal('already-joined', `a bot '${name}' is there already`)
  const bot = mineflayer.createBot({
    host, port, username: name, auth: 'offline', version: version || false, viewDistance: view, logErrors: false, hideErrors: true
  })
  const one = { bot, name, gone: null, messages: [] }
  bots.set(name, one)
  const leaves = (kind, message) => { one.gone ??= new Refusal(kind, message) }
  bot.on('error', error => {
    console.error(error)
    if (!bot.entity) leaves('no-server', `'${name}' cannot join ${host}:${port}: ${error.message || error.code}`)
  })
  bot.on('kicked', reason => leaves('kicked', `'${name}' was kicked: ${plain(reason) || 'no reason given'}`))
  bot.on('end', reason => leaves('kicked', `'${name}' lost its server: ${plain(reason)}`))
  bot.on('message', (message, position, sender) => {
    const reply = replyOf(message, position, sender)
    if (reply) one.messages.push(reply)
  })
  let spawned = false
  bot.once('spawn', () => { spawned = true })
  try {
    await until(one, () => spawned && known(bot), JOIN_MS, () => new Refusal('no-join', `'${name}' was not let in within ${JOIN_MS / 1000} s`))
    bot.entity.yaw += 0.01 // a look that the server waits for before it sends the chunks farther off
    await sleep(STAY_MS)
    if (one.gone) throw one.gone
  } catch (error) {
    await leave({ name })
    throw error
  }
  bot.physicsEnabled = false
  return { version: bot.version, ...where(bot) }
}

async function leave ({ name }) {
  const one = bots.get(name)
  if (!one) return {}
  bots.delete(name)
  one.bot.end('left')
  return {}
}

// Send commands or chat; answers with the messages that came until there is one for each text, or silence for wait_ms.
async function say ({ name, texts, wait_ms: wait, spacing_ms: spacing = 0 }) {
  const one = find(name)
  one.messages.length = 0
  for (const text of texts) {
    one.bot.chat(text)
    if (spacing) await sleep(spacing)
  }
  let heard = 0
  for (let quiet = Date.now(); one.messages.length < texts.length && Date.now() - quiet < wait;) {
    if (one.gone) throw one.gone
    if (one.messages.length > heard) {
      heard = one.messages.length
      quiet = Date.now()
    }
    await sleep(LOOK_MS)
  }
  if (one.gone) throw one.gone
  return { messages: one.messages.splice(0) }
}

// To [x, y, z] of the feet; yaw and pitch in radians as the bot counts them. Done when it is there, the block there is
// known, and both have stayed so.
async function teleport ({ name, position, yaw, pitch, dimension }) {
  const one = find(name)
  const { bot } = one
  const target = new Vec3(...position)
  const turn = [yaw ?? bot.entity.yaw, pitch ?? bot.entity.pitch]
  const degrees = [wrapped(Math.PI - turn[0]), -turn[1]].map(angle => decimal(angle * 180 / Math.PI))
  const place = [...position.map(decimal), ...degrees].join(' ')
  const command = dimension ? `/execute in ${dimension} run tp ${name} ${place}` : `/tp ${name} ${place}`
  const near = () => ['x', 'y', 'z'].every(axis => Math.abs(bot.entity.position[axis] - target[axis]) <= 1) &&
    (!dimension || bot.game.dimension === dimension.replace(/^minecraft:/, '')) // the same place may be in both
  for (let sends = 0; sends < MOST_SENDS; sends++) {
    one.messages.length = 0
    bot.chat(command)
    let since = null
    for (const end = Date.now() + RESEND_MS; Date.now() < end || since !== null;) {
      if (one.gone) throw one.gone
      const refused = one.messages.find(message => message.failed)
      if (refused) throw new Refusal('not-allowed', `'${command}': ${refused.text}`, RIGHTS.test(refused.text) ? `is '${name}' an operator there?` : '')
      since = near() && known(bot) ? since ?? Date.now() : null
      if (since !== null && Date.now() - since >= STAY_MS) {
        bot.entity.position.update(target)
        Object.assign(bot.entity, { yaw: turn[0], pitch: turn[1] })
        try {
          await ticks(one, SETTLE_TICKS)
          return where(bot)
        } catch (error) {
          if (error.kind !== 'moved') throw error
          since = null
        }
      }
      await sleep(LOOK_MS)
    }
  }
  if (near()) throw unseen(bot, Math.floor(target.x) >> 4, Math.floor(target.z) >> 4)
  throw new Refusal('not-there', `after ${MOST_SENDS} teleports to ${target} the bot is at ${bot.entity.position}`)
}

// The cells of a box as a grid file, once all of its chunks are here.
async function read ({ name, origin, size, wait_ms: wait = 10000 }) {
  const one = find(name)
  const { bot } = one
  const count = grids.cellCount(size)
  const index = new Uint16Array(count)
  const palette = [grids.AIR]
  const places = new Map([[0, 0]])
  const [low, high] = [origin, origin.map((v, axis) => v + size[axis] - 1)]
  const columns = new Map()
  for (let x = low[0] >> 4; x <= high[0] >> 4; x++) {
    for (let z = low[2] >> 4; z <= high[2] >> 4; z++) {
      await until(one, () => bot.world.getColumn(x, z), wait, () => unseen(bot, x, z))
      columns.set(`${x},${z}`, bot.world.getColumn(x, z))
    }
  }
  const { minY, height } = bot.game
  const at = new Vec3(0, 0, 0)
  let cell = 0
  for (let y = low[1]; y <= high[1]; y++) {
    for (let z = low[2]; z <= high[2]; z++) {
      for (let x = low[0]; x <= high[0]; x++, cell++) {
        if (y < minY || y >= minY + height) continue
        const id = columns.get(`${x >> 4},${z >> 4}`).getBlockStateId(at.set(x & 15, y, z & 15))
        if (!places.has(id)) places.set(id, palette.push(grids.stateText(bot.registry, id)) - 1)
        index[cell] = places.get(id)
      }
    }
  }
  return { bytes: grids.write({ origin, size, palette, index }) }
}

// A row a tick for each of the actions in `data`, as offline.step takes and gives them.
async function step ({ name }, data) {
  const one = find(name)
  const { bot } = one
  const actions = actionsOf(data)
  const rows = []
  await ticks(one, actions.length, at => actions[at].keys.forEach((held, i) => bot.setControlState(KEYS[i], held)), at => {
    rows.push(turned(bot, actions[at]))
  })
  return rowsOf(rows)
}

// From goal to goal, as offline.walk does it, in real time.
async function walk ({ name, goals, turn, ticks: most }) {
  const one = find(name)
  const tour = new Tour(one.bot, goals, { turn })
  const rows = []
  await ticks(one, Math.min(most, MOST_TICKS), undefined, () => {
    const { leg } = tour
    rows.push(row(one.bot, tour.tick(), leg))
    return tour.status !== 'walking'
  })
  return { status: tour.status, leg: tour.leg, ...rowsOf(rows) }
}

// Each state as this version writes it in full.
function states ({ name, texts }) {
  const { registry } = find(name).bot
  return { texts: texts.map(text => grids.stateText(registry, grids.stateId(registry, text))) }
}

async function look ({ name }) {
  return where(find(name).bot)
}

// Let `count` ticks pass: before(i) chooses the keys of each, after(i) sees what became of it; a true ends the ticks.
function ticks (one, count, before = () => {}, after = () => {}) {
  const { bot } = one
  if (!count) return Promise.resolve()
  return new Promise((resolve, reject) => {
    let done = 0
    let late
    const stop = (act, value) => {
      bot.physicsEnabled = false
      bot.clearControlStates() // whatever ended the ticks: a key still held would act in those that a teleport waits for
      clearTimeout(late)
      bot.off('physicsTick', tick)
      bot.off('end', gone)
      bot.off('forcedMove', moved)
      act(value)
    }
    const gone = () => setImmediate(() => stop(reject, one.gone))
    const moved = () => stop(reject, new Refusal('moved', `the server put the bot at ${bot.entity.position}`, 'teleport it first'))
    const wait = () => {
      clearTimeout(late)
      late = setTimeout(() => stop(reject, unseen(bot, bot.entity.position.x >> 4, bot.entity.position.z >> 4)), TICK_MS)
    }
    const tick = () => {
      try {
        if (after(done++) || done === count) return stop(resolve)
        before(done)
        wait()
      } catch (error) {
        stop(reject, error)
      }
    }
    if (one.gone) return reject(one.gone)
    bot.on('physicsTick', tick)
    bot.once('end', gone)
    bot.once('forcedMove', moved)
    before(0)
    wait()
    bot.physicsEnabled = true
  })
}

// One row, as after a tick.
function where (bot) {
  return rowsOf([row(bot, still(), 0)])
}

function find (name) {
  const one = bots.get(name)
  if (!one) throw new Refusal('no-bot', `no bot '${name}' is on a server`, 'join again')
  if (one.gone) throw one.gone
  return one
}

// Never wait without an end: a body whose chunk never comes does not even tick.
async function until (one, check, limit, refusal) {
  for (const end = Date.now() + limit; !check();) {
    if (one.gone) throw one.gone
    if (Date.now() > end) throw refusal()
    await sleep(LOOK_MS)
  }
}

function known (bot) {
  return Boolean(bot.entity && bot.blockAt(bot.entity.position, false))
}

function unseen (bot, x, z) {
  const at = bot.entity.position.floored()
  return new Refusal('no-chunk', `chunk (${x}, ${z}) never came to the bot at ${at}`, 'ask for cells nearer to it')
}

function wrapped (angle) {
  return Math.atan2(Math.sin(angle), Math.cos(angle))
}

function sleep (ms) {
  return new Promise(resolve => setTimeout(resolve, ms))
}

function close () {
  for (const name of bots.keys()) leave({ name })
}

module.exports = { ops: { join, leave, say, teleport, place: teleport, read, states, step, walk, look }, close }
