import assert from 'node:assert/strict'
import cluster from 'node:cluster'
import { once } from 'node:events'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { steadyClock } from '@gatehouse/kit'
import { WorkerProcess } from '../../src/supervisor/worker-process.ts'

/** Starts a worker that joins and never listens. */
function launch(t: TestContext) {
  const exec = join(import.meta.dirname, '../support/joining-worker.ts')
  cluster.setupPrimary({ exec, serialization: 'advanced' })
  const process = cluster.fork()
  t.after(() => process.process.kill('SIGKILL'))
  const worker = new WorkerProcess({
    number: 1,
    process,
    clock: steadyClock,
    answers: async () => undefined,
    onLastMetrics() {},
  })
  return { process, worker }
}

test('an order to stop that a worker reads together with its number is followed', { timeout: 60_000 }, async (t) => {
  const { process, worker } = launch(t)
  process.process.prependOnceListener('message', () => process.process.kill('SIGSTOP'))
  await once(process, 'message')
  worker.stop(0)
  process.process.kill('SIGCONT')
  const { cause, reason } = await worker.ended
  assert.deepEqual([cause, reason], ['stopped', 'exited with code 0'])
})
