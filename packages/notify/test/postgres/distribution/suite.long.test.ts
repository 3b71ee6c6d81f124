import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join, resolve } from 'node:path'
import { testWith } from '@gatehouse/testing'

const root = resolve(import.meta.dirname, '../../../../..')

/** Some of each kind of work, within a few minutes; `npm run test:citus` runs all. */
const part = [
  ...['admission/caps.test.ts', 'aggregate/aggregation.test.ts', 'api/dead-letters.test.ts'],
  ...['api/suppressions.test.ts', 'deliver/handover.test.ts', 'intake/topic.test.ts', 'notify.test.ts'],
  ...[
    'postgres/buckets.test.ts',
    'postgres/races.test.ts',
    'postgres/inbox',
    'postgres/retention',
    'postgres/timeline',
  ],
  ...['scenarios/life-cycle.test.ts', 'schedule', 'state-changes/stream.test.ts', 'webhooks/endpoint.test.ts'],
].map((path) => `packages/notify/test/${path}`)

testWith('citus', 'tests of stores pass on a distributed database of 32 buckets', async () => {
  const { NODE_TEST_CONTEXT: _, ...env } = process.env
  const script = join(import.meta.dirname, '../../support/engine/run-on-citus.ts')
  const tests = spawn(process.execPath, [script, ...part], { cwd: root, env })
  let printed = ''
  for (const stream of [tests.stdout, tests.stderr])
    stream.on('data', (chunk) => {
      printed = `${printed}${chunk}`.slice(-100_000)
    })
  const [code] = await once(tests, 'close')
  assert.equal(code, 0, printed)
})
