import assert from 'node:assert/strict'
import { once } from 'node:events'
import { get } from 'node:http'
import { connect, type Socket } from 'node:net'
import type { TestContext } from 'node:test'
import { testWith } from '@gatehouse/testing'
import {
  complete,
  isRunning,
  limitDescriptors,
  missingWorkers,
  readMetrics,
  signalIfRunning,
  startSupervised,
  until,
  workersOf,
} from '../support/processes.ts'
import type { Program } from '../support/program.ts'

const form = 'grant_type=client_credentials&client_id=nobody&client_secret=nothing'

/** A token request of which a worker has received a part. */
interface OpenRequest {
  /** Sends the rest. Resolves with the response once the connection is closed. */
  finish(): Promise<string>
}

async function openRequest(t: TestContext, { url }: Pick<Program, 'url'>): Promise<OpenRequest> {
  const { hostname, port } = new URL(url)
  const socket: Socket = connect(Number(port), hostname)
  t.after(() => socket.destroy())
  let answer = ''
  socket.setEncoding('utf8').on('data', (text) => {
    answer += text
  })
  socket.on('error', () => {})
  const closed = new Promise((resolve) => socket.once('close', resolve))
  const interim = new Promise((resolve) => socket.once('data', resolve))
  socket.write(
    `POST /token HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: ${form.length}\r\n\r\n`,
  )
  await interim
  return {
    async finish() {
      socket.write(form)
      await closed
      return answer
    },
  }
}

/** Resolves with the response to a request on a connection of its own. */
function requestAlone(url: string): Promise<void> {
  return new Promise((resolve, reject) => {
    get(url, { agent: false, timeout: 90_000 }, (response) => response.resume().on('end', resolve))
      .on('timeout', () => reject(new Error('no response')))
      .on('error', reject)
  })
}

testWith(
  'postgresql',
  'SIGTERM lets all workers finish their requests and stops them within ten seconds',
  async (t) => {
    const program = await startSupervised(t, { processes: 2 })
    const workers = workersOf(program)
    const open = await Promise.all([openRequest(t, program), openRequest(t, program)])
    program.process.kill('SIGTERM')
    const answers = await Promise.all(open.map((request) => request.finish()))
    for (const answer of answers) assert.match(answer, /^HTTP\/1\.1 401 /m)
    assert.equal((await program.ended).code, 0)
    assert.deepEqual(workers.filter(isRunning), [])
  },
)

testWith('postgresql', 'a Ctrl-C that reaches every process of the group stops the program once', async (t) => {
  const program = await startSupervised(t, { processes: 2, env: { LOG_LEVEL: 'info' } })
  const request = await openRequest(t, program)
  for (const pid of workersOf(program)) process.kill(pid, 'SIGINT')
  program.process.kill('SIGINT')
  program.process.kill('SIGINT')
  assert.match(await request.finish(), /^HTTP\/1\.1 401 /m)
  const { code, stdout } = await program.ended
  assert.equal(code, 0)
  assert.equal(stdout.split('stopping: finishing what is held').length - 1, 1)
})

testWith('postgresql', 'a second SIGTERM ends the supervisor and its workers at once', async (t) => {
  const program = await startSupervised(t, { processes: 2, env: { LOG_LEVEL: 'info' } })
  const workers = workersOf(program)
  await openRequest(t, program)
  program.process.kill('SIGTERM')
  await program.printed('stopping: finishing what is held')
  program.process.kill('SIGTERM')
  assert.equal((await program.ended).code, 143)
  await until('the workers are gone', 5_000, () => !workers.some(isRunning))
})

testWith('postgresql', 'a worker that does not respond is named, killed after ten seconds, and replaced', async (t) => {
  const program = await startSupervised(t, { processes: 2 })
  const [blocked = 0] = workersOf(program)
  process.kill(blocked, 'SIGSTOP')
  let missing: string[] = []
  await until('one is missing', 10_000, async () => {
    missing = await missingWorkers(program)
    assert.ok(missing.length > 0, 'each scrape names the worker that does not respond')
    return missing.length === 1
  })
  const answers = Promise.all(Array.from({ length: 6 }, () => requestAlone(`${program.url}/healthz`)))
  await until('it is killed', 60_000, () => !workersOf(program).includes(blocked))
  await answers // One connection was under way to the blocked worker, and another one has it now.
  await complete(program, 2)
  const metrics = await readMetrics(program)
  assert.equal(metrics.get(`gatehouse_worker_ends_total{worker="${missing[0]}",cause="blocked"}`), 1)
})

testWith(
  'postgresql',
  'a supervisor that has no room for a process keeps the others, and starts one later',
  async (t) => {
    const program = await startSupervised(t, { processes: 2 })
    const { pid = 0 } = program.process
    const [killed = 0, other = 0] = workersOf(program)
    limitDescriptors(pid, 3)
    process.kill(killed, 'SIGKILL')
    await program.printed('EMFILE')
    assert.deepEqual(workersOf(program).filter(isRunning), [other])
    limitDescriptors(pid, 4_096)
    await complete(program, 2)
    assert.ok(workersOf(program).includes(other))
    assert.equal((await fetch(`${program.url}/healthz`)).status, 200)
  },
)

testWith('postgresql', 'workers whose supervisor was killed finish their requests and exit', async (t) => {
  const program = await startSupervised(t, { processes: 2 })
  const workers = workersOf(program)
  const request = await openRequest(t, program)
  program.process.kill('SIGKILL')
  await once(program.process, 'exit')
  assert.match(await request.finish(), /^HTTP\/1\.1 401 /m, 'workers without a supervisor finish their requests')
  await until('they are gone', 15_000, () => !workers.some(isRunning))
})

testWith('postgresql', 'workers that crash five times in a minute end the program with one line', async (t) => {
  const program = await startSupervised(t, { processes: 2, env: { LOG_LEVEL: 'silent' } })
  const killed = new Set<number>()
  let ended = false
  void program.ended.then(() => {
    ended = true
  })
  await until('the supervisor gives up', 60_000, () => {
    const next = workersOf(program).find((pid) => !killed.has(pid))
    if (next !== undefined && killed.size < 5) {
      killed.add(next)
      signalIfRunning(next, 'SIGKILL')
    }
    return ended
  })
  const { code, stderr } = await program.ended
  assert.equal(code, 1)
  assert.match(stderr, /^gatehouse: 5 workers crashed within 60 s; the last one, \d, ended by SIGKILL\n$/)
  assert.deepEqual([...killed].filter(isRunning), [])
})
