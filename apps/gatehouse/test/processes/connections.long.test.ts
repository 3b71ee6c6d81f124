import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { connect } from 'node:net'
import type { TestContext } from 'node:test'
import { testWith } from '@gatehouse/testing'
import { complete, limitDescriptors, startSupervised, until, workersOf } from '../support/processes.ts'
import type { Program } from '../support/program.ts'

interface Client {
  /** What it received before its connection was closed; undefined while that is open. */
  received(): string | undefined
}

/** Asks for the health of the program on a connection of its own. */
function ask(t: TestContext, { url }: Pick<Program, 'url'>): Client {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  t.after(() => socket.destroy())
  let text = ''
  let isClosed = false
  socket.setEncoding('utf8').on('data', (part) => {
    text += part
  })
  socket.on('error', () => {})
  socket.once('close', () => {
    isClosed = true
  })
  socket.write('GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n')
  return { received: () => (isClosed ? text : undefined) }
}

const answered = (clients: readonly Client[], maxMs: number) =>
  until('each client has an answer', maxMs, () => clients.every((client) => client.received() !== undefined))

const descriptorsOf = (pid = 0) => readdirSync(`/proc/${pid}/fd`).length

testWith('postgresql', 'a connection is closed when no worker is left to take it', async (t) => {
  const program = await startSupervised(t, { processes: 2 })
  const workers = workersOf(program)
  for (const pid of workers) process.kill(pid, 'SIGSTOP')
  const before = descriptorsOf(program.process.pid)
  const clients = Array.from({ length: 3 }, () => ask(t, program))
  await until('the supervisor has them all', 10_000, () => descriptorsOf(program.process.pid) >= before + 3)
  for (const pid of workers) process.kill(pid, 'SIGKILL')
  await answered(clients, 30_000)
  assert.deepEqual(
    clients.map((client) => client.received()),
    ['', '', ''],
  )
  await complete(program, 2)
  const next = ask(t, program)
  await answered([next], 30_000)
  assert.match(next.received() ?? '', /^HTTP\/1\.1 200 /)
})

testWith('postgresql', 'a worker without room for a connection closes it and takes the next ones', async (t) => {
  const program = await startSupervised(t, { processes: 2 })
  const workers = workersOf(program)
  for (const pid of workers) limitDescriptors(pid, 3)
  const refused = workers.map(() => ask(t, program))
  await answered(refused, 30_000)
  for (const client of refused) assert.equal(client.received(), '')
  for (const pid of workers) limitDescriptors(pid, 4_096)
  const clients = workers.flatMap(() => [ask(t, program), ask(t, program)])
  await answered(clients, 30_000)
  for (const client of clients) assert.match(client.received() ?? '', /^HTTP\/1\.1 200 /)
})
