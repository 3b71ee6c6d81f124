import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { resolve } from 'node:path'
import { startCitus, testWith } from '@gatehouse/testing'
import { createDistributedTemplate } from '../support/engine.ts'

const root = resolve(import.meta.dirname, '../../../..')
/** All that touch a store, but for those that start servers of their own to harm them. */
const folders = [
  ...[
    'admission',
    'aggregate',
    'api',
    'catalog',
    'deliver',
    'inbox',
    'intake',
    'notify.test.ts',
    'postgres',
    'preferences',
  ],
  ...['request', 'scenarios', 'schedule', 'state-changes', 'subscription', 'tracking', 'webhooks'],
]

testWith('citus', 'every test of a store passes on a distributed database of 32 buckets', async (t) => {
  const citus = await startCitus({ settings: ['citus.shard_count=4', 'max_connections=300'] })
  t.after(() => citus.stop())
  const template = await createDistributedTemplate(citus.nodes)
  const { NODE_TEST_CONTEXT: _, ...env } = process.env
  const child = spawn(
    process.execPath,
    ['scripts/test.ts', ...folders.map((folder) => `packages/notify/test/${folder}`)],
    { cwd: root, env: { ...env, NOTIFY_TEST_CITUS: [template, ...citus.nodes].join(' ') } },
  )
  let printed = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk) => {
      printed = `${printed}${chunk}`.slice(-100_000)
    })
  const [code] = await once(child, 'close')
  assert.equal(code, 0, printed)
})
