'use strict'

// Answers one question at a time on stdin and stdout: one JSON object a line, bytes right after the line that
// announces them. The end of stdin ends the process, and with it its server and its bots.

const fs = require('fs')
const path = require('path')
const { PassThrough } = require('stream')
const { Refusal } = require('./refusal')

const PROTOCOL = 1
const MOST_LINE_BYTES = 64 << 20
const MOST_DATA_BYTES = 1 << 30
const GRACE_MS = 1000
const FAMILIES = ['server', 'bot', 'offline', 'viewer']

// The folder of the package.json whose packages are to be there: this one, or that of the viewer.
const MANIFEST = path.join(__dirname, process.argv[2] || '', 'package.json')

// The libraries print to stdout and read commands from stdin: they get others.
const input = process.stdin
const output = process.stdout
Object.defineProperty(process, 'stdout', { value: process.stderr })
Object.defineProperty(process, 'stdin', { value: new PassThrough() })
console.log = console.info = console.debug = console.error

const loaded = new Map()
let asked = null

async function main () {
  send({ hello: { protocol: PROTOCOL, node: process.versions.node, packages: versions() } })
  const source = new Source(input)
  for (let line; (line = await source.line()) !== null;) {
    const question = JSON.parse(line)
    const data = await source.take(question.bytes || 0)
    asked = question.id
    await answer(question, data)
    asked = null
  }
  await end()
}

async function answer ({ id, op, ...args }, data) {
  try {
    const { bytes, ...result } = await verb(op)(args, data) || {}
    send({ id, ok: result, ...(bytes && { bytes: bytes.length }) }, bytes)
  } catch (error) {
    if (!(error instanceof Refusal)) console.error(error)
    send({ id, error: told(error) })
  }
}

function verb (op) {
  const [family, name] = String(op).split('.')
  const file = path.join(__dirname, `${family}.js`)
  if (FAMILIES.includes(family) && fs.existsSync(file)) {
    if (!loaded.has(family)) loaded.set(family, require(file))
    const { ops } = loaded.get(family)
    if (Object.hasOwn(ops, name)) return ops[name]
  }
  throw new Refusal('unknown-op', `the bridge knows no '${op}'`)
}

function told (error) {
  return { type: error.kind || error.name || 'Error', message: String(error.message || error), hint: error.hint || '' }
}

function send (header, bytes) {
  output.write(JSON.stringify(header) + '\n')
  if (bytes) output.write(bytes)
}

function versions () {
  const folder = process.env.NODE_PATH || ''
  const found = {}
  for (const name of Object.keys(require(MANIFEST).dependencies)) {
    try {
      found[name] = JSON.parse(fs.readFileSync(path.join(folder, name, 'package.json'))).version
    } catch {
      found[name] = null
    }
  }
  return found
}

async function end () {
  const closing = [...loaded.values()].map(module => module.close && module.close())
  await Promise.race([Promise.allSettled(closing), new Promise(resolve => setTimeout(resolve, GRACE_MS))])
  process.exit(0)
}

// What nobody caught leaves the server in a state nobody knows: tell it to whoever waits, and end.
function crash (error) {
  console.error(error)
  if (asked !== null) send({ id: asked, error: { ...told(error), type: 'crash' } })
  process.exit(1)
}

// Lines and bytes of a stream, each once it is whole.
class Source {
  constructor (stream) {
    this.chunks = stream[Symbol.asyncIterator]()
    this.held = []
    this.size = 0
  }

  async line () {
    for (let scanned = 0, before = 0; ;) {
      for (; scanned < this.held.length; scanned++) {
        const at = this.held[scanned].indexOf(10)
        if (at >= 0) return String(await this.take(before + at + 1))
        before += this.held[scanned].length
      }
      if (before > MOST_LINE_BYTES) throw new Error('a line that is too long')
      if (!await this.more()) return null
    }
  }

  async take (count) {
    if (!Number.isInteger(count) || count < 0 || count > MOST_DATA_BYTES) throw new Error(`${count} bytes announced`)
    while (this.size < count) if (!await this.more()) await end()
    const all = this.held.length === 1 ? this.held[0] : Buffer.concat(this.held)
    this.held = all.length > count ? [all.subarray(count)] : []
    this.size -= count
    return all.subarray(0, count)
  }

  async more () {
    const { value, done } = await this.chunks.next()
    if (done) return false
    this.held.push(value)
    this.size += value.length
    return true
  }
}

process.on('uncaughtException', crash)
process.on('unhandledRejection', crash)
input.on('error', end)
output.on('error', end)
main().catch(crash)
