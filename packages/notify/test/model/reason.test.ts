import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { createReason, isOwnSentence, reasonCodes } from '../../src/model/notification/reason.ts'

test('a reason has its code, its parameters and a sentence', () => {
  assert.deepEqual(createReason('channel_off'), { reason_code: 'channel_off', reason: 'the channel is off' })
  assert.deepEqual(createReason('cap_reached', { cap: 'total', limit: 3 }), {
    reason_code: 'cap_reached',
    params: { cap: 'total', limit: 3 },
    reason: 'the cap total of 3 is reached',
  })
})

test('the sentences are ours, unless they quote a template or a provider', () => {
  const quoting: ReadonlySet<string> = new Set([
    'template_missing',
    'template_failed',
    'permanent',
    'attempts_exhausted',
  ])
  for (const code of reasonCodes) assert.equal(isOwnSentence(code), !quoting.has(code), code)
  for (const other of [undefined, 'alice', 'toString', 7]) assert.equal(isOwnSentence(other), false)
})

test('the guide lists every code', () => {
  const guide = readFileSync(new URL('../../../../docs/notifications.md', import.meta.url), 'utf8')
  assert.deepEqual(
    reasonCodes.filter((code) => !guide.includes(`\`${code}\``)),
    [],
  )
})
