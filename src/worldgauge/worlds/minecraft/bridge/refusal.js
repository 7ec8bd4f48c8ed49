'use strict'

// An error that is told to the user: kind names it for programs, hint says what to do.
class Refusal extends Error {
  constructor (kind, message, hint) {
    super(message)
    this.kind = kind
    this.hint = hint
  }
}

module.exports = { Refusal }
