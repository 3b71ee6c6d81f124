import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { manualClock, StartError, silentLog } from '@gatehouse/kit'
import { Supervisor } from '../../src/supervisor/supervisor.ts'
import type { Ending, WorkerProcess } from '../../src/supervisor/worker-process.ts'

/** A worker that listens, or refuses to start, when it is told to. */
function scripted(number: number) {
  const ready = Promise.withResolvers<object>()
  const ended = Promise.withResolvers<Ending>()
  const limits: number[] = []
  ready.promise.catch(() => {})
  const end = (cause: Ending['cause']) => {
    ready.reject(new StartError('it did not start'))
    ended.resolve({ cause, reason: 'it did not start', listenedMs: 0 })
  }
  return {
    number,
    ready: ready.promise,
    ended: ended.promise,
    isListening: true,
    beat() {},
    limits,
    limitStart: (maxMs: number) => limits.push(maxMs),
    stop: () => end('stopped'),
    listens: () => ready.resolve({}),
    refuses: () => end('refused'),
    crashes: () => end('crashed'),
  }
}

/** A supervisor of workers that are scripted, and what it launched. */
function superviseScripted(t: TestContext, count = 1) {
  const launched: ReturnType<typeof scripted>[] = []
  const supervisor = new Supervisor({
    count,
    log: silentLog,
    clock: manualClock(0),
    launch(number) {
      const worker = scripted(number)
      launched.push(worker)
      return worker as unknown as WorkerProcess
    },
    onEnded() {},
    onSurrender: (line) => assert.fail(line),
  })
  t.after(() => supervisor.stop())
  return { supervisor, launched }
}

/** One of a single worker, which crashed and was started again: the second does not listen yet. */
async function superviseRestarted(t: TestContext) {
  const { supervisor, launched } = superviseScripted(t)
  const starting = supervisor.start()
  launched[0]?.listens()
  await starting
  t.mock.timers.enable({ apis: ['setTimeout'] })
  launched[0]?.crashes()
  await turn()
  t.mock.timers.tick(100)
  t.mock.timers.reset()
  return { supervisor, launched }
}

test('a second replacement that is asked for while the first one fails takes place', async (t) => {
  const { supervisor, launched } = superviseScripted(t)
  const starting = supervisor.start()
  launched[0]?.listens()
  await starting
  const replacing = supervisor.replace()
  const again = supervisor.replace()
  launched[1]?.refuses()
  while (launched.length < 3) await turn()
  launched[2]?.listens()
  await Promise.all([replacing, again])
  assert.equal(launched.length, 3)
})

test('a worker that takes the place of another has a bound for its start, the first has none', async (t) => {
  const { supervisor, launched } = await superviseRestarted(t)
  void supervisor.replace()
  assert.deepEqual(
    launched.map(({ limits }) => limits),
    [[], [120_000], [120_000]],
  )
})

test('of the first workers those have a bound for their start that do not migrate', async (t) => {
  const { supervisor, launched } = superviseScripted(t, 3)
  void supervisor.start()
  launched[0]?.listens()
  await turn()
  assert.deepEqual(
    launched.map(({ limits }) => limits),
    [[], [120_000], [120_000]],
  )
})

test('a worker that refuses its settings ends nothing while another is to take its place', async (t) => {
  const { supervisor, launched } = await superviseRestarted(t)
  const replacing = supervisor.replace()
  launched[1]?.refuses()
  await turn()
  launched[2]?.listens()
  await replacing
  assert.equal(launched.length, 3)
})

test('a replacement that is asked for at the very end of another one takes place', async (t) => {
  for (let steps = 0; steps < 40; steps++) {
    const { supervisor, launched } = superviseScripted(t)
    const starting = supervisor.start()
    launched[0]?.listens()
    await starting
    void supervisor.replace()
    launched[1]?.listens()
    for (let step = 0; step < steps; step++) await undefined
    void supervisor.replace()
    await turn()
    assert.equal(launched.length, 3, `asked for after ${steps} steps`)
  }
})

test('a supervisor that is stopped while its first worker starts ends without an error', async (t) => {
  for (const end of ['listens', 'refuses'] as const) {
    const { supervisor, launched } = superviseScripted(t, 2)
    const starting = supervisor.start()
    launched[0]?.[end]()
    const stopping = supervisor.stop()
    assert.equal(await starting, undefined)
    await stopping
    assert.equal(launched.length, 1)
  }
})

test('what the first worker reported is known when a later one fails the start', async (t) => {
  const { supervisor, launched } = superviseScripted(t, 2)
  const starting = supervisor.start()
  assert.equal(supervisor.about, undefined)
  launched[0]?.listens()
  await turn()
  launched[1]?.refuses()
  await assert.rejects(starting, StartError)
  assert.deepEqual(supervisor.about, {})
})
