import assert from 'node:assert/strict'
import cluster from 'node:cluster'
import { once } from 'node:events'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { StartError, steadyClock } from '@gatehouse/kit'
import { mayPass } from '../../src/process/supervision.ts'
import { WorkerProcess } from '../../src/supervisor/worker-process.ts'

const bounded = { timeout: 60_000 }

/** Starts a worker; the one of the default joins and never listens. */
function launch(t: TestContext, script = 'joining-worker.ts') {
  const exec = join(import.meta.dirname, '../support', script)
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

test('an order to stop that a worker reads together with its number is followed', bounded, async (t) => {
  const { process, worker } = launch(t)
  process.process.prependOnceListener('message', () => process.process.kill('SIGSTOP'))
  await once(process, 'message')
  worker.stop(0)
  process.process.kill('SIGCONT')
  const { cause, reason } = await worker.ended
  assert.deepEqual([cause, reason], ['stopped', 'exited with code 0'])
})

test('a worker that makes what is shown once reports it before it follows an order to stop', bounded, async (t) => {
  const { process, worker } = launch(t, 'seeding-worker.ts')
  await once(process, 'message')
  assert.equal(await worker.ask('metrics', 30_000), undefined, 'it runs, and has no metrics')
  worker.stop(0)
  await worker.ask('readiness', 30_000)
  const { cause, reason } = await worker.ended
  const { seeded } = await worker.ready
  assert.deepEqual([cause, reason, seeded[0]?.secret], ['stopped', 'exited with code 3', 'shown once'])
})

test('a worker that does not follow an order to stop is killed before ten seconds have passed', bounded, async (t) => {
  const { process, worker } = launch(t)
  await once(process, 'message')
  process.process.kill('SIGSTOP')
  t.mock.timers.enable({ apis: ['setTimeout'] })
  worker.stop(0)
  t.mock.timers.tick(9_999)
  t.mock.timers.reset()
  const { cause, reason } = await worker.ended
  assert.deepEqual([cause, reason], ['stopped', 'ended by SIGKILL'])
})

test('a failed start may pass where it says so, else where its cause is an unavailable server', () => {
  const unavailable = Object.assign(new Error('connect'), { code: 'ECONNREFUSED' })
  const wrapped = new Error('it stopped', { cause: unavailable })
  const cases: ReadonlyArray<readonly [StartError, boolean]> = [
    [new StartError('it fails'), false],
    [new StartError('it fails', { cause: new Error('timeout') }), false],
    [new StartError('it fails', { cause: unavailable }), true],
    [new StartError('it fails', { cause: wrapped }), true],
    [new StartError('it fails', { cause: new Error('timeout'), isTemporary: true }), true],
    [new StartError('it fails', { cause: unavailable, isTemporary: false }), false],
  ]
  for (const [index, [error, expected]] of cases.entries()) assert.equal(mayPass(error), expected, `case ${index}`)
})

test('a worker that does not listen in time is killed and counts as unavailable', bounded, async (t) => {
  const { worker } = launch(t)
  worker.limitStart(1)
  const { cause } = await worker.ended
  assert.equal(cause, 'unavailable')
  await assert.rejects(worker.ready, { message: 'did not listen for too long and was killed' })
})
