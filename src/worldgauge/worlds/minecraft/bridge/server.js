'use strict'

// A server of ours in this process, filled with the cells of a grid file.

const path = require('path')
const { createMCServer } = require('flying-squid')
const { level } = require('prismarine-provider-anvil')
const { Vec3 } = require('vec3')
const commands = require('./commands')
const grids = require('./grid')
const { Refusal } = require('./refusal')

const READY_MS = 10000
const MOST_VIEW = 16
const LEAST_VIEW = 4
const SAVED_VIEW = 8
const SUPERFLAT_TOP = 5
const DRAWN = 1 // the server draws a seed in place of 0; no generator of ours asks for it

let server = null

// spawn: x, y, z of the feet of whoever joins. world: folder of a saved world. seed: what /seed answers; a saved world has
// its own. generator: path of a module, for tests.
async function open ({ version, port = 0, spawn, world, seed = 0, generator }, bytes) {
  if (server) throw new Refusal('already-open', 'a server is open already')
  const grid = bytes.length ? grids.read(bytes) : null
  const registry = require('prismarine-registry')(version)
  if (!registry) throw new Refusal('unknown-version', `no data of version ${version}`)
  if (grid) grids.generator(grid, registry) // refuses unknown blocks and heights before anything listens
  const generation = generator
    ? { name: generator, options: {} }
    : grid ? { name: path.join(__dirname, 'generation.js'), options: { grid } } : { name: 'superflat', options: {} }
  const seen = world ? SAVED_VIEW : view(grid)
  const kept = world && await saved(world)
  const start = spawn || (kept ? kept.spawn : middle(grid))
  const told = kept ? kept.seed : seed
  const serv = server = createMCServer({
    motd: 'worldgauge',
    host: '127.0.0.1',
    port,
    'max-players': 8,
    'online-mode': false,
    logging: false,
    gameMode: 1,
    difficulty: 0,
    generation: { ...generation, options: { ...generation.options, seed: DRAWN } },
    kickTimeout: 30000,
    plugins: {},
    modpe: false,
    'view-distance': seen,
    'player-list-text': { header: '', footer: '' },
    'everybody-op': true,
    'max-entities': 100,
    version,
    ...(world && { worldFolder: world })
  })
  serv.once('pluginsReady', () => prepare(serv, registry, start, told))
  try {
    await ready(serv)
  } catch (error) {
    await close()
    throw error
  }
  return { port: serv.listeningPort, version, view: seen }
}

function prepare (serv, registry, spawn, seed) {
  serv.heights = grids.heights(registry)
  commands.install(serv, { seed })
  // It looks for who is there already by this, which it sets too late: two of one name would take each other's commands.
  serv.on('newPlayer', player => { player.uuid = player._client.uuid })
  // Its own search starts at a random column and never ends in one without blocks.
  serv.getSpawnPoint = async () => new Vec3(...spawn)
  // Without a world on disk, a chunk that nobody sees would be made anew: what commands built there would be lost.
  for (const world of [serv.overworld, serv.netherworld]) world.unloadColumn = () => {}
}

// A plug-in or generator that throws is caught nowhere: main.js tells it and ends.
function ready (serv) {
  return new Promise((resolve, reject) => {
    const late = setTimeout(() => reject(new Refusal('not-ready', `not ready within ${READY_MS / 1000} s`)), READY_MS)
    serv.once('ready', () => {
      clearTimeout(late)
      resolve()
    })
    serv.once('error', error => {
      clearTimeout(late)
      reject(error.code === 'EADDRINUSE'
        ? new Refusal('port-in-use', `port ${error.port} is in use`, 'choose another, or 0 for any that is free')
        : new Refusal('not-ready', `the server does not start: ${error.message}`))
    })
  })
}

// Chunks each way, so that from anywhere within the cells all of them are seen.
function view (grid) {
  const widest = grid ? Math.ceil(Math.max(grid.size[0], grid.size[2]) / 16) : 0
  return Math.min(Math.max(widest + 1, LEAST_VIEW), MOST_VIEW)
}

// On the highest block in the middle of the cells.
function middle (grid) {
  if (!grid) return [0.5, SUPERFLAT_TOP, 0.5]
  const [x, z] = [grid.size[0] >> 1, grid.size[2] >> 1]
  let y = grid.size[1]
  while (y > 0 && grid.palette[grid.index[x + grid.size[0] * (z + grid.size[2] * (y - 1))]] === grids.AIR) y--
  return [grid.origin[0] + x + 0.5, grid.origin[1] + y, grid.origin[2] + z + 0.5]
}

async function saved (world) {
  const data = await level.readLevel(path.join(world, 'level.dat'))
  return { spawn: [data.SpawnX + 0.5, data.SpawnY, data.SpawnZ + 0.5], seed: whole(data) }
}

// As text, since a number of 64 bits is none of JavaScript's. From 1.16 on it stands among the settings of the generator.
function whole ({ RandomSeed, WorldGenSettings }) {
  const [high, low] = WorldGenSettings?.seed ?? RandomSeed ?? [0, 0]
  return String((BigInt(high) << 32n) | BigInt(low >>> 0))
}

async function close () {
  const serv = server
  server = null
  if (serv) await serv.destroy().catch(() => {})
  return {}
}

module.exports = { ops: { open, close }, close }
