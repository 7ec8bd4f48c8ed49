'use strict'

// The server loads its generator by a path; the grid comes in the options.

const { generator } = require('./grid')

module.exports = ({ grid, registry }) => generator(grid, registry)
