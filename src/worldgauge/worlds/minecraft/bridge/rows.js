'use strict'

// Actions and states of many ticks as bytes: rows of float64, so that nothing is rounded on the way.

const { Refusal } = require('./refusal')

const KEYS = ['forward', 'back', 'left', 'right', 'jump', 'sprint', 'sneak']
const WIDTH = KEYS.length + 2 // and the turn, left and up
const MOST_TICKS = 1 << 20

// [{keys: seven booleans in the order of KEYS, turn, up}] of rows of nine numbers; turns in radians.
function actionsOf (data) {
  const numbers = new Float64Array(Math.floor(data.length / 8))
  Buffer.from(numbers.buffer).set(data.subarray(0, numbers.length * 8))
  if (data.length % (8 * WIDTH) || numbers.length > WIDTH * MOST_TICKS || !numbers.every(Number.isFinite)) {
    throw new Refusal('bad-actions', `actions are rows of ${WIDTH} finite numbers, at most ${MOST_TICKS}`)
  }
  return Array.from({ length: numbers.length / WIDTH }, (_, at) => {
    const [turn, up] = numbers.subarray(at * WIDTH + KEYS.length, (at + 1) * WIDTH)
    return { keys: KEYS.map((_, key) => numbers[at * WIDTH + key] > 0), turn, up }
  })
}

// The answer that holds rows of equal length.
function rowsOf (list) {
  return { rows: list.length, bytes: Buffer.from(Float64Array.from(list.flat()).buffer) }
}

module.exports = { KEYS, MOST_TICKS, actionsOf, rowsOf }
