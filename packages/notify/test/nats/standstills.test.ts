import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Progress, Standstills } from '../../src/nats/standstills.ts'

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

const times = (count: number, progress: Partial<Progress>) => Array.from({ length: count }, () => progress)

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

test('one that is asked for nothing, that has nothing left, or that is another by now goes on', () => {
  assert.equal(last(...times(20, { num_waiting: 0 })), false)
  assert.equal(last(...times(20, { num_ack_pending: 0 })), false)
  assert.equal(last(...times(9, {}), { created: 'again' }), false)
  assert.equal(last(...times(9, {}), { num_waiting: 0 }, {}), false)
})
