'use strict'

// The game's commands that the server lacks or gets wrong. They run one after the other, whoever sent them, and each
// answers with one message; what cannot be done is an error message and the server lives.

const { Vec3 } = require('vec3')
const { UserError } = require('flying-squid')
const { stateId } = require('./grid')

const MOST_FILLED = 32768
const MOST_SENT_SINGLY = 256
const FARTHEST = 3e7
const OVERWORLD = 'minecraft:overworld'
const MODES = ['survival', 'creative', 'adventure', 'spectator']

// seed: what /seed answers.
function install (serv, { seed }) {
  let last = Promise.resolve()
  const add = (base, usage, action, aliases = []) => {
    const run = async (words, context) => {
      const said = await action(words, context)
      if (context.player) context.player.chat(said)
      else serv.info(said)
    }
    serv.commands.add({
      base,
      aliases,
      usage: `/${base} ${usage}`,
      info: usage,
      op: true,
      parse: text => ({ words: text.trim().split(/\s+/).filter(Boolean) }),
      action: ({ words }, context) => {
        const turn = last.then(() => told(run(words, context)))
        last = turn.catch(() => {})
        return turn
      }
    })
  }

  add('tp', '[who] <x y z> [yaw pitch]', teleport, ['teleport'])
  add('setblock', '<x y z> <block[states]>', setblock)
  add('fill', '<x y z> <x y z> <block[states]>', fill)
  add('gamemode', `<${MODES.join('|')}> [who]`, gamemode)
  add('seed', '', () => `Seed: [${seed}]`)
  add('kill', '[who]', () => 'Nothing to kill')
  // Nothing of ours sends these two: the published collectors do, and a server of ours takes them too.
  add('gamerule', '<rule> <value>', words => `Gamerule ${words.join(' ')} is accepted and has no effect`)
  add('setworldspawn', '[x y z]', setworldspawn)
  // Not through `add`: what it runs takes a turn of its own.
  serv.commands.add({
    base: 'execute',
    usage: '/execute [in <dimension>] run <command>',
    info: 'run a command',
    op: true,
    action: (text, context) => {
      const match = /^(?:in (\S+) )?run \/?(.+)$/.exec(text.trim())
      if (!match) throw new UserError('Usage: /execute [in <dimension>] run <command>')
      const dimension = (match[1] || OVERWORLD).replace(/^(?!minecraft:)/, 'minecraft:')
      if (dimension !== OVERWORLD) throw new UserError(`This server has no ${dimension}, only ${OVERWORLD}`)
      return serv.commands.use(match[2], context, context.player ? context.player.op : true)
    }
  })

  async function teleport (words, { player }) {
    const named = words.length === 4 || words.length === 6
    if (![3, 4, 5, 6].includes(words.length)) throw new UserError('Usage: /tp [who] <x y z> [yaw pitch]')
    const who = named ? players(words[0], player) : players('@s', player)
    const [x, y, z, yaw, pitch] = named ? words.slice(1) : words
    // As in the game: a whole number means the middle of that block.
    const middle = word => /^[-+]?\d+$/.test(word) ? String(Number(word) + 0.5) : word
    for (const one of who) {
      const to = place([middle(x), y, middle(z)], one.position)
      if (yaw !== undefined) {
        one.yaw = number(yaw, 0)
        one.pitch = number(pitch, 0)
      }
      await one.sendPosition(to, false, true)
      one.sendSelfPosition(to)
      // The server sends the centre only when somebody walks there, and a client drops chunks far from its centre.
      if (serv.supportFeature('updateViewPosition')) {
        one._client.write('update_view_position', { chunkX: Math.floor(to.x / 16), chunkZ: Math.floor(to.z / 16) })
      }
      one.worldSendRestOfChunks()
    }
    return `Teleported ${who.map(one => one.username).join(', ')}`
  }

  async function setblock (words, { player }) {
    if (words.length !== 4) throw new UserError('Usage: /setblock <x y z> <block[states]>')
    await change(cell(words.slice(0, 3), player), cell(words.slice(0, 3), player), words[3], player)
    return 'Changed the block'
  }

  async function fill (words, { player }) {
    if (words.length !== 7) throw new UserError('Usage: /fill <x y z> <x y z> <block[states]>')
    const a = cell(words.slice(0, 3), player)
    const b = cell(words.slice(3, 6), player)
    return `Filled ${await change(a.min(b), a.max(b), words[6], player)} blocks`
  }

  function gamemode (words, { player }) {
    const mode = MODES.indexOf(words[0])
    if (mode < 0 || words.length > 2) throw new UserError(`Usage: /gamemode <${MODES.join('|')}> [who]`)
    const who = players(words[1] || '@s', player)
    who.forEach(one => one.setGameMode(mode))
    return `Set the game mode of ${who.map(one => one.username).join(', ')} to ${words[0]}`
  }

  function setworldspawn (words, { player }) {
    const spot = place(words.length ? words : ['~', '~', '~'], origin(player))
    serv.getSpawnPoint = async () => spot.clone()
    return `Set the spawn to ${spot}`
  }

  async function change (low, high, text, player) {
    const id = stateId(serv.registry, text)
    const size = high.minus(low).offset(1, 1, 1)
    const count = size.x * size.y * size.z
    if (!(count <= MOST_FILLED)) throw new UserError(`Too many blocks: ${count}, at most ${MOST_FILLED}`)
    const world = player ? player.world : serv.overworld
    const near = serv.players.filter(one => one.world === world)
    const touched = new Map()
    for (let x = low.x >> 4; x <= high.x >> 4; x++) {
      for (let z = low.z >> 4; z <= high.z >> 4; z++) touched.set(`${x},${z}`, await world.getColumn(x, z))
    }
    const at = new Vec3(0, 0, 0)
    for (let y = low.y; y <= high.y; y++) {
      for (let z = low.z; z <= high.z; z++) {
        for (let x = low.x; x <= high.x; x++) {
          touched.get(`${x >> 4},${z >> 4}`).setBlockStateId(at.set(x & 15, y, z & 15), id)
          if (count <= MOST_SENT_SINGLY) near.forEach(one => one.sendBlock(new Vec3(x, y, z), id))
        }
      }
    }
    if (count > MOST_SENT_SINGLY) {
      for (const [key, column] of touched) {
        const [x, z] = key.split(',').map(Number)
        near.filter(one => one.loadedChunks[key]).forEach(one => one.sendChunk(x, z, column))
      }
    }
    return count
  }

  function players (who, player) {
    const selves = { '@s': [player], '@p': [player || serv.players[0]], '@a': serv.players }
    const found = (Object.hasOwn(selves, who) ? selves[who] : [serv.getPlayer(who)]).filter(Boolean)
    if (!found.length) throw new UserError(`No player '${who}'`)
    return found
  }

  function cell (words, player) {
    const at = place(words, origin(player)).floored()
    const { minY, height } = serv.heights
    if (at.y < minY || at.y >= minY + height) throw new UserError(`That position is out of this world: ${at}`)
    return at
  }
}

function origin (player) {
  return player ? player.position : new Vec3(0, 0, 0)
}

function place (words, from) {
  const at = new Vec3(number(words[0], from.x), number(words[1], from.y), number(words[2], from.z))
  if ([at.x, at.y, at.z].some(v => Math.abs(v) > FARTHEST)) throw new UserError(`That position is too far: ${at}`)
  return at
}

function number (word, from) {
  if (!/^(~|~?[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?)$/i.test(word)) throw new UserError(`'${word}' is no number`)
  return word[0] === '~' ? from + Number(word.slice(1)) : Number(word)
}

// Refusals of ours as the server's own: it sends those to whoever asked, and throws all others.
async function told (work) {
  try {
    return await work
  } catch (error) {
    throw error.kind ? new UserError(error.message) : error
  }
}

module.exports = { install }
