'use strict'

// Cells as Python writes them: one JSON line, then little-endian uint16 palette indices, x fastest, then z, then y.

const { Refusal } = require('./refusal')

const MOST_CELLS = 1 << 27
const MOST_STATES = 1 << 16
const AIR = 'minecraft:air'
const WALL = 2

// {origin, size, palette, index} of a grid file; index is a Uint16Array.
function read (bytes) {
  const end = bytes.indexOf(10)
  if (end < 0) throw new Refusal('bad-grid', 'a grid file without its first line')
  const { format, version, origin, size, palette } = JSON.parse(bytes.toString('utf8', 0, end))
  if (format !== 'worldgauge-grid' || version !== 1) throw new Refusal('bad-grid', 'not a worldgauge-grid, version 1')
  const whole = list => Array.isArray(list) && list.length === 3 && list.every(Number.isSafeInteger)
  if (!whole(origin) || !whole(size) || size.some(n => n < 1)) throw new Refusal('bad-grid', `a grid of size ${size}`)
  const count = cellCount(size)
  if (!Array.isArray(palette) || palette.length > MOST_STATES) throw new Refusal('bad-grid', 'a grid without palette')
  if (bytes.length - end - 1 !== 2 * count) throw new Refusal('bad-grid', `a grid of ${size} needs ${2 * count} bytes`)
  const index = new Uint16Array(count)
  Buffer.from(index.buffer).set(bytes.subarray(end + 1)) // little-endian machines only, as all that Node runs on
  if (index.some(i => i >= palette.length)) throw new Refusal('bad-grid', 'a cell beyond the palette')
  return { origin, size, palette, index }
}

// The grid file of {origin, size, palette, index}.
function write ({ origin, size, palette, index }) {
  const header = JSON.stringify({ format: 'worldgauge-grid', version: 1, origin, size, palette })
  return Buffer.concat([Buffer.from(header + '\n'), Buffer.from(index.buffer, index.byteOffset, index.byteLength)])
}

function cellCount (size) {
  const count = size[0] * size[1] * size[2]
  if (!(count <= MOST_CELLS)) throw new Refusal('too-large', `${size.join(' x ')} cells are more than ${MOST_CELLS}`)
  return count
}

// The number of 'minecraft:name[key=value,...]' in this version; keys that are not given are those of the default state.
function stateId (registry, text) {
  const match = /^(?:minecraft:)?([a-z0-9_]+)(?:\[([^\]]*)\])?$/.exec(text)
  const block = match && Object.hasOwn(registry.blocksByName, match[1]) && registry.blocksByName[match[1]]
  if (!block) throw new Refusal('unknown-block', `no block '${text}' in ${registry.version.minecraftVersion}`)
  const given = new Map((match[2] || '').split(',').filter(Boolean).map(pair => pair.split('=')))
  let id = block.minStateId
  let weight = block.maxStateId - block.minStateId + 1
  let rest = block.defaultState - block.minStateId
  for (const property of block.states) {
    const names = valueNames(property)
    weight /= names.length
    const usual = Math.floor(rest / weight)
    rest %= weight
    const value = given.has(property.name) ? names.indexOf(given.get(property.name)) : usual
    if (value < 0) throw new Refusal('unknown-block', `'${text}': ${property.name} is one of ${names.join(', ')}`)
    given.delete(property.name)
    id += value * weight
  }
  if (given.size) throw new Refusal('unknown-block', `'${text}': ${block.name} has no ${[...given.keys()].join(', ')}`)
  return id
}

// 'minecraft:name[key=value,...]' of a state number, keys sorted.
function stateText (registry, id) {
  const block = registry.blocksByStateId[id]
  if (!block) return AIR
  let rest = id - block.minStateId
  let weight = block.maxStateId - block.minStateId + 1
  const pairs = block.states.map(property => {
    const names = valueNames(property)
    weight /= names.length
    const value = names[Math.floor(rest / weight)]
    rest %= weight
    return `${property.name}=${value}`
  })
  return `minecraft:${block.name}` + (pairs.length ? `[${pairs.sort().join(',')}]` : '')
}

function valueNames (property) {
  if (property.type === 'bool') return ['true', 'false']
  return property.values || Array.from({ length: property.num_values }, (_, value) => String(value))
}

// (chunkX, chunkZ) => chunk, for the server. Around the cells stands a wall, below and beyond them lies a floor, both of
// barrier: nobody who walks can leave, as in the world without a server, and no chunk is empty, which clients lament.
function generator (grid, registry) {
  const { Vec3 } = require('vec3')
  const Chunk = require('prismarine-chunk')(registry)
  const ids = grid.palette.map(text => stateId(registry, text))
  const barrier = registry.blocksByName.barrier.defaultState
  const [ox, oy, oz] = grid.origin
  const [sx, sy, sz] = grid.size
  const { minY, height } = heights(registry)
  if (oy < minY || oy + sy > minY + height) {
    throw new Refusal('bad-grid', `heights ${oy} to ${oy + sy - 1} are not within ${minY} to ${minY + height - 1}`)
  }
  const floor = Math.max(oy - 1, minY)
  const near = (at, length, margin) => at >= -margin && at < length + margin
  const cell = new Vec3(0, 0, 0)
  return (chunkX, chunkZ) => {
    const chunk = new Chunk()
    for (let x = 0; x < 16; x++) {
      for (let z = 0; z < 16; z++) {
        const gx = chunkX * 16 + x - ox
        const gz = chunkZ * 16 + z - oz
        const inside = near(gx, sx, 0) && near(gz, sz, 0)
        const wall = near(gx, sx, WALL) && near(gz, sz, WALL)
        if (!inside || floor < oy) chunk.setBlockStateId(cell.set(x, floor, z), barrier)
        for (let y = 0; y < (wall ? sy : 0); y++) {
          const id = inside ? ids[grid.index[gx + sx * (gz + sz * y)]] : barrier
          if (id !== 0) chunk.setBlockStateId(cell.set(x, oy + y, z), id)
        }
      }
    }
    return chunk
  }
}

// Lowest cell of a version's world, and how many there are above it.
function heights (registry) {
  const chunk = new (require('prismarine-chunk')(registry))()
  return { minY: chunk.minY || 0, height: chunk.worldHeight || 256 }
}

module.exports = { read, write, cellCount, stateId, stateText, generator, heights, AIR }
