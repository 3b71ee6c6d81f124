import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import cluster from 'node:cluster'
import { once } from 'node:events'
import { test } from 'node:test'
import { createMetrics } from '@gatehouse/kit'
import { Handover } from '../../src/supervisor/handover.ts'
import { launchWorker } from '../../src/supervisor/launch.ts'
import { Reports } from '../../src/supervisor/reports.ts'

const options = {
  port: 0,
  processes: 2,
  reports: new Reports(createMetrics(), () => ({ listening: [], missing: [] })),
  handover: new Handover(),
}

test('a worker that the system has no descriptor for is unavailable and is not listed', async (t) => {
  const shell = spawn('sh', { stdio: ['pipe', 'pipe', 'inherit'] })
  t.after(() => shell.kill())
  const limitDescriptors = async (max: number) => {
    shell.stdin.write(`prlimit --pid ${process.pid} --nofile=${max}: && echo done\n`)
    await once(shell.stdout, 'data')
  }
  await limitDescriptors(3)
  const worker = launchWorker(1, options)
  await limitDescriptors(4_096)
  const { cause, reason } = await worker.ended
  assert.equal(cause, 'unavailable')
  assert.match(reason, /EMFILE/)
  assert.deepEqual(cluster.workers, {})
})

test('a worker reads the configuration file that there was at the start, also once it is gone', (t) => {
  const forked = t.mock.method(cluster, 'fork', () => assert.fail('forked'))
  assert.throws(() => launchWorker(1, { ...options, file: 'gatehouse.yaml' }), /forked/)
  assert.throws(() => launchWorker(1, options), /forked/)
  const common = { PORT: '0', PROCESSES: '2' }
  assert.deepEqual(
    forked.mock.calls.map(({ arguments: options }) => options),
    [[{ ...common, GATEHOUSE_CONFIG: 'gatehouse.yaml' }], [common]],
  )
})

test('a worker whose executable is missing is unavailable and is not listed', async (t) => {
  const { execPath } = process
  t.after(() => {
    process.execPath = execPath
  })
  process.execPath = '/nowhere/node'
  const worker = launchWorker(1, options)
  const { cause, reason } = await worker.ended
  assert.equal(cause, 'unavailable')
  assert.match(reason, /ENOENT/)
  assert.deepEqual(cluster.workers, {})
})
