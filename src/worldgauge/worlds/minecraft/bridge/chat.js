'use strict'

// What a server says in its chat, and what it can be told there.

const RED = /^[§&]c/
const CROWD = /^<[^>]+> |(joined|left) the game/
// Keys of what the game says unasked: chat, also of other operators' commands, whispers, and what becomes of players.
const UNASKED = /^(chat\.type\.|multiplayer\.|death\.|sleep\.|gameMode\.|commands\.message\.display\.incoming$)/
const NOBODY = '00000000-0000-0000-0000-000000000000' // says the JavaScript server's replies, which 1.16.5 takes for chat
// Words of the game that the packages lack for 1.16.5, with which it tells of its seed.
const WORDS = { 'chat.square_brackets': '[%s]' }

// {text, failed: whether it tells of a failure} of a message; null for one that answers nobody.
// position: 'chat', 'system' or 'game_info', as Mineflayer has it: from 1.19 on chat comes without its key.
function replyOf (message, position, sender) {
  give(message)
  const text = message.toString()
  const spoken = position === 'game_info' || (position === 'chat' && sender !== NOBODY)
  if (spoken || UNASKED.test(message.json?.translate ?? '') || CROWD.test(text)) return null
  return { text: text.replace(RED, ''), failed: failed(message) }
}

// A message with the words that the packages lack, wherever in it they are needed.
function give (message) {
  message.fallback ??= WORDS[message.translate]
  for (const part of [...(message.with ?? []), ...(message.extra ?? [])]) give(part)
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
