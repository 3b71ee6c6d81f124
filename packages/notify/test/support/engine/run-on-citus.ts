/**
 * Runs tests of stores on Citus, a coordinator and two workers on this machine: `npm run test:citus -- [path …]`. Without
 * paths these are all that touch a store.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { resolve } from 'node:path'
import { startCitus } from '@gatehouse/testing'
import { createDistributedTemplate } from './distributed.ts'

const root = resolve(import.meta.dirname, '../../../../..')
const all = [
  ...['admission', 'aggregate', 'api', 'catalog', 'deliver', 'inbox', 'intake', 'notify.test.ts', 'postgres'],
  ...['preferences', 'request', 'scenarios', 'schedule', 'state-changes', 'subscription', 'tracking', 'webhooks'],
].map((path) => `packages/notify/test/${path}`)

const paths = process.argv.slice(2)
const citus = await startCitus({ settings: ['citus.shard_count=4', 'max_connections=300'] })
try {
  const template = await createDistributedTemplate(citus.nodes)
  const { NODE_TEST_CONTEXT: _, ...env } = process.env
  const tests = spawn(process.execPath, ['scripts/test.ts', ...(paths.length > 0 ? paths : all)], {
    cwd: root,
    env: { ...env, NOTIFY_TEST_CITUS: [template, ...citus.nodes].join(' ') },
    stdio: 'inherit',
  })
  const [code] = await once(tests, 'close')
  process.exitCode = code ?? 1
} finally {
  await citus.stop()
}
