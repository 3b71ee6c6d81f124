import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Identity } from '@gatehouse/identity'
import { createMetrics, manualClock, Problem, silentLog } from '@gatehouse/kit'
import { composeBearer } from '../../../src/compose/gateway/bearer.ts'
import type { Settings } from '../../../src/config/settings.ts'

test('a feed in this process that went back is read from its beginning', async () => {
  const read: (string | undefined)[] = []
  const entries = [{ grant: 'one' }, { grant: 'two' }]
  const identity = {
    keys: () => ({ keys: [] }),
    isCompromisedKey: () => false,
    async revocations(after: string | undefined) {
      read.push(after)
      if (Number(after ?? 0) > entries.length) throw new Problem(410, 'The cursor is ahead of the feed.')
      return { revocations: entries.slice(Number(after ?? 0)), next: String(entries.length) }
    },
  } as unknown as Identity
  const url = 'http://localhost:8080'
  const { revocations } = composeBearer({
    settings: { services: new Set(['identity', 'gateway']), authUrl: url, baseUrl: url } as unknown as Settings,
    issuer: () => identity,
    token: undefined,
    clock: manualClock(),
    log: silentLog,
    metrics: createMetrics(),
  })
  await revocations?.poll()
  entries.pop()
  await revocations?.poll()
  assert.deepEqual(read, [undefined, '2', '2', undefined, '1'])
})
