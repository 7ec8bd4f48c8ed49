'use strict'

// What a server says in its chat, and what it can be told there.

const RED = /^[§&]c/
const CROWD = /(joined|left) the game/

// {text, failed: whether it tells of a failure} of a message; null for one that answers nobody.
function replyOf (message) {
  const text = message.toString()
  return CROWD.test(text) ? null : { text: text.replace(RED, ''), failed: failed(message) }
}

// Ours and the JavaScript server's own failures are red, the game's have a key of their own.
function failed (message) {
  const key = message.json?.translate || ''
  return /^(command|argument|parsing)\./.test(key) || /\.failed/.test(key) || RED.test(message.toMotd())
}

// The words of a reason, which is text, JSON or JSON with types, by version.
function plain (reason) {
  let told = reason
  try {
    if (typeof reason === 'string') told = JSON.parse(reason)
  } catch {} // text, then
  if (told === null || typeof told !== 'object') return String(told)
  const words = told.text ?? told.translate ?? told.value
  return words === undefined ? JSON.stringify(told) : plain(words)
}

// The game reads no exponents, and takes a whole number for the middle of a block.
function decimal (value) {
  const text = String(value)
  return /e/.test(text) ? value.toFixed(20) : /\./.test(text) ? text : `${text}.0`
}

module.exports = { replyOf, plain, decimal }
