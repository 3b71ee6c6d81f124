import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Progress, remedyOf, Standstills } from '../../src/nats/standstills.ts'

const afterMs = 90_000

/** Observes one after the other, ten seconds apart; answers whether the last stands still. */
function last(...observed: readonly Partial<Progress & { readonly sequence: number }>[]): boolean {
  const standstills = new Standstills(afterMs)
  const answers = observed.map(({ sequence = 100, ...progress }, n) =>
    standstills.observe(
      'NOTIFICATIONS',
      { created: 'once', num_ack_pending: 50, num_waiting: 1, ...progress, delivered: { consumer_seq: sequence } },
      n * 10_000,
    ),
  )
  assert.ok(!answers.slice(0, -1).includes(true), 'none before')
  return answers.at(-1) ?? false
}

const times = (count: number, progress: Partial<Progress & { readonly sequence: number }>) =>
  Array.from({ length: count }, () => progress)

test('a consumer whose messages nobody acknowledges, and that delivers none again, stands still', () => {
  assert.equal(last(...times(9, {})), false)
  assert.equal(last(...times(10, {})), true)
})

test('so does one that delivers fewer than wait for an acknowledgement', () => {
  assert.equal(last(...Array.from({ length: 10 }, (_, n) => ({ sequence: 100 + 5 * n }))), true)
})

test('one that delivers as many in that time goes on, however slowly', () => {
  const slow = Array.from({ length: 11 }, (_, n) => ({ sequence: 100 + 7 * n }))
  assert.equal(last(...slow), false)
})

test('one that stands still for as long again is found again', () => {
  const standstills = new Standstills(afterMs)
  const standing = { created: 'once', num_ack_pending: 50, num_waiting: 1, delivered: { consumer_seq: 100 } }
  const found = Array.from({ length: 28 }, (_, n) => standstills.observe('NOTIFICATIONS', standing, n * 10_000))
  assert.deepEqual(
    found.flatMap((each, n) => (each ? [n] : [])),
    [9, 18, 27],
  )
})

test('one that counts from another start, or that nobody looked at for long, goes on', () => {
  assert.equal(last({ sequence: 100_000 }, ...times(9, { num_ack_pending: 0, sequence: 10 })), false)
  const standstills = new Standstills(afterMs)
  const standing = { created: 'once', num_ack_pending: 50, num_waiting: 1, delivered: { consumer_seq: 100 } }
  for (const now of [0, 200_000, 280_000, 289_000]) assert.equal(standstills.observe('a', standing, now), false)
})

test('a consumer is created again only on servers that need it, and where that is safe', () => {
  const remedies: Readonly<Record<string, readonly (string | undefined)[]>> = {
    'create-again': ['2.9.10', '2.9.25', '2.10.0', '2.10.16', '', undefined],
    report: ['2.10.17', '2.10.24'],
    undefined: ['2.10.25', '2.10.25-RC.1', '2.11.0', '2.15.2', '3.0.0'],
  }
  for (const [remedy, versions] of Object.entries(remedies))
    for (const version of versions) assert.equal(String(remedyOf(version)), remedy, `of ${version}`)
})

test('one that is asked for nothing, that has nothing left, or that is another by now goes on', () => {
  assert.equal(last(...times(20, { num_waiting: 0 })), false)
  assert.equal(last(...times(20, { num_ack_pending: 0 })), false)
  assert.equal(last(...times(9, {}), { created: 'again' }), false)
  assert.equal(last(...times(9, {}), { num_waiting: 0 }, {}), false)
})
