import assert from 'node:assert/strict'
import { test } from 'node:test'
import { manualClock, StartError, silentLog } from '@gatehouse/kit'
import { Supervisor } from '../../src/supervisor/supervisor.ts'
import type { Ending, WorkerProcess } from '../../src/supervisor/worker-process.ts'

/** A worker that listens, or refuses to start, when it is told to. */
function scripted(number: number) {
  const ready = Promise.withResolvers<object>()
  const ended = Promise.withResolvers<Ending>()
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
    stop: () => end('stopped'),
    listens: () => ready.resolve({}),
    refuses: () => end('refused'),
  }
}

test('a second replacement that is asked for while the first one fails takes place', async (t) => {
  const launched: ReturnType<typeof scripted>[] = []
  const supervisor = new Supervisor({
    count: 1,
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
  const starting = supervisor.start()
  launched[0]?.listens()
  await starting
  const replacing = supervisor.replace()
  const again = supervisor.replace()
  launched[1]?.refuses()
  while (launched.length < 3) await new Promise((resolve) => setImmediate(resolve))
  launched[2]?.listens()
  await Promise.all([replacing, again])
  assert.equal(launched.length, 3)
})
